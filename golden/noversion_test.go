package golden

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/output"
)

// Without OLM, a version that changes nothing but its own name changes no file, whatever the layout. A chart has a version of its own.
func TestNoVersion(t *testing.T) {
	dirs, err := filepath.Glob("*/bundle")
	if err != nil || len(dirs) < 5 {
		t.Fatalf("no bundles: %v", err)
	}
	dirs = append(dirs, "../examples/memcached-operator/bundle", "upgrades/ferry/from")
	own := len(dirs)
	if corpustest.Set(t) {
		dirs = append(dirs, corpustest.Bundles(t)...)
	}
	compared := 0
	for i, dir := range dirs {
		if i > own && i%10 != 0 {
			continue
		}
		before, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			continue // TestCorpus checks the reason
		}
		files := renamed(t, dir, before)
		if files == nil {
			continue
		}
		after, err := bundle.Read(files, bundle.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		for _, profile := range []generate.Profile{generate.ProfilePlain, generate.ProfileDescoped} {
			compared += sameFiles(t, dir, before, after, generate.Options{Profile: profile, Namespace: "operator-ns", Certs: generate.CertsManager})
		}
	}
	if compared < corpustest.Least(t, 100) {
		t.Errorf("only %d files were compared", compared)
	}
}

// renamed returns the files of a bundle with another name and version, which replaces the one before; nil if that
// takes more than printing its CSV again.
func renamed(t *testing.T, dir string, b *bundle.Bundle) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		out[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file := out[b.CSVObject.File]
	if bytes.Contains(file.Data, []byte("\n---")) {
		return nil // there are other objects in the file
	}
	csv, err := b.CSVObject.Value()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	base := olm.BaseName(b.CSV.Name, b.CSV.Spec.Version.String())
	csv["metadata"].(map[string]any)["name"] = base + ".v99.98.97"
	csv["spec"].(map[string]any)["version"] = "99.98.97"
	csv["spec"].(map[string]any)["replaces"] = b.CSV.Name
	if file.Data, err = yaml.Marshal(csv); err != nil {
		return nil // sigs.k8s.io/yaml does not print every character
	}
	return out
}

// sameFiles compares the trees of two bundles in every layout and returns the number of files.
func sameFiles(t *testing.T, dir string, before, after *bundle.Bundle, o generate.Options) int {
	t.Helper()
	a, errA := generate.Render(before, o)
	b, errB := generate.Render(after, o)
	if errA != nil || errB != nil {
		if (errA == nil) != (errB == nil) {
			t.Errorf("%s, profile %s: %v, %v", dir, o.Profile, errA, errB)
		}
		return 0
	}
	n := 0
	for _, layout := range output.Layouts {
		filesA, errA := output.SingleOperator(output.Operator{Name: "op", Channel: "stable", Result: a}, ownTemplates()).Files(layout)
		filesB, errB := output.SingleOperator(output.Operator{Name: "op", Channel: "stable", Result: b}, ownTemplates()).Files(layout)
		if (errA == nil) != (errB == nil) {
			t.Errorf("%s, profile %s, layout %s: %v, %v", dir, o.Profile, layout, errA, errB)
		}
		if errA != nil || errB != nil {
			continue
		}
		n += len(filesA)
		for i := range min(len(filesA), len(filesB)) {
			if strings.HasSuffix(filesA[i].Path, "Chart.yaml") && layout == output.LayoutHelm {
				continue
			}
			if filesA[i].Path != filesB[i].Path || !bytes.Equal(filesA[i].Data, filesB[i].Data) {
				t.Errorf("%s, profile %s, layout %s: %s became %s, or its content changed", dir, o.Profile, layout, filesA[i].Path, filesB[i].Path)
				return n
			}
		}
		if len(filesA) != len(filesB) {
			t.Errorf("%s, profile %s, layout %s: %d files became %d", dir, o.Profile, layout, len(filesA), len(filesB))
		}
	}
	return n
}
