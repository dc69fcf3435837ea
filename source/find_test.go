package source

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHasManifests tells the manifests/ of a bundle from another directory of that name, and asks what finds bundles.
func TestHasManifests(t *testing.T) {
	const csv, crd = "kind: ClusterServiceVersion\n", "kind: CustomResourceDefinition\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"a bundle", goodFiles, true},
		{"one without annotations", map[string]string{"manifests/a.yaml": csv}, true},
		{"one in JSON", map[string]string{"manifests/a.json": `{"kind": "ClusterServiceVersion"}`}, true},
		{"one whose CSV is missing", map[string]string{"manifests/a.yaml": crd, "metadata/annotations.yaml": "{}"}, true},
		{"one that OLM does not unpack", map[string]string{"manifests/crds/a.yaml": crd, "metadata/annotations.yaml": "{}"}, true},
		{"config of Operator SDK", map[string]string{"manifests/kustomization.yaml": "resources: [bases/a.yaml]\n", "manifests/bases/a.yaml": csv}, false},
		{"a kustomization with a CSV", map[string]string{"manifests/kustomization.yml": "resources: [a.yaml]\n", "manifests/a.yaml": csv}, false},
		{"the scorecard", map[string]string{"manifests/config.yaml": "kind: Configuration\n"}, false},
		{"charts", map[string]string{"manifests/charts/a/Chart.yaml": "name: a\n"}, false},
		{"templates of a chart", map[string]string{"manifests/a.yaml": "{{ .Values }}\n" + crd}, false},
		{"a file-based catalog", map[string]string{"manifests/a.yaml": "schema: olm.package\nname: ClusterServiceVersion\n"}, false},
		{"versions of OpenShift", map[string]string{"manifests/a.package.yaml": "packageName: a\n", "manifests/4.18/a.yaml": csv}, false},
		{"a file", map[string]string{"manifests": csv}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "a")
			for name, data := range c.files {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644))
			}
			found, _ := Find(t.Context(), top)
			asFound := len(found) == 1 && found[0] == (Found{KindDir, dir})
			for what, got := range map[string]bool{"hasManifests": hasManifests(dir), "IsBundleDir": IsBundleDir(dir),
				"BundlesAt": len(BundlesAt(top)) == 1, "Find": asFound} {
				if got != c.want {
					t.Errorf("%s: %t, want %t", what, got, c.want)
				}
			}
		})
	}
}
