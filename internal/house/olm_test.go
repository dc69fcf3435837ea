package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestOneSpelling holds that internal/olm alone spells OLM's labels, annotations and API groups. A sentence for a
// person may name them.
func TestOneSpelling(t *testing.T) {
	names := literals(t, "internal/olm/names.go") // the constant that holds a text
	if len(names) < 20 {
		t.Fatalf("only %d names", len(names))
	}
	for _, api := range []string{"olm.copiedFrom", "olm.operatorGroup", "olm.operatorNamespace", "olm.targetNamespaces",
		"olm.providedAPIs", "olm.skipRange"} {
		names[api] = "the constant that takes it from github.com/operator-framework/api" // names.go does not spell them
	}
	for _, file := range files(t, ".go") {
		top, _, _ := strings.Cut(strings.TrimPrefix(file, "internal/"), "/")
		if strings.HasSuffix(file, "_test.go") || file == "internal/olm/names.go" ||
			top == "golden" || top == "e2e" || top == "examples" {
			continue
		}
		for literal := range literals(t, file) {
			for name, constant := range names {
				prefix := strings.HasSuffix(name, "/") || strings.HasSuffix(name, "-")
				if literal == name || prefix && strings.HasPrefix(literal, name) || strings.Contains(literal, `["`+name+`"]`) {
					t.Errorf("%s spells %q: use %s of internal/olm", file, literal, constant)
				}
			}
		}
	}
}

// literals returns the texts in a Go file, but for imports, and the names of the constants that hold them.
func literals(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.ValueSpec:
			for i, v := range n.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					found[unquote(lit)] = n.Names[i].Name
				}
			}
		case *ast.BasicLit:
			if text := unquote(n); n.Kind == token.STRING && found[text] == "" {
				found[text] = ""
			}
		}
		return true
	})
	delete(found, "/")
	return found
}

func unquote(lit *ast.BasicLit) string {
	text, _ := strconv.Unquote(lit.Value) // the parser has read it
	return text
}
