package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/runfn"
	"sigs.k8s.io/yaml"
)

const fnConfig = `apiVersion: olmgen.dev/v1alpha1
kind: RenderConfig
metadata:
  name: operators
  annotations:
    config.kubernetes.io/function: |
      exec: {path: olmgen, args: [fn]}
output: {directory: operators}
annotations: argocd
groups:
- namespace: operators
  createNamespaces: true
  bundles:
  - source: bundle
`

const other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n"

// fnDir holds a RenderConfig for the example's bundle, and more files.
func fnDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "bundle"), os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle"))); err != nil {
		t.Fatal(err)
	}
	files["olmgen.yaml"] = fnConfig
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// objectsIn returns the objects of YAML files below a directory by what identifies them, as JSON.
func objectsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" || d.Name() == "kustomization.yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		addObjects(t, out, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func addObjects(t *testing.T, to map[string]string, data []byte) {
	t.Helper()
	for doc := range strings.SplitSeq(string(data), "\n---\n") {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(m, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		meta, _ := m["metadata"].(map[string]any)
		id, err := json.Marshal([]any{m["apiVersion"], m["kind"], meta["namespace"], meta["name"]})
		if err != nil {
			t.Fatal(err)
		}
		if to[string(id)] != "" {
			t.Errorf("%s is there twice", id)
		}
		to[string(id)] = string(text)
	}
}

// fnWant is what olmgen render makes of the directory's RenderConfig, and the ConfigMap beside it.
func fnWant(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := t.TempDir()
	var stderr strings.Builder
	if code := run([]string{"render", "-f", filepath.Join(dir, "olmgen.yaml"), "-o", out}, nil, &stderr, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	want := objectsIn(t, out)
	addObjects(t, want, []byte(other))
	return want
}

// kustomized builds a kustomization with kustomize's own code, functions that are programs included.
func kustomized(t *testing.T, dir string) map[string]string {
	t.Helper()
	o := krusty.MakeDefaultOptions()
	o.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	o.PluginConfig.FnpLoadingOptions.EnableExec = true
	built, err := krusty.MakeKustomizer(o).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	addObjects(t, got, data)
	return got
}

func TestFnInKustomize(t *testing.T) {
	for name, kustomization := range map[string]string{
		"generator":   "resources: [other.yaml]\ngenerators: [olmgen.yaml]\n",
		"transformer": "resources: [other.yaml]\ntransformers: [olmgen.yaml]\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := fnDir(t, map[string]string{"kustomization.yaml": kustomization, "other.yaml": other})
			if d := cmp.Diff(fnWant(t, dir), kustomized(t, dir)); d != "" {
				t.Errorf("(-rendered +built):\n%s", d)
			}
		})
	}
}

// kyaml's runner, on which "kustomize fn run" is built, reads a directory, runs the functions that it finds in it and writes the files. A
// second run finds its own objects and replaces them.
func TestFnInDirectory(t *testing.T) {
	dir := fnDir(t, map[string]string{"other.yaml": "# mine\n" + other})
	want := fnWant(t, dir)
	bundle := filepath.Join("..", "..", "examples", "memcached-operator", "bundle")
	for range 2 {
		if err := (runfn.RunFns{Path: dir, EnableExec: true, WorkingDir: dir, ResultsDir: t.TempDir()}).Execute(); err != nil {
			t.Fatal(err)
		}
		got := objectsIn(t, filepath.Join(dir, "operators"))
		addObjects(t, got, []byte(other))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-rendered +written):\n%s", d)
		}
	}
	if d := cmp.Diff(objectsIn(t, bundle), objectsIn(t, filepath.Join(dir, "bundle"))); d != "" {
		t.Errorf("the bundle was changed:\n%s", d)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "other.yaml")); err != nil || string(text) != "# mine\n"+other {
		t.Errorf("other.yaml was changed: %v\n%s", err, text)
	}
}
