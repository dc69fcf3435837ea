package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// aRelease is a release of OLM in a text, without a patch version: v0.46 or v1.10.
var aRelease = regexp.MustCompile(`\bv(0\.\d\d|1\.\d+)(\.\d+)?\b`)

// compares are the methods that compare versions, and the files beside the table of releases that may call them: they
// compare versions of Kubernetes, the form of a property, and bundles. versions.Release has none but Newer.
var (
	compares  = []string{"GT", "GTE", "GE", "LT", "LTE", "LE", "EQ", "NE", "Compare"}
	comparing = []string{"config/kube.go", "internal/fit/cluster.go", "cmd/internal/audit/set.go"}
)

// Only package versions compares releases of OLM: no other code names one, and no code that asks the table compares.
func TestOnlyTheTableComparesReleases(t *testing.T) {
	root, seen := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() && (strings.HasPrefix(name, ".") && name != "." || forTests(module+name) ||
			name == "internal/olm/versions") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		seen++
		checkReleases(t, name, file)
		return nil
	})
	if err != nil || seen < 300 {
		t.Error(seen, "files:", err)
	}
}

func checkReleases(t *testing.T, name string, file *ast.File) {
	t.Helper()
	asks := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return strings.HasSuffix(i.Path.Value, `internal/olm/versions"`) || strings.HasSuffix(i.Path.Value, `internal/fit"`)
	})
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			for _, found := range aRelease.FindAllString(n.Value, -1) {
				if n.Kind == token.STRING && (strings.Count(found, ".") == 1 || strings.HasSuffix(found, ".0")) {
					t.Errorf("%s names the release %s: a fact about it belongs into internal/olm/versions", name, found)
				}
			}
		case *ast.CallExpr:
			call, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !asks || slices.Contains(comparing, name) || !slices.Contains(compares, call.Sel.Name) {
				return true
			}
			if from, ok := call.X.(*ast.Ident); !ok || from.Name != "cmp" && from.Name != "strings" && from.Name != "review" {
				t.Errorf("%s compares versions and asks the table of releases: compare there", name)
			}
		}
		return true
	})
}
