package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	olmgenhelm "github.com/olmgen/olmgen/output/helm"
)

// stored returns how many bytes helm stores of a release (helm: pkg/storage/driver/util.go, encodeRelease).
func stored(t *testing.T, c *chart.Chart) int {
	t.Helper()
	options := chartutil.ReleaseOptions{Name: "test", Namespace: "default", Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(c, nil, options, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := engine.Render(c, values)
	if err != nil {
		t.Fatal(err)
	}
	info := &release.Info{Description: "Install complete", Status: release.StatusDeployed}
	for name := range texts {
		if strings.HasSuffix(name, "NOTES.txt") {
			info.Notes = texts[name]
			delete(texts, name)
		}
	}
	_, manifests, err := releaseutil.SortManifests(texts, nil, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range manifests {
		b.WriteString("---\n# Source: " + m.Name + "\n" + m.Content + "\n")
	}
	data, err := json.Marshal(&release.Release{Name: "test", Namespace: "default", Version: 1, Chart: c, Info: info,
		Manifest: b.String()})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodedLen(packed.Len())
}

// The size that olmgen estimates is what helm stores, within two percent. OLMGEN_CORPUS has charts near the limit.
func TestReleaseSize(t *testing.T) {
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		t.Skip("OLMGEN_CORPUS is not set")
	}
	for _, name := range []string{"argocd-operator/0.18.0", "datadog-operator/1.29.0",
		"victoriametrics-operator/0.74.1"} {
		for _, crds := range []string{"templates", "crds"} {
			r := run{root, filepath.Join("bundles", name), []string{"--certs", "cert-manager", "--helm-crds", crds}}
			dir := r.render(t, "--layout", "helm")
			c, err := loader.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			var files []olmgenhelm.File
			for _, f := range readDir(t, os.DirFS(dir)) {
				if f.Path != "olmgen.lock" {
					files = append(files, olmgenhelm.File{Path: f.Path, Data: f.Data})
				}
			}
			r.args = r.args[:2] // the CRDs are for layout helm
			var objects []generate.Object
			for _, f := range readDir(t, os.DirFS(r.render(t))) {
				if f.Path == "olmgen.lock" || f.Path == "kustomization.yaml" {
					continue
				}
				m, err := manifest.ReadOne(f.Path, f.Data)
				if err != nil {
					t.Fatal(err)
				}
				objects = append(objects, generate.Object{APIVersion: m.APIVersion, Kind: m.Kind, Name: m.Name,
					Data: f.Data})
			}
			got, err := olmgenhelm.ReleaseSize(files, objects)
			if err != nil {
				t.Fatal(err)
			}
			want := stored(t, c)
			t.Logf("%s, %s: %d bytes, helm stores %d", name, crds, got, want)
			if diff := got - want; diff*50 > want || -diff*50 > want {
				t.Errorf("%s, %s: %d bytes, helm stores %d", name, crds, got, want)
			}
		}
	}
}
