// Command data prints arguments of go test that run the tests which take the bundles of $OLMGEN_CORPUS, the recordings
// of $OLMGEN_ORACLE or the CRDs of $OLMGEN_OLMV1_CRDS, and no others: "make test" has run those without.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
)

func main() {
	packages, tests, err := find(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "data:", err)
		os.Exit(1)
	}
	fmt.Printf("-run ^(%s)$ %s\n", strings.Join(tests, "|"), strings.Join(packages, " "))
}

// find returns the packages below a directory that have such tests, and the names of the tests, in order.
func find(root string) (packages, tests []string, err error) {
	err = filepath.WalkDir(root, func(dir string, e fs.DirEntry, err error) error {
		name := filepath.Base(dir)
		if err != nil || !e.IsDir() {
			return err
		}
		_, module := os.Stat(filepath.Join(dir, "go.mod"))
		if dir != root && (name[0] == '.' || name == "testdata" || module == nil) {
			return filepath.SkipDir
		}
		found, err := inPackage(dir)
		if len(found) > 0 {
			packages = append(packages, "./"+filepath.ToSlash(dir))
			tests = append(tests, found...)
		}
		return err
	})
	slices.Sort(tests)
	return packages, slices.Compact(tests), err
}

var (
	test     = regexp.MustCompile(`^Test[^a-z]`)
	variable = regexp.MustCompile(`^"OLMGEN_(CORPUS|ORACLE|OLMV1_CRDS)"$`)
)

// inPackage returns the tests in a directory that ask for the data, or call a function of the tests there that does.
func inPackage(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	asks, uses := map[string]bool{}, map[string][]string{} // by function
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					asks[function.Name.Name] = asks[function.Name.Name] || n.Name == "corpustest" || n.Name == "crdtest"
					uses[function.Name.Name] = append(uses[function.Name.Name], n.Name)
				case *ast.BasicLit:
					asks[function.Name.Name] = asks[function.Name.Name] || variable.MatchString(n.Value)
				}
				return true
			})
		}
	}
	for changed := true; changed; {
		changed = false
		for function, used := range uses {
			if !asks[function] && slices.ContainsFunc(used, func(name string) bool { return asks[name] }) {
				asks[function], changed = true, true
			}
		}
	}
	return lists.Filter(slices.Collect(maps.Keys(asks)), func(function string) bool {
		return asks[function] && test.MatchString(function)
	}), nil
}
