package generate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/crdtest"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/templates"
)

// TestReleases validates each ClusterExtension, and ClusterCatalog, by the CRDs of the release that it is for, with the
// code of the API server: it takes it, or olmgen has refused it. A field that only the experimental CRDs have is warned
// of. Rendering makes no ClusterCatalog; those of the pages, examples and scripts must be taken by every release.
func TestReleases(t *testing.T) {
	dirs := corpustest.Glob(t, "..", "golden", "*", "bundle")
	if corpustest.Set(t) {
		dirs = append(dirs, corpustest.Bundles(t)...)
	}
	var bundles []*bundle.Bundle
	for _, dir := range dirs {
		if b, err := bundle.Read(os.DirFS(filepath.FromSlash(dir)), bundle.ReadOptions{}); err == nil { // others say why
			bundles = append(bundles, b)
		}
	}
	r := &releaseTest{T: t, batches: map[batchKey]*batch{}, about: map[batchKey][]string{}}
	for _, of := range []versions.Product{versions.OperatorController, versions.OpenShift} {
		for _, release := range versions.Releases(of) {
			for _, set := range release.Sets() {
				for _, kind := range []string{"ClusterExtension", "ClusterCatalog"} {
					if crd := crdtest.Of(t, release, set)[kind]; crd != nil {
						r.batches[batchKey{release, set, kind}] = &batch{Version: crs.Version{CustomResourceDefinitionVersion: served(crd), ClusterScoped: true}}
					} else if state, _ := release.State(kind, "", set); state != versions.Unknown && crdtest.Of(t, release, set) != nil {
						t.Errorf("%s, %s: no CRD of %s", release, set, kind)
					}
				}
			}
			for _, b := range bundles {
				r.render(b, release)
			}
		}
	}
	written := writtenCatalogs(t)
	for key := range r.batches {
		for i := 0; key.kind == "ClusterCatalog" && i < len(written); i++ {
			r.add(key, fmt.Sprintf("ClusterCatalog %d of the pages and scripts", i), written[i])
		}
	}
	taken := map[string]int{}
	for key, batch := range r.batches {
		taken[key.kind] += r.judge(key, batch)
	}
	t.Logf("of %d bundles, and %d ClusterCatalogs: %v are taken, %d are refused before", len(bundles), len(written), taken, r.refused)
	if taken["ClusterExtension"] == 0 || taken["ClusterCatalog"] == 0 || r.refused == 0 {
		t.Error("the test compares nothing")
	}
}

func served(crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionVersion {
	return crd.Spec.Versions[len(crd.Spec.Versions)-1]
}

type batchKey struct {
	release versions.Release
	set     versions.Set
	kind    string
}

// batch is a version of a CRD, and objects of it.
type batch struct {
	crs.Version
	Objects []json.RawMessage
}

type releaseTest struct {
	*testing.T
	batches map[batchKey]*batch
	about   map[batchKey][]string
	refused int
}

// render adds what a bundle becomes for a release to the batch that must take it.
func (r *releaseTest) render(b *bundle.Bundle, release versions.Release) {
	for _, o := range []generate.Options{{}, {ServiceAccount: "installer"},
		{ServiceAccount: "installer", Namespace: "own", InstallMode: v1alpha1.InstallModeTypeOwnNamespace},
		{ServiceAccount: "installer", Config: &v1alpha1.SubscriptionConfig{NodeSelector: map[string]string{"a": "b"}}},
	} {
		o.Profile = generate.ProfileClusterExtension
		number := strings.TrimPrefix(release.String(), string(release.Product)+" ")
		if release.Product == versions.OpenShift {
			o.OpenShiftVersion = number
		} else {
			o.OLMVersion = number
		}
		what := fmt.Sprintf("%s for %s, account %q, mode %q, config %t", b.CSV.Name, release, o.ServiceAccount, o.InstallMode,
			o.Config != nil)
		rendered, err := generate.Render(b, o)
		if err != nil {
			if bad, ok := errors.AsType[*generate.Error](err); ok && strings.Contains(bad.Msg, release.String()) {
				r.refused++
				if bad.Tip == "" {
					r.Errorf("%s: no hint: %v", what, err)
				}
			}
			continue // of another reason: other tests have it
		}
		set := release.Sets()[0]
		for _, w := range rendered.Warnings {
			if strings.Contains(w.Error.Error(), "only in its experimental CRDs") {
				set = versions.Experimental
			}
		}
		for _, x := range rendered.Objects {
			if key := (batchKey{release, set, x.Kind}); r.batches[key] != nil {
				r.add(key, what, x.Data)
			}
		}
	}
}

// add adds an object to the batch of a release, a feature set and a kind.
func (r *releaseTest) add(key batchKey, what string, text []byte) {
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		r.Fatal(err)
	}
	r.batches[key].Objects = append(r.batches[key].Objects, json.RawMessage(data))
	r.about[key] = append(r.about[key], what)
}

// writtenCatalogs returns the ClusterCatalogs that olmgen writes for a pin, and those of the pages, the examples and the
// scripts of commands.
func writtenCatalogs(t *testing.T) (list [][]byte) {
	t.Helper()
	border := regexp.MustCompile("(?m)^(---|-- .* --|```.*)$")
	set, err := templates.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, priority := range []int{0, -7, 1000} {
		text, err := set.Execute("clustercatalog.yaml", views.ClusterCatalog{Name: "community-pinned", Priority: priority,
			Image: "example.com/c@sha256:" + strings.Repeat("6", 64)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	for _, dir := range []string{"docs", "examples", filepath.Join("cmd", "olmgen", "testdata")} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			for _, text := range border.Split(string(data), -1) {
				if strings.Contains(text, "apiVersion: olm.operatorframework.io/") && strings.Contains(text, "\nkind: ClusterCatalog\n") {
					list = append(list, []byte(text))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func (r *releaseTest) judge(key batchKey, batch *batch) (taken int) {
	judge, err := apiserver.Checker{}.Judge(batch.Version)
	if err != nil {
		r.Fatal(key, err)
	}
	for i, object := range batch.Objects {
		v, err := judge(object)
		if err != nil {
			r.Fatal(key, err)
		}
		if v.Error != "" || len(v.Create) > 0 || len(v.Unknown) > 0 {
			r.Errorf("%s: %s %+v, unknown fields %q", r.about[key][i], v.Error, v.Create, v.Unknown)
			continue
		}
		taken++
	}
	return taken
}
