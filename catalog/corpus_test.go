package catalog

import (
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
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/source"
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
			c, err := Read(t.Context(), dir, Options{})
			must(t, err)
			chosen, err := c.Choose(pkg, "", "")
			must(t, err)
			_, err = chosen.Open(t.Context(), Options{Source: source.Options{Offline: true}})
			if want := "its objects are not in the catalog, and its image quay.io/"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			same(t, "head", chosen.Bundle.Name, head)
			for _, channel := range c.Packages[pkg].Channels {
				if _, err := c.Choose("", channel.Name, ""); err != nil {
					t.Error(err)
				}
				channels++
			}
			for _, b := range c.Packages[pkg].Bundles {
				for _, version := range []string{b.Name, b.versionText()} {
					if got, err := c.Choose(pkg, "", version); err != nil || got.Bundle != b {
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
			o := Options{Source: source.Options{Warn: func(format string, args ...any) { t.Logf(format, args...) }}}
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

// The objects of a bundle are the same from a directory and from a catalog.
func TestCorpusBundles(t *testing.T) {
	for i, dir := range corpustest.Bundles(t) {
		if i%54 != 0 { // a few are enough: what is in the files does not matter here
			continue
		}
		if _, err := fs.Stat(os.DirFS(dir), "manifests"); !errors.Is(err, fs.ErrNotExist) {
			checkAsCatalog(t, dir, contents(t, os.DirFS(dir)))
		}
	}
}

// checkAsCatalog puts a bundle's manifests into a catalog and compares what comes out.
func checkAsCatalog(t *testing.T, dir string, files map[string]string) {
	var properties []Property
	var want []any
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "manifests/") {
			continue
		}
		for d, err := range documents(name, strings.NewReader(files[name]), documentLimits{64 << 20, 1_000_000}) {
			must(t, err)
			value, err := json.Marshal(map[string]string{"data": base64.StdEncoding.EncodeToString(d.json)})
			must(t, err)
			properties = append(properties, Property{Type: olm.PropertyObject, Value: value})
			want = append(want, decoded(t, d.json))
		}
	}
	bundle, err := json.Marshal(map[string]any{"schema": "olm.bundle", "package": "x", "name": "x.v1", "properties": properties})
	must(t, err)
	catalog := `{"schema": "olm.package", "name": "x", "defaultChannel": "a"}{"schema": "olm.channel", "package": "x", "name": "a", "entries": [{"name": "x.v1"}]}` + string(bundle)
	s := open(t, "catalog:-", Options{Source: source.Options{Stdin: strings.NewReader(catalog)}})
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
