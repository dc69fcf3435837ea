package predict_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Every bundle of the corpus is installed from a catalog: into an empty cluster, over the CRDs of its predecessor, and
// over itself. The outcome agrees with what rendering says of the bundle, and with the versions that its CRDs drop.
func TestSweep(t *testing.T) {
	done := map[string]int{}
	for _, p := range corpustest.Packages(t) {
		var before *bundle.Bundle
		for _, dir := range p.Bundles {
			b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{Refused: true})
			if err != nil {
				done["not readable"]++
				continue
			}
			s := sweep{T: t, bundle: b, dir: dir, done: done}
			s.run(before)
			before = b
		}
	}
	for _, line := range slices.Sorted(maps.Keys(done)) {
		t.Logf("%s: %d", line, done[line])
	}
	if done["empty: Succeeded"] == 0 {
		t.Error("no bundle is installed")
	}
}

type sweep struct {
	*testing.T
	bundle *bundle.Bundle
	dir    string
	done   map[string]int
}

func (s sweep) run(before *bundle.Bundle) {
	content := filepath.Join(s.TempDir(), "cat")
	if err := os.CopyFS(filepath.Join(content, "op"), os.DirFS(s.dir)); err != nil {
		s.Fatal(err)
	}
	c, err := catalog.Read(s.Context(), content, catalog.Options{})
	if err != nil {
		s.done["no catalog"]++
		return
	}
	base, mode := s.base()
	_, refused := generate.Render(s.bundle, generate.Options{Namespace: "ops", InstallMode: mode, Names: generate.NamesOLM,
		TargetNamespaces: map[v1alpha1.InstallModeType][]string{v1alpha1.InstallModeTypeSingleNamespace: {"team"},
			v1alpha1.InstallModeTypeMultiNamespace: {"team", "ops"}}[mode]})
	if refused == nil {
		_, refused = bundle.Read(os.DirFS(s.dir), bundle.ReadOptions{})
	}
	r, phase := s.check(base, c, "empty")
	if refused != nil {
		s.done["rendering refuses it, and OLM: "+phase]++
		if phase == "Succeeded" {
			s.Logf("%s: %v", s.dir, refused)
		}
	} else if phase != "Succeeded" && phase != "unresolved" && !s.outdated() && !slices.ContainsFunc(r.Findings, func(f findings.Finding) bool {
		return f.Rule == fit.RuleAccount.ID // nobody makes the ServiceAccount of a Deployment
	}) {
		s.Errorf("%s: %s, and rendering takes it: %v", s.dir, phase, r.Findings)
	}
	if phase == "Succeeded" {
		again, phase := s.check(r.After, c, "over itself")
		if phase != "Succeeded" || len(again.Plans) > 0 {
			s.Errorf("%s: over itself %s, %d InstallPlans", s.dir, phase, len(again.Plans))
		}
	}
	if before == nil || before.Package != s.bundle.Package {
		return
	}
	left, dropped := slices.Clone(base), false
	for _, crd := range before.CRDs {
		left = append(left, crd.Object)
		stored, _ := olm.StoredVersions(crd.Object)
		if now := s.bundle.CRD(crd.Name); now != nil {
			dropped = dropped || len(olm.DroppedVersions(stored, now.Object)) > 0
		}
	}
	r, phase = s.check(left, c, "over the predecessor's CRDs")
	if s.outdated() {
		return
	}
	fails := len(r.Plans) > 0 && strings.HasPrefix(r.Plans[0].Message, "risk of data loss")
	if fails != dropped && phase != "unresolved" {
		s.Errorf("%s: over its predecessor %s, and stored versions are dropped: %t", s.dir, phase, dropped)
	}
}

// outdated reports whether a bundle has objects of an API that Kubernetes does not serve any more: rendering warns of it.
func (s sweep) outdated() bool {
	return slices.ContainsFunc(s.bundle.Shipped(), func(o *manifest.Object) bool {
		return versions.Unserved(install.APIVersionOf(o), o.Kind, math.MaxInt32) != ""
	})
}

// base returns a cluster that asks for the operator, and the install mode of its group.
func (s sweep) base() (objects []*manifest.Object, mode v1alpha1.InstallModeType) {
	targets := ""
	for _, m := range bundle.InstallModes {
		if olm.Supports(s.bundle.CSV.Spec.InstallModes, m) {
			mode = m
		}
	}
	switch mode {
	case v1alpha1.InstallModeTypeOwnNamespace:
		targets = "targetNamespaces: [ops]"
	case v1alpha1.InstallModeTypeSingleNamespace:
		targets = "targetNamespaces: [team]"
	case v1alpha1.InstallModeTypeMultiNamespace:
		targets = "targetNamespaces: [team, ops]"
	}
	text := fmt.Sprintf("apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: og, namespace: ops}\n"+
		"spec: {%s}\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"+
		"metadata: {name: op, namespace: ops}\nspec: {name: %q, source: cat, sourceNamespace: olm}\n", targets,
		s.bundle.Package)
	docs, err := manifest.ReadFile("tree.yaml", []byte(text), manifest.Limits{})
	if err != nil {
		s.Fatal(err)
	}
	for _, d := range docs {
		o, err := d.Object()
		if err != nil {
			s.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects, mode
}

func (s sweep) check(objects []*manifest.Object, c *catalog.Catalog, where string) (*predict.Report, string) {
	r, err := predict.Check(s.Context(), &tree.Tree{Objects: objects}, predict.Options{Checker: apiserver.Checker{},
		Bundles:  &catalog.Options{Source: source.Options{Offline: true}},
		Catalogs: predict.Catalogs{Sources: []resolve.Source{{Namespace: "olm", Name: "cat", Catalog: c}}}})
	if err != nil {
		s.Fatal(s.dir, err)
	}
	phase := "unresolved"
	for _, v := range r.CSVs {
		if v.Name == s.bundle.CSV.Name {
			phase = v.Phase
		}
	}
	if len(r.Plans) > 0 && r.Plans[0].Phase != "Complete" && phase == "Succeeded" {
		phase = "InstallPlan " + r.Plans[0].Phase
	}
	s.done[where+": "+phase]++
	return r, phase
}
