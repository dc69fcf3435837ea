package release

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/manifest"
)

// mostFiles is how many files and directories of a repository are looked at. Kubernetes has 30,000 without vendor.
const mostFiles = 200_000

// chartFile makes a directory a chart (helm/helm: pkg/chartutil/chartfile.go, IsChartDir).
const chartFile = "Chart.yaml"

// roleFile is where controller-gen writes the roles of markers (kubernetes-sigs/controller-tools: pkg/rbac/parser.go).
const roleFile = "role.yaml"

// notLooked are directories with what is of others, of tests, or of pages.
var notLooked = []string{"vendor", "node_modules", "testdata", "test", "tests", "hack", "docs", "examples"}

// layouts are directories of kustomizations. Of the directories below, the first one counts: operator-sdk makes the
// bundle of manifests (operator-framework/operator-sdk: internal/plugins/manifests/v2/init.go), which has all of default
// (kubernetes-sigs/kubebuilder: pkg/plugins/common/kustomize/v2/scaffolds/init.go).
var layouts = map[string][]string{"config": {"manifests", "default", "base", "."}, "kustomize": {"default", "base", "."}}

// granting returns what grants rights in the repository of an operator, beside its bundle: directories of
// kustomizations and charts, and files of roles, by their paths below it.
func granting(root string) (found []string, err error) {
	seen := 0
	err = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return &manifest.Error{File: filepath.ToSlash(at), Msg: regular.Reason(err)}
		}
		if seen++; seen > mostFiles {
			return &manifest.Error{File: filepath.ToSlash(root), Tip: "name the directory of one operator",
				Msg: fmt.Sprintf("it has more than %d files and directories", mostFiles)}
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case !e.IsDir() && e.Name() == roleFile:
			found = append(found, rel)
		case !e.IsDir():
		case rel != "." && (strings.HasPrefix(e.Name(), ".") || slices.Contains(notLooked, e.Name())),
			(e.Name() == "templates" || e.Name() == "charts") && has(filepath.Dir(at), chartFile):
			return filepath.SkipDir
		case has(at, chartFile):
			found = append(found, rel)
		}
		for _, below := range layouts[e.Name()] {
			if e.IsDir() && has(filepath.Join(at, below), kustomization.Names()...) {
				found = append(found, filepath.ToSlash(filepath.Join(rel, below)))
				break
			}
		}
		return nil
	})
	return found, err
}

// has reports whether a directory has a file of one of some names.
func has(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

// mention reports whether one of some files has one of some words in it.
func mention(files, words []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := repos.Read("", file)
		return err == nil && slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(data, []byte(w)) })
	})
}
