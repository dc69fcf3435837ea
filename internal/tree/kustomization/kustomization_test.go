package kustomization

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// unpack writes the files of an archive, and returns the directory.
func unpack(t *testing.T, files []txtar.File) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func builder(dir string) *Builder {
	return New(dir, dir, func(abs string) string {
		rel, err := filepath.Rel(dir, abs)
		if err != nil {
			return abs
		}
		return filepath.ToSlash(rel)
	})
}

// Each archive builds the kustomization top. Its golden part names each object with the places of its fields, and the
// values are those of kustomize itself.
func TestBuild(t *testing.T) {
	golden.EachArchive(t, "testdata/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		files := slices.DeleteFunc(slices.Clone(a.Files), func(f txtar.File) bool { return f.Name == "want" })
		dir := unpack(t, files)
		b := builder(dir)
		k := b.Load(filepath.Join(dir, "top"))
		objects, err := b.Build(k)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, o := range objects {
			v, err := o.Value()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s\n", strings.TrimSpace(o.Identity()))
			leaves("", v, func(field string) {
				at := o.SetBy(field)
				fmt.Fprintf(&got, "  %s %s:%d", field, at.File, at.Line)
				if at.Patch != nil {
					fmt.Fprintf(&got, " %d %s %s", at.Patch.Doc, at.Patch.Text, at.Patch.Field)
				}
				fmt.Fprintln(&got)
			})
		}
		golden.CheckArchived(t, file, a, "want", []byte(got.String()), *update)
		sameAsKustomize(t, filepath.Join(dir, "top"), objects)
	})
}

// leaves calls f with each field of a value that is no mapping and no list.
func leaves(at string, v any, f func(field string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			leaves(strings.TrimPrefix(at+"."+key, "."), v[key], f)
		}
	case []any:
		for i, x := range v {
			leaves(fmt.Sprintf("%s[%d]", at, i), x, f)
		}
	default:
		f(at)
	}
}

func sameAsKustomize(t *testing.T, dir string, objects []*manifest.Object) {
	t.Helper()
	built, err := quietly(func() (resmap.ResMap, error) {
		return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Resources()) != len(objects) {
		t.Fatalf("%d objects, kustomize builds %d", len(objects), len(built.Resources()))
	}
	for i, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := manifest.ReadOne("kustomize", text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := theirs.Value()
		if err != nil {
			t.Fatal(err)
		}
		got, err := objects[i].Value()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v\nkustomize builds %v", objects[i].Identity(), got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	data, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, part := range strings.Split(string(data), "\n== ")[1:] {
		name, archive, _ := strings.Cut(part, "\n")
		dir := unpack(t, txtar.Parse([]byte(archive+"\n")).Files)
		b := builder(dir)
		k := b.Load(filepath.Join(dir, "top"))
		_, err := b.Build(k)
		if err == nil {
			t.Errorf("%s is built", name)
			continue
		}
		fmt.Fprintf(&got, "%s: %s\n", name, strings.ReplaceAll(err.Error(), dir, "DIR"))
	}
	golden.CheckFile(t, "testdata/refused.golden", []byte(got.String()), *update)
}
