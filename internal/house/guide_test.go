package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Who imports a package reads its comment first: it links to what to begin with, and an Example shows it. The Example
// imports what a user can import.
func TestImportablePackagesHaveGuides(t *testing.T) {
	a := testedAPI(t)
	promised, others := importablePackages(t)
	list := append(promised, others...)
	if len(list) < 10 {
		t.Fatalf("docs/explanation/compatibility.md lists %d packages", len(list))
	}
	for _, p := range list {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(p), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		guide, examples := "", 0
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !strings.HasSuffix(name, "_test.go"):
				guide += f.Doc.Text()
			case hasExample(f):
				examples++
				for _, path := range unimportable(f) {
					t.Errorf("%s imports %s, which a user cannot import", name, path)
				}
			}
		}
		if examples == 0 {
			t.Errorf("%s has no Example with an output in package %s_test", p, filepath.Base(p))
		}
		links := regexp.MustCompile(`\[([A-Za-z][\w./]*)\]`).FindAllStringSubmatch(guide, -1)
		if len(links) == 0 {
			t.Errorf("the comment of package %s links to nothing", p)
		}
		for _, link := range links {
			if !a.knows(a.packages[module+p], link[1]) {
				t.Errorf("the comment of package %s links to %s, which is not there", p, link[1])
			}
		}
	}
}

// hasExample reports whether a file that stands outside its package has an Example that runs.
func hasExample(f *ast.File) bool {
	runs := false
	for _, c := range f.Comments {
		runs = runs || strings.HasPrefix(c.Text(), "Output:")
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && runs && strings.HasPrefix(fn.Name.Name, "Example") && strings.HasSuffix(f.Name.Name, "_test") {
			return true
		}
	}
	return false
}

// unimportable returns what a file imports of this module although it is not for other modules.
func unimportable(f *ast.File) []string {
	var out []string
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err == nil && strings.HasPrefix(path, module) && !isPublic(path) {
			out = append(out, path)
		}
	}
	return out
}

// knows reports whether a doc link in a package leads to a package, a name, a field or a method.
func (a *api) knows(p *types.Package, link string) bool {
	if path := module[:strings.IndexByte(module, '/')]; strings.HasPrefix(link, path) {
		slash := strings.LastIndexByte(link, '/')
		base, name, named := strings.Cut(link[slash:], ".")
		p = a.packages[link[:slash]+base]
		if !named {
			return p != nil
		}
		link = name
	}
	if p == nil {
		return false
	}
	name, member, ok := strings.Cut(link, ".")
	o := p.Scope().Lookup(name)
	if o == nil || !ok {
		return o != nil
	}
	found, _, _ := types.LookupFieldOrMethod(o.Type(), true, p, member)
	return found != nil
}
