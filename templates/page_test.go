package templates_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/templates"
)

var update = flag.Bool("update", false, "write docs/templates.md")

const (
	fileBegin = "<!-- file: "
	fileEnd   = "<!-- end of file -->\n"
)

// TestPage keeps the overlays of docs/templates.md equal to those of examples/templates, and docs/reference/template-views.md
// to the Go types.
func TestPage(t *testing.T) {
	name := filepath.Join("..", "docs", "templates.md")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	var out strings.Builder
	files := 0
	for {
		before, rest, found := strings.Cut(page, fileBegin)
		out.WriteString(before)
		if !found {
			break
		}
		file, rest, _ := strings.Cut(rest, " -->\n")
		_, after, ok := strings.Cut(rest, fileEnd)
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		if err != nil || !ok {
			t.Fatalf("%s: %v, ends: %v", file, err, ok)
		}
		fmt.Fprintf(&out, "%s%s -->\n```yaml\n%s```\n%s", fileBegin, file, text, fileEnd)
		page = after
		files++
	}
	if files < 3 {
		t.Errorf("%d overlays on the page", files)
	}
	golden.CheckFile(t, name, []byte(out.String()), *update)
	golden.CheckFile(t, filepath.Join("..", "docs", "reference", "template-views.md"), []byte(viewsPage(t)), *update)
}

// viewsPage explains the view of each template in the words of the Go types.
func viewsPage(t *testing.T) string {
	types := comments(t)
	var names []string // of views, by their first template
	byView := map[string][]string{}
	for _, name := range templates.Names() {
		view := reflect.TypeOf(templates.Views()[name])
		if view == nil {
			t.Fatalf("%s has no view", name)
		}
		if byView[view.Name()] == nil {
			names = append(names, view.Name())
		}
		byView[view.Name()] = append(byView[view.Name()], name)
	}
	var out strings.Builder
	out.WriteString("# Views of templates\n\n[Templates](../templates.md) explains them. A field that does not apply is empty.\n")
	for _, view := range names {
		for i, file := range byView[view] {
			byView[view][i] = fmt.Sprintf("[%s](../../templates/%s)", file, file)
		}
		fmt.Fprintf(&out, "\n### %s\n", strings.Join(byView[view], ", "))
		types.table(&out, view)
	}
	out.WriteString("\n## Parts of views\n")
	for _, part := range types.order {
		if !slices.Contains(names, part) {
			fmt.Fprintf(&out, "\n### %s\n\n%s\n", part, types.doc[part])
			types.table(&out, part)
		}
	}
	return out.String()
}

// source is what views.go says.
type source struct {
	order  []string // exported structs
	doc    map[string]string
	fields map[string][]*ast.Field
	labels map[string]bool // types with a method Labels
}

func comments(t *testing.T) source {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "internal", "views", "views.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	s := source{doc: map[string]string{}, fields: map[string][]*ast.Field{}, labels: map[string]bool{}}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Labels" && f.Recv != nil {
			s.labels[f.Recv.List[0].Type.(*ast.Ident).Name] = true
		}
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		spec := g.Specs[0].(*ast.TypeSpec)
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		s.order = append(s.order, spec.Name.Name)
		s.doc[spec.Name.Name] = strings.Join(strings.Fields(g.Doc.Text()), " ")
		s.fields[spec.Name.Name] = fields.Fields.List
	}
	return s
}

func (s source) table(out *strings.Builder, name string) {
	out.WriteString("\n| field | type | |\n|---|---|---|\n")
	for _, f := range s.fields[name] {
		typ, what := goType(f.Type), strings.Join(strings.Fields(f.Comment.Text()), " ")
		if len(f.Names) == 0 {
			fmt.Fprintf(out, "| those of [%s](#%s) | | |\n", typ, strings.ToLower(typ))
		}
		for _, n := range f.Names {
			fmt.Fprintf(out, "| `%s` | %s | %s |\n", n.Name, typ, what)
		}
	}
	if s.labels[name] || slices.ContainsFunc(s.fields[name], func(f *ast.Field) bool { return len(f.Names) == 0 && s.labels[goType(f.Type)] }) {
		out.WriteString("| `Labels` | mapping of text | all labels of the object |\n")
	}
}

// goType names a Go type in plain words.
func goType(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		switch x.Name {
		case "string":
			return "text"
		case "bool":
			return "true or false"
		case "int32":
			return "number"
		case "any":
			return "any value"
		}
		return x.Name
	case *ast.StarExpr:
		return goType(x.X)
	case *ast.ArrayType:
		return "list of " + strings.Replace(goType(x.Elt), "any value", "values", 1)
	case *ast.MapType:
		return "mapping of " + strings.Replace(goType(x.Value), "any value", "values", 1)
	}
	return "?"
}
