package release

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
)

// files are those of a repository of a catalog, by path.
type files map[string]string

// bundle adds operators/a/VERSION. more has fields of spec, and annotations below "annotations: ".
func (f files) bundle(version, channels, annotations, spec string) files {
	at := "operators/a/" + version + "/"
	f[at+"metadata/annotations.yaml"] = "annotations:\n  operators.operatorframework.io.bundle.package.v1: a\n" +
		"  operators.operatorframework.io.bundle.channels.v1: " + channels + "\n"
	f[at+"manifests/csv.yaml"] = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v` + version + `, annotations: {` + annotations + `}}
spec:
  install: {strategy: deployment, spec: {deployments: []}}
  installModes: [{type: AllNamespaces, supported: true}]
  version: ` + version + "\n" + spec
	return f
}

// ofCatalog is the document of a bundle in a catalog.
func ofCatalog(version, property string) string {
	return `---
schema: olm.bundle
package: a
name: a.v` + version + `
image: r.example.com/a:` + version + `
properties:
- {type: olm.package, value: {packageName: a, version: ` + version + `}}
` + property
}

const (
	ciBasic = `fbc:
  enabled: true
  catalog_mapping:
  - template_name: basic.yaml
    type: olm.template.basic
    catalog_names: [v4.16, v4.17]
`
	graph1 = `---
schema: olm.package
name: a
defaultChannel: stable
---
schema: olm.channel
package: a
name: stable
entries:
- name: a.v1.0.0
`
	basic1 = `schema: olm.template.basic
entries:
- schema: olm.package
  name: a
  defaultChannel: stable
- schema: olm.channel
  package: a
  name: stable
  entries:
  - name: a.v1.0.0
- schema: olm.bundle
  image: r.example.com/a:1.0.0
`
	metadata1 = "- {type: olm.csv.metadata, value: {installModes: [{type: AllNamespaces, supported: true}]}}\n"
)

// published is an operator with a template, and the catalogs that it makes.
func published() files {
	f := files{"operators/a/ci.yaml": ciBasic, "operators/a/catalog-templates/basic.yaml": basic1}
	for _, v := range []string{"v4.16", "v4.17"} {
		f["catalogs/"+v+"/a/catalog.yaml"] = graph1 + ofCatalog("1.0.0", metadata1)
	}
	return f.bundle("1.0.0", "stable", "", "")
}

func (f files) set(path, text string) files {
	f[path] = text
	return f
}

func (f files) replace(path, old, now string) files {
	if !strings.Contains(f[path], old) {
		panic(path + " has no " + old)
	}
	f[path] = strings.ReplaceAll(f[path], old, now)
	return f
}

// judged writes a repository and returns what catalogs says of the release of versions.
func judged(t *testing.T, f files, root string, bundles ...string) (lines []string, said string) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range f {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var released []*bundle.Bundle
	for _, at := range bundles {
		b, err := bundle.Read(os.DirFS(filepath.Join(root, at)), bundle.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		released = append(released, b)
	}
	list, texts, err := catalogs(t.Context(), root, released)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		lines = append(lines, fmt.Sprintf("%s: %s: %s [%s]", f.Where(), f.Level, f.Description(), f.Rule))
	}
	return lines, strings.Join(texts, "\n")
}

// What pipelines rejected in public, each in the smallest form, and what they take.
func TestCatalogs(t *testing.T) {
	const next = "catalog_templates:\n- template_name: basic.yaml\n  channels: [stable]\n"
	csv := func(version string) string { return "operators/a/" + version + "/manifests/csv.yaml" }
	plain := func() files { return files{"operators/a/ci.yaml": "updateGraph: replaces-mode\n"}.bundle("1.0.0", "v1", "", "") }
	for _, test := range []struct {
		name  string
		files files
		want  []string
	}{
		{"a template and its catalogs", published(), nil},
		{"bundles that follow each other", plain().bundle("1.1.0", "v1", "", "  replaces: a.v1.0.0\n"), nil},
		{"a new channel", plain().bundle("1.1.0", "v2", "", ""), nil},

		{"dangling", plain().bundle("1.0.1", "v1", "", "  replaces: a.v1.0.0\n").bundle("1.1.0", "v1", "", "  replaces: a.v1.0.0\n"),
			[]string{csv("1.0.1") + ":1: error: Channel v1: dangling: nothing updates a.v1.0.1, and the head is a.v1.1.0 [release/update-graph]"}},
		{"it replaces what is not there", plain().bundle("1.1.0", "v1", `olm.skipRange: "<1.1.0"`, "  replaces: a.v1.0.9\n"),
			[]string{csv("1.1.0") + ":1: error: it replaces a.v1.0.9, and no bundle of the operator is that [release/update-graph]"}},
		{"updates in a circle", plain().replace(csv("1.0.0"), "annotations: {}", `annotations: {olm.skipRange: "<1.2.0"}`).
			bundle("1.1.0", "v1", "", "  replaces: a.v1.0.0\n"),
			[]string{csv("1.0.0") + ":1: error: Channel v1: updates form a circle: a.v1.0.0 updates a.v1.0.0 and a.v1.0.0 updates a.v1.1.0 [release/update-graph]"}},
		{"two names", plain().bundle("1.1.0", "v1", "", "  replaces: b.v1.0.0\n").replace(csv("1.0.0"), "name: a.v", "name: b.v"),
			[]string{csv("1.1.0") + ":1: error: the bundles have several operator names: a and b [release/update-graph]"}},

		{"olm.bundle.object", published().replace("catalogs/v4.17/a/catalog.yaml", metadata1, "- {type: olm.bundle.object, value: {data: e30=}}\n"),
			[]string{"catalogs/v4.17/a/catalog.yaml:11: error: Bundle a.v1.0.0: catalogs from v4.17 on must not have olm.bundle.object: " +
				"render it with --migrate-level bundle-object-to-csv-metadata [release/bundle-format]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			version := "1.0.0"
			for path := range test.files {
				if v, ok := strings.CutSuffix(strings.TrimPrefix(path, "operators/a/"), "/manifests/csv.yaml"); ok {
					version = max(version, v)
				}
			}
			_ = next
			got, said := judged(t, test.files, "operators/a", version)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("%s\n%s", d, said)
			}
		})
	}
}
