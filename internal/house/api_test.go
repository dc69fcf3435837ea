package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// api is the code of this module with its types.
type api struct {
	packages map[string]*types.Package // by import path
	used     map[types.Object]bool     // by another package that is no test, or by an Example
	abroad   map[string]bool           // PATH.NAME that the modules beside this one use
}

// within reports whether a package of this module stands in a folder.
func within(path, dir string) bool {
	path = strings.TrimPrefix(path, module)
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// isPublic reports whether another module may import a package.
func isPublic(path string) bool {
	if strings.Contains(path, "/internal/") {
		return false
	}
	for _, dir := range []string{"internal", "cmd", "golden", "e2e", "examples", "docs"} {
		if within(path, dir) {
			return false
		}
	}
	return true
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles, XTestGoFiles   []string
	Standard                bool
}

// testedAPI is readAPI for a test.
func testedAPI(t *testing.T) *api {
	t.Helper()
	a, err := readAPI()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// readAPI checks the types of the module once for all tests. Other modules are read as the compiler has left them.
var readAPI = sync.OnceValues(func() (*api, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,XTestGoFiles,Standard", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	exports, own := map[string]string{}, []listed(nil)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if strings.HasPrefix(p.ImportPath, module) {
			own = append(own, p)
		} else {
			exports[p.ImportPath] = p.Export
		}
	}
	a := &api{packages: map[string]*types.Package{}, used: map[types.Object]bool{}, abroad: map[string]bool{}}
	fset := token.NewFileSet()
	others := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own { // each after those that it imports
		var files []string
		for _, f := range p.GoFiles {
			files = append(files, filepath.Join(p.Dir, f))
		}
		if a.packages[p.ImportPath], err = a.check(fset, p.ImportPath, files, others); err != nil {
			return nil, err
		}
	}
	for _, p := range own {
		for _, f := range p.XTestGoFiles {
			if strings.HasPrefix(f, "example") {
				// An import that only tests have is not listed: what the Example says of this module is read all the same.
				_, _ = a.check(fset, p.ImportPath+"_test", []string{filepath.Join(p.Dir, f)}, others)
			}
		}
	}
	root := filepath.Join("..", "..")
	return a, errors.Join(a.readAbroad(filepath.Join(root, "e2e")), a.readAbroad(filepath.Join(root, "cmd", "olmgen-rehearse")))
})

type importFunc func(path string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// check returns a package and notes what it uses of others.
func (a *api) check(fset *token.FileSet, path string, names []string, others types.Importer) (*types.Package, error) {
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: importFunc(func(path string) (*types.Package, error) {
		if p, ok := a.packages[path]; ok {
			return p, nil
		}
		return others.Import(path)
	})}
	p, err := config.Check(path, fset, files, info)
	for _, o := range info.Uses {
		if o.Pkg() != nil && o.Pkg() != p {
			a.used[origin(o)] = true
		}
	}
	return p, err
}

// origin returns the declared object of one with type arguments.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// readAbroad notes the names that other modules of the repository use.
func (a *api) readAbroad(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imported := map[string]string{}
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil || !strings.HasPrefix(p, module) {
				continue
			}
			name := p[strings.LastIndexByte(p, '/')+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			imported[name] = p
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] != "" {
					a.abroad[imported[x.Name]+"."+s.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
}

// exported returns the exported names of a package.
func exported(p *types.Package) []types.Object {
	var out []types.Object
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			out = append(out, o)
		}
	}
	return out
}

// public returns the packages that other modules may import, in order.
func (a *api) public() []*types.Package {
	var out []*types.Package
	for path, p := range a.packages {
		if isPublic(path) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *types.Package) int { return strings.Compare(a.Path(), b.Path()) })
	return out
}

// signature calls visit for each type name of this module in the exported part of a declaration.
func signature(o types.Object, visit func(*types.TypeName)) {
	s := signatures{map[types.Type]bool{}, visit}
	s.add(o.Type())
	if t, ok := o.(*types.TypeName); ok {
		s.add(t.Type().Underlying())
		if named, ok := types.Unalias(t.Type()).(*types.Named); ok {
			for m := range named.Methods() {
				if m.Exported() {
					s.add(m.Signature())
				}
			}
		}
	}
}

type signatures struct {
	seen  map[types.Type]bool
	visit func(*types.TypeName)
}

func (s signatures) add(t types.Type) {
	if t == nil || s.seen[t] {
		return
	}
	s.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		s.visit(t.Obj())
		for a := range t.TypeArgs().Types() {
			s.add(a)
		}
	case *types.Alias:
		s.visit(t.Obj())
		s.add(t.Rhs())
	case *types.Signature:
		s.tuple(t.Params())
		s.tuple(t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				s.add(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				s.add(m.Signature())
			}
		}
	case *types.Map:
		s.add(t.Key())
		s.add(t.Elem())
	case interface{ Elem() types.Type }:
		s.add(t.Elem())
	}
}

func (s signatures) tuple(t *types.Tuple) {
	for v := range t.Variables() {
		s.add(v.Type())
	}
}

// kept are names that stay exported although only a user of the library or a test needs them.
var kept = map[string]string{
	"generate/olmv1.NoCerts":   "a value of Options.Certs",
	"source.KindDockerArchive": "a value of Source.Kind",
	"source.KindTar":           "a value of Source.Kind",
	"source.KindZip":           "a value of Source.Kind",
}

// mostNames is how many types, functions, variables and constants importers are promised. Fields and methods do not count.
const mostNames = 527

// A name is exported because another package uses it, an Example shows it, or a signature of such a name has it.
func TestExportedNamesAreUsed(t *testing.T) {
	a := testedAPI(t)
	needed := map[types.Object]bool{}
	var need func(o types.Object)
	need = func(o types.Object) {
		if needed[o] || o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), module) {
			return
		}
		needed[o] = true
		signature(o, func(t *types.TypeName) { need(t) })
	}
	names, kinds := 0, map[string]int{}
	for _, p := range a.public() {
		for _, o := range exported(p) {
			names++
			kinds[kindOf(o)]++
			if a.used[o] || a.abroad[p.Path()+"."+o.Name()] {
				need(o)
			}
		}
	}
	for _, p := range a.public() {
		for _, o := range exported(p) {
			_, value := o.(*types.Const) // of a type that is needed: one of its values
			if named, ok := o.Type().(*types.Named); value && ok && needed[named.Obj()] {
				continue
			}
			name := strings.TrimPrefix(p.Path(), module) + "." + o.Name()
			switch reason := kept[name]; {
			case !needed[o] && reason == "":
				t.Errorf("%s is exported, and no other package, Example or signature uses it", name)
			case needed[o] && reason != "":
				t.Errorf("%s is used: it needs no reason", name)
			}
		}
	}
	t.Logf("%d exported names in %d packages: %v", names, len(a.public()), kinds)
	if names > mostNames {
		t.Errorf("%d exported names, want at most %d: put what only olmgen needs below internal", names, mostNames)
	}
}
