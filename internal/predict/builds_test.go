package predict_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
)

// TestBuildsLikeKustomize compares what check finds in a tree with what it finds in the output of kustomize, for each
// kustomization of testdata/builds: all but the places is the same.
func TestBuildsLikeKustomize(t *testing.T) {
	golden.EachArchive(t, "testdata/builds/*.txtar", func(t *testing.T, _ string, a *txtar.Archive) {
		t.Chdir(t.TempDir())
		var roots []string
		for _, f := range a.Files {
			if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			if filepath.Base(f.Name) == "kustomization.yaml" && !strings.Contains(string(f.Data), "Component") {
				roots = append(roots, filepath.Dir(f.Name))
			}
		}
		c, err := catalog.Read(t.Context(), "catalog.yaml", catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := predict.Options{Catalogs: predict.Catalogs{Others: c}}
		found := 0
		for _, root := range roots {
			built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), root)
			if err != nil {
				t.Fatal(root, err)
			}
			text, err := built.AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			want := said(t, o, tree.Options{Stdin: strings.NewReader(string(text))}, tree.Stdin)
			found += len(want)
			if d := cmp.Diff(want, said(t, o, tree.Options{}, root)); d != "" {
				t.Errorf("%s (-output of kustomize +tree):\n%s", root, d)
			}
		}
		if found == 0 {
			t.Error("nothing was found anywhere: the trees prove nothing")
		}
	})
}

// said returns what check finds, without places, and the states of the CSVs.
func said(t *testing.T, o predict.Options, read tree.Options, path string) (list []string) {
	t.Helper()
	of, err := tree.Read(t.Context(), []string{path}, read)
	if err != nil {
		t.Fatal(err)
	}
	r, err := predict.CheckClusters(t.Context(), of, func(*tree.Tree) predict.Options { return o })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		list = append(list, strings.Join([]string{f.Rule, string(f.Level), f.Object, f.Field, f.Message}, " | "))
	}
	for _, v := range r.CSVs {
		list = append(list, strings.Join([]string{v.Namespace, v.Name, v.Phase, v.Message}, " | "))
	}
	slices.Sort(list)
	return list
}
