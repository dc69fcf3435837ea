package source

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// No bundle of the public catalogs has its objects in the catalog, so what can be seen of them offline is which one
// was chosen.
func TestCorpusCatalogs(t *testing.T) {
	heads := map[string]string{
		"alloydb-omni-operator":     "alloydb-omni-operator.v1.8.0",
		"clusterpulse":              "clusterpulse.v1.0.2",
		"infinispan":                "infinispan-operator.v2.5.14",
		"koku-metrics-operator":     "koku-metrics-operator.v4.4.1",
		"libredb-studio-operator":   "libredb-studio-operator.v0.9.59",
		"patterns-operator":         "patterns-operator.v0.0.80",
		"project-quay":              "quay-operator.v3.17.4",
		"rabbitmq-cluster-operator": "rabbitmq-cluster-operator.v2.22.3",
		"sailoperator":              "sailoperator.v1.30.3",
		"victoriametrics-operator":  "victoriametrics-operator.v0.74.1",
	}
	root := filepath.Join(corpustest.Root(t), "catalogs")
	channels, bundles := 0, 0
	for pkg, head := range heads {
		t.Run(pkg, func(t *testing.T) {
			dir := filepath.Join(root, pkg)
			c, err := readCatalog(context.Background(), dir, Options{}.withDefaults())
			must(t, err)
			chosen, err := c.choose(pkg, "", "")
			must(t, err)
			_, err = chosen.source(context.Background(), Options{Offline: true})
			if want := "its objects are not in the catalog, and its image quay.io/"; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			same(t, "head", chosen.bundle.Name, head)
			for channel := range c[pkg].channels {
				if _, err := c.choose("", channel, ""); err != nil {
					t.Error(err)
				}
				channels++
			}
			for name, b := range c[pkg].bundles {
				for _, version := range []string{name, b.version()} {
					if got, err := c.choose(pkg, "", version); err != nil || got.bundle != b {
						t.Errorf("%s: %v", version, err)
					}
				}
				bundles++
			}
		})
	}
	same(t, "channels", channels, 36)
	same(t, "bundles", bundles, 429)
}

func TestCorpusPackageManifests(t *testing.T) {
	root := filepath.Join(corpustest.Root(t), "packagemanifests")
	dirs, err := os.ReadDir(root)
	must(t, err)
	same(t, "packages", len(dirs), 22)
	versions := 0
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) {
			dir := filepath.Join(root, d.Name())
			o := Options{Warn: func(format string, args ...any) { t.Logf(format, args...) }}
			open(t, dir, o) // the default channel's
			list, err := Convert(context.Background(), dir, o)
			must(t, err)
			versions += len(list)
			for _, b := range list {
				files := maps.Clone(b.Files)
				for name, want := range contents(t, os.DirFS(filepath.Join(dir, filepath.Base(b.Dir)))) {
					if string(files["manifests/"+name]) != want {
						t.Errorf("%s: %s is not as it was", b.Dir, name)
					}
					delete(files, "manifests/"+name)
				}
				same(t, b.Dir, slices.Collect(maps.Keys(files)), []string{"metadata/annotations.yaml"})
			}
		})
	}
	same(t, "versions", versions, 59)
}

// A bundle is the same from a directory, a tar, a zip and a catalog with its objects.
func TestCorpusBundles(t *testing.T) {
	dirs := corpustest.Bundles(t)
	same(t, "bundles", len(dirs), 216)
	for i, dir := range dirs {
		if i%54 != 0 { // a few are enough: what is in the files does not matter here
			continue
		}
		want := contents(t, os.DirFS(dir))
		s := open(t, dir, Options{})
		if !maps.Equal(contents(t, s.FS), want) {
			t.Errorf("%s: directory differs", dir)
		}
		var entries []entry
		for _, name := range slices.Sorted(maps.Keys(want)) {
			entries = append(entries, file("x/"+name, want[name]))
		}
		s = open(t, "-", Options{Stdin: bytes.NewReader(tarOf(t, entries...))})
		if !maps.Equal(contents(t, s.FS), want) {
			t.Errorf("%s: tar differs", dir)
		}
		data := zipOf(t, entries...)
		m, err := readZip(context.Background(), "b.zip", bytes.NewReader(data), int64(len(data)), DefaultLimits())
		must(t, err)
		if !maps.Equal(contents(t, m.withoutWrapper()), want) {
			t.Errorf("%s: zip differs", dir)
		}
		if _, err := fs.Stat(os.DirFS(dir), "manifests"); !errors.Is(err, fs.ErrNotExist) {
			checkAsCatalog(t, dir, want)
		}
	}
}

// checkAsCatalog puts a bundle's manifests into a catalog and compares what comes out.
func checkAsCatalog(t *testing.T, dir string, files map[string]string) {
	var properties []property
	var want []any
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "manifests/") {
			continue
		}
		for d, err := range documents(name, strings.NewReader(files[name]), 64<<20) {
			must(t, err)
			value, err := json.Marshal(map[string]string{"data": base64.StdEncoding.EncodeToString(d.json)})
			must(t, err)
			properties = append(properties, property{propertyObject, value})
			want = append(want, decoded(t, d.json))
		}
	}
	bundle, err := json.Marshal(map[string]any{"schema": "olm.bundle", "package": "x", "name": "x.v1", "properties": properties})
	must(t, err)
	catalog := `{"schema": "olm.package", "name": "x"}{"schema": "olm.channel", "package": "x", "name": "a", "entries": [{"name": "x.v1"}]}` + string(bundle)
	s := open(t, "catalog:-", Options{Stdin: strings.NewReader(catalog)})
	var got []any
	entries, err := fs.ReadDir(s.FS, "manifests")
	must(t, err)
	for _, e := range entries {
		data, err := fs.ReadFile(s.FS, "manifests/"+e.Name())
		must(t, err)
		j, err := yaml.YAMLToJSON(data)
		must(t, err)
		got = append(got, decoded(t, j))
	}
	same(t, dir, got, want)
}

func decoded(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	must(t, json.Unmarshal(data, &v))
	return v
}
