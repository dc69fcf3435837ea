package house

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/api.txt")

// listing returns the API: a line for each name, field and method that other modules see.
func (a *api) listing() []string {
	var out []string
	for _, p := range a.public() {
		short := strings.TrimPrefix(p.Path(), module)
		text := func(t types.Type) string { return types.TypeString(nameless(t), types.RelativeTo(p)) }
		for _, o := range exported(p) {
			name := short + "." + o.Name()
			t, ok := o.(*types.TypeName)
			if !ok {
				if c, isConst := o.(*types.Const); isConst {
					out = append(out, "const "+name+" "+text(c.Type())+" = "+c.Val().ExactString())
					continue
				}
				line := kindOf(o) + " " + name + " " + text(o.Type())
				if s, ok := o.Type().(*types.Signature); ok && s.TypeParams().Len() > 0 {
					line = strings.Replace(line, " func(", " func["+typeParameters(s, text)+"](", 1)
				}
				out = append(out, line)
				continue
			}
			out = append(out, members(name, t, text)...)
		}
	}
	for i, line := range out {
		out[i] = strings.ReplaceAll(line, module, "")
	}
	slices.Sort(out)
	return out
}

func typeParameters(s *types.Signature, text func(types.Type) string) string {
	var out []string
	for p := range s.TypeParams().TypeParams() {
		out = append(out, p.Obj().Name()+" "+text(p.Constraint()))
	}
	return strings.Join(out, ", ")
}

// kindOf returns how the declaration of a name begins.
func kindOf(o types.Object) string {
	switch o.(type) {
	case *types.TypeName:
		return "type"
	case *types.Func:
		return "func"
	case *types.Const:
		return "const"
	}
	return "var"
}

// members returns the lines of a type; an alias has the fields and methods of its type. An interface has one line: a new
// method is a change for those that implement it.
func members(name string, t *types.TypeName, text func(types.Type) string) []string {
	var out []string
	s, isStruct := t.Type().Underlying().(*types.Struct)
	switch {
	case t.IsAlias():
		out = append(out, "type "+name+" = "+text(types.Unalias(t.Type())))
	case isStruct:
		out = append(out, "type "+name+" struct")
	default:
		out = append(out, "type "+name+" "+text(t.Type().Underlying()))
	}
	if isStruct {
		for f := range s.Fields() {
			if f.Exported() {
				out = append(out, "field "+name+"."+f.Name()+" "+text(f.Type()))
			}
		}
	}
	if named, ok := types.Unalias(t.Type()).(*types.Named); ok && !types.IsInterface(named) {
		for m := range named.Methods() {
			if m.Exported() {
				out = append(out, "method "+name+"."+m.Name()+" "+text(m.Signature()))
			}
		}
	}
	return out
}

// nameless returns a type without the names of parameters and results: they can change and no caller notices.
func nameless(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Signature:
		return types.NewSignatureType(nil, nil, nil, namelessTuple(t.Params()), namelessTuple(t.Results()), t.Variadic())
	case *types.Interface:
		var methods []*types.Func
		for m := range t.ExplicitMethods() {
			methods = append(methods, types.NewFunc(m.Pos(), m.Pkg(), m.Name(), nameless(m.Signature()).(*types.Signature)))
		}
		return types.NewInterfaceType(methods, slices.Collect(t.EmbeddedTypes())).Complete()
	case *types.Struct:
		var fields []*types.Var
		var tags []string
		for i := range t.NumFields() {
			f := t.Field(i)
			fields = append(fields, types.NewField(f.Pos(), f.Pkg(), f.Name(), nameless(f.Type()), f.Embedded()))
			tags = append(tags, t.Tag(i))
		}
		return types.NewStruct(fields, tags)
	case *types.Pointer:
		return types.NewPointer(nameless(t.Elem()))
	case *types.Slice:
		return types.NewSlice(nameless(t.Elem()))
	case *types.Array:
		return types.NewArray(nameless(t.Elem()), t.Len())
	case *types.Map:
		return types.NewMap(nameless(t.Key()), nameless(t.Elem()))
	case *types.Chan:
		return types.NewChan(t.Dir(), nameless(t.Elem()))
	}
	return t
}

func namelessTuple(t *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range t.Variables() {
		vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", nameless(v.Type())))
	}
	return types.NewTuple(vars...)
}

// unreleased returns the part of the changelog about the next release.
func unreleased(changelog string) string {
	_, after, _ := strings.Cut(changelog, "\n## Unreleased")
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}

// unnamed returns the lines of the old API that are not in the new one, and whose name the changelog does not have. The
// name of a type that is gone stands for its fields and methods.
func unnamed(old, now []string, changelog string) []string {
	var out []string
	for _, line := range old {
		if slices.Contains(now, line) {
			continue
		}
		_, rest, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(rest, " ")
		owner, isMember := ownerOf(name)
		gone := isMember && !slices.ContainsFunc(now, func(l string) bool { return strings.HasPrefix(l, "type "+owner+" ") })
		if !isNamed(name, changelog) && (!gone || !isNamed(owner, changelog)) {
			out = append(out, line)
		}
	}
	return out
}

// ownerOf returns the type of a field or method.
func ownerOf(name string) (string, bool) {
	i := strings.LastIndexByte(name, '.')
	return name[:i], strings.Contains(name[strings.LastIndexByte(name, '/')+1:i], ".")
}

func isNamed(name, changelog string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name[strings.LastIndexByte(name, '/')+1:]) + `\b`).MatchString(changelog)
}

// testdata/api.txt is the API of the newest release. What is no longer in the code as it was there is an incompatible
// change, and CHANGELOG.md names it. "make api" writes the file for a release.
func TestIncompatibleChangesAreNamed(t *testing.T) {
	a := testedAPI(t)
	now, file := a.listing(), filepath.Join("testdata", "api.txt")
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changelog, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range unnamed(strings.Split(strings.TrimSpace(string(old)), "\n"), now, unreleased(string(changelog))) {
		t.Errorf("CHANGELOG.md, Unreleased, does not name what the API no longer has: %s", line)
	}
}

func TestUnnamed(t *testing.T) {
	old := []string{"func a/b.F func(int)", "field a/b.T.X int", "const a.C untyped int = 1"}
	changelog := "# Changelog\n\n## Unreleased\n\n* `b.F` takes an int64\n\n## 1.0\n\n* `a.C` is new\n"
	now := []string{"func a/b.F func(int64)", "field a/b.T.X int"}
	if got := unnamed(old, now, unreleased(changelog)); len(got) != 1 || got[0] != old[2] {
		t.Errorf("got %q", got)
	}
	if got := unnamed(old, old, ""); len(got) > 0 {
		t.Errorf("nothing is gone, and got %q", got)
	}
	old = []string{"type a/b.T struct", "field a/b.T.X int", "method a/b.T.M func()"}
	if got := unnamed(old, nil, "`b.T` is gone"); len(got) > 0 {
		t.Errorf("a type is gone, and got %q", got)
	}
	if got := unnamed(old, old[:1], "`b.T` is another"); len(got) != 2 {
		t.Errorf("the members of a type are gone, and got %q", got)
	}
}

// Only types make a signature: who calls a function does not see the names of its parameters.
func TestListingHasNoParameterNames(t *testing.T) {
	list := func(source string) string {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "a.go", "package a\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p, err := (&types.Config{}).Check(module+"a", fset, []*ast.File{f}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join((&api{packages: map[string]*types.Package{p.Path(): p}}).listing(), "\n")
	}
	const source = `func F(from, to int, rest ...string) (n int, err error) { return 0, nil }
func G[E any](each func(item E) bool) map[string]func(key []E) { return nil }
type T struct { Visit func(path string) *func(depth int) }
func (t *T) M(other [2]chan func(n int)) {}
type I interface { Do(what struct{ F func(s string) }) (done bool) }
type E interface { I; ~int | ~string }
var V func(x int)
`
	want := `field a.T.Visit func(string) *func(int)
func a.F func(int, int, ...string) (int, error)
func a.G func[E any](func(E) bool) map[string]func([]E)
method a.T.M func([2]chan func(int))
type a.E interface{I; ~int | ~string}
type a.I interface{Do(struct{F func(string)}) bool}
type a.T struct
var a.V func(int)`
	if got := list(source); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// closed are signatures with a type that other modules cannot name, and why they need not.
var closed = map[string]string{
	"catalog/resolve.Of":     "for what has read the objects of a cluster already; ReadObjects reads them",
	"catalog/resolve.Path":   "Document is for the printers of olmgen",
	"catalog/resolve.Report": "Document is for the printers of olmgen",
	"config.OpenSteps":       "the commands of olmgen call it",
}

// What docs/explanation/compatibility.md promises are its importable packages, and those whose types stand in their
// signatures. All others are below internal.
func TestImportablePackages(t *testing.T) {
	a := testedAPI(t)
	promised, others := importablePackages(t)
	reached, named := map[string]bool{}, map[*types.TypeName]bool{}
	for _, p := range a.public() {
		for _, o := range exported(p) {
			if t, ok := o.(*types.TypeName); ok && t.IsAlias() {
				if n, ok := types.Unalias(t.Type()).(*types.Named); ok {
					named[n.Obj()] = true
				}
			}
		}
	}
	var reach func(path string)
	reach = func(path string) {
		p := a.packages[path]
		if p == nil {
			t.Errorf("docs/explanation/compatibility.md names %s, which is no package", path)
		}
		if p == nil || reached[path] || !isPublic(path) {
			return
		}
		reached[path] = true
		for _, o := range exported(p) {
			signature(o, func(n *types.TypeName) {
				if n.Pkg() == nil || !strings.HasPrefix(n.Pkg().Path(), module) {
					return
				}
				if name := strings.TrimPrefix(path, module) + "." + o.Name(); !isPublic(n.Pkg().Path()) && !named[n] && closed[name] == "" {
					t.Errorf("%s has the type %s, which nobody else can name", name, n.Type())
				}
				reach(n.Pkg().Path())
			})
		}
	}
	for _, p := range promised {
		reach(module + p)
	}
	for _, p := range a.public() {
		short := strings.TrimPrefix(p.Path(), module)
		switch {
		case slices.Contains(promised, short):
		case !reached[p.Path()]:
			t.Errorf("%s stands in no signature of an importable package: move it below internal", short)
		case !slices.Contains(others, short):
			t.Errorf("docs/explanation/compatibility.md, Types of other packages, does not list %s", short)
		}
	}
	for _, p := range others {
		if !reached[module+p] || slices.Contains(promised, p) {
			t.Errorf("docs/explanation/compatibility.md, Types of other packages: %s is not one", p)
		}
	}
}

// importablePackages returns the packages that docs/explanation/compatibility.md promises, and those of its types.
func importablePackages(t *testing.T) (promised, others []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "explanation", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	return listedPackages(string(page), "## Go packages"), listedPackages(string(page), "### Types of other packages")
}

// listedPackages returns the packages in the first column of a table below a title.
func listedPackages(page, title string) []string {
	_, section, _ := strings.Cut(page, "\n"+title+"\n")
	section = regexp.MustCompile("(?s)\n##.*").ReplaceAllString(section, "")
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]*) \|`).FindAllStringSubmatch(section, -1) {
		for _, code := range regexp.MustCompile("`([a-z0-9/]+)`").FindAllStringSubmatch(m[1], -1) {
			out = append(out, code[1])
		}
	}
	return out
}
