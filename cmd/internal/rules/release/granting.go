package release

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// mostFiles is how many files and directories of a repository are looked at. Kubernetes has 30,000 without vendor.
const mostFiles = 200_000

// chartFile makes a directory a chart. roleFile is where controller-gen writes the roles of markers
// (kubernetes-sigs/controller-tools: pkg/rbac/parser.go).
const chartFile, roleFile = "Chart.yaml", "role.yaml"

// notLooked are directories with what is of others, of tests, or of pages.
var notLooked = []string{"vendor", "node_modules", "testdata", "test", "tests", "hack", "docs", "examples"}

// layouts are directories of kustomizations. Of the directories below, the first one counts: the bundle is made of
// manifests, which has all of default (operator-framework/operator-sdk: internal/plugins/manifests/v2/templates/config/
// manifests/kustomization.go).
var layouts = map[string][]string{
	"config":    {"manifests", "default", "base", "."},
	"kustomize": {"default", "base", "."},
}

// granting returns the bundles in the repository of an operator, and what grants rights beside them: files of
// kustomizations and directories of charts, then files of roles.
func granting(root string) (bundles, found []string, err error) {
	seen, roles := 0, []string(nil)
	err = filepath.WalkDir(root+string(filepath.Separator), func(at string, e fs.DirEntry, err error) error {
		if seen++; err != nil {
			return &manifest.Error{File: filepath.ToSlash(filepath.Clean(at)), Msg: regular.Reason(err)}
		} else if seen > mostFiles {
			return &manifest.Error{File: filepath.ToSlash(root), Tip: "name the directory of one operator",
				Msg: fmt.Sprintf("it has more than %d files and directories", mostFiles)}
		}
		name, inChart := e.Name(), first(filepath.Dir(at), chartFile) != ""
		switch {
		case e.Type().IsRegular() && name == roleFile:
			roles = append(roles, at)
		case e.Type().IsRegular() && name == chartFile:
			found = append(found, filepath.Dir(at))
		case !e.IsDir():
		case seen > 1 && (name[0] == '.' || slices.Contains(notLooked, name)),
			inChart && (name == "templates" || name == "charts"):
			return filepath.SkipDir
		case source.IsAnnotated(at):
			bundles = append(bundles, filepath.Clean(at))
			return filepath.SkipDir
		default:
			for _, below := range layouts[name] {
				if file := first(filepath.Join(at, below), kustomization.Names()...); file != "" {
					found = append(found, file)
					break
				}
			}
		}
		return nil
	})
	return bundles, append(found, roles...), err
}

// first returns the first file of some names in a directory, or "".
func first(dir string, names ...string) string {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}
