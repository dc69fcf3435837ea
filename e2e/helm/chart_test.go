// Package helm proves with helm's own code that the charts of the layout helm are what they are said to be. It is a
// module of its own, so that helm does not reach olmgen's go.mod.
package helm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/output"
)

// objects are those of a rendering, as JSON, by kind, namespace and name.
type objects map[string]string

func (o objects) add(what string, text []byte) error {
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		var v map[string]any
		if err := yaml.Unmarshal(doc, &v); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if v == nil {
			continue
		}
		meta, _ := v["metadata"].(map[string]any)
		id := fmt.Sprintf("%v %v %v/%v", v["apiVersion"], v["kind"], meta["namespace"], meta["name"])
		if _, twice := o[id]; twice {
			return fmt.Errorf("%s: %s is there twice", what, id)
		}
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		o[id] = string(data)
	}
}

// load reads a chart as helm does.
func load(files output.Files) (*chart.Chart, error) {
	var list []*loader.BufferedFile
	for _, f := range files {
		list = append(list, &loader.BufferedFile{Name: f.Path, Data: f.Data})
	}
	return loader.LoadFiles(list)
}

// template renders a chart as "helm template --set crds.keep=false" does, unless the values say something about CRDs: then
// it has the objects of the layout flat.
func template(c *chart.Chart, values map[string]any) (objects, error) {
	if c.Values["crds"] != nil && values["crds"] == nil {
		values = maps.Clone(values)
		if values == nil {
			values = map[string]any{}
		}
		values["crds"] = map[string]any{"keep": false}
	}
	return templateAsGiven(c, values)
}

// templateAsGiven renders a chart as "helm template" does, its CRDs included.
func templateAsGiven(c *chart.Chart, values map[string]any) (objects, error) {
	options := chartutil.ReleaseOptions{Name: "test", Namespace: "default", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	out := objects{}
	for _, crd := range c.CRDObjects() {
		if err := out.add(crd.Filename, crd.File.Data); err != nil {
			return nil, err
		}
	}
	for name := range texts {
		if strings.HasSuffix(name, "NOTES.txt") {
			if !strings.Contains(texts[name], "kubectl") {
				return nil, fmt.Errorf("%s: %q", name, texts[name])
			}
			delete(texts, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(texts, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		if err := out.add(m.Name, []byte(m.Content+"\n")); err != nil {
			return nil, err
		}
	}
	for _, h := range hooks { // objects of the bundle that are marked as such
		if err := out.add(h.Path, []byte(h.Manifest+"\n")); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkLint runs "helm lint". A chart of a bundle has no icon, and the APIs of the bundle's own objects may be of
// yesterday.
func checkLint(t *testing.T, dir string) {
	t.Helper()
	for _, m := range lint.AllWithKubeVersion(dir, nil, "default", nil).Messages {
		text := m.Err.Error()
		if m.Severity == support.InfoSev && text == "icon is recommended" || m.Severity == support.WarningSev &&
			strings.Contains(text, "deprecated in v1") {
			continue
		}
		t.Errorf("helm lint: %s", m)
	}
}

// compare reports how objects differ.
func compare(t *testing.T, what string, want, got objects) {
	t.Helper()
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("%s: other objects (-want +chart):\n%s", what, d)
		return
	}
	for id, text := range want {
		if d := cmp.Diff(text, got[id]); d != "" {
			t.Errorf("%s: %s (-want +chart):\n%s", what, id, d)
		}
	}
}

// variable reports which of the values of a chart can be changed, by its schema.
func variable(t *testing.T, c *chart.Chart) map[string]bool {
	t.Helper()
	var schema struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for name, s := range schema.Properties {
		if _, fixed := s["const"]; !fixed {
			out[name] = true
		}
	}
	return out
}

// readDir reads the files that the command wrote.
func readDir(t *testing.T, fsys fs.FS) output.Files {
	t.Helper()
	var files output.Files
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		files = append(files, output.File{Path: filepath.ToSlash(name), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// flat returns the objects of the layout flat.
func flat(t *testing.T, files output.Files) objects {
	t.Helper()
	out := objects{}
	for _, f := range files {
		// what is the administrator's has a directory, in a chart's as well: it is applied by itself
		if f.Path == "kustomization.yaml" || f.Path == output.LockName || strings.Contains(f.Path, "/") {
			continue
		}
		if err := out.add(f.Path, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
