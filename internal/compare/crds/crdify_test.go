package crds

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"

	"github.com/olmgen/olmgen/golden/corpus"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/internal/witness"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// TestCrdify compares with crdify's own runner over each two neighbouring releases of a package: everything that crdify
// finds is there. What crdify finds at and below a removed field is one finding here.
func TestCrdify(t *testing.T) {
	pairs := neighbours(corpustest.Packages(t))
	var compared, found atomic.Int64
	t.Run("pairs", func(t *testing.T) {
		for _, p := range pairs {
			t.Run(filepath.Base(filepath.Dir(p[0]))+"/"+filepath.Base(p[0])+"-"+filepath.Base(p[1]), func(t *testing.T) {
				t.Parallel()
				crds, findings := compareWithCrdify(t, p[0], p[1])
				compared.Add(int64(crds))
				found.Add(int64(findings))
			})
		}
	})
	if compared.Load() == 0 || found.Load() == 0 {
		t.Fatal("nothing was compared")
	}
	t.Logf("%d pairs, %d changed CRDs, %d findings of crdify", len(pairs), compared.Load(), found.Load())
}

func compareWithCrdify(t *testing.T, oldDir, nowDir string) (crds, findings int) {
	old, now := read(t, oldDir), read(t, nowDir)
	ours, err := Compare(t.Context(), old, now, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := crs.ByName(old)
	if err != nil {
		t.Fatal(err)
	}
	after, err := crs.ByName(now)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lists.Keys(before) {
		if after[name] == nil || before[name].Same(after[name]) {
			continue
		}
		crds++
		a, err := before[name].Decode()
		if err != nil {
			t.Fatal(err)
		}
		b, err := after[name].Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range crdify(t, a, b) {
			findings++
			if !slices.ContainsFunc(ours, f.covered) && !f.repeated(a) {
				t.Errorf("crdify's finding is missing: %+v", f)
			}
		}
	}
	t.Logf("%d findings, crdify has %d", len(ours), findings)
	return crds, findings
}

// neighbours returns the directories of each two neighbouring releases.
func neighbours(packages []corpus.Package) [][2]string {
	var pairs [][2]string
	for _, p := range packages {
		for i := range p.Bundles[1:] {
			pairs = append(pairs, [2]string{p.Bundles[i], p.Bundles[i+1]})
		}
	}
	return pairs
}

func read(t *testing.T, dir string) []*manifest.Object {
	t.Helper()
	files, err := tree.Read(t.Context(), []string{dir}, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return files.Objects
}

// theirs is a finding of crdify.
type theirs struct{ crd, version, check, path, text string }

// covered reports whether f is what crdify found.
func (c theirs) covered(f Finding) bool {
	if f.CRD != c.crd || f.Version != c.version {
		return false
	}
	path := strings.NewReplacer("[]", ".items", "[*]", ".additionalProperties").Replace("^." + f.Path)
	path = strings.Replace(strings.TrimSuffix(path, "."), "^..", "^.", 1)
	if (f.Rule == ruleFieldRemoved || f.Rule == ruleStoredWithout) && (c.path == path || strings.HasPrefix(c.path, path+".") ||
		strings.HasPrefix(c.path, path+"[")) {
		return true
	}
	if c.check == ruleScope {
		path = ""
	}
	return c.path == path && slices.ContainsFunc(builtin, func(r Rule) bool {
		return r.ID == f.Rule && r.Crdify == c.check
	})
}

// repeated reports whether a finding between two served versions was there before. crdify leaves out what was, by its
// text, but lists required fields in an order that changes from run to run.
func (c theirs) repeated(old *apiextensionsv1.CustomResourceDefinition) bool {
	if c.check != ruleRequired {
		return false
	}
	comparators, err := crdifyComparators()
	if err != nil {
		return false
	}
	known, ok := servedPairs(old)[c.version]
	return ok && slices.ContainsFunc(comparators.compareSchemas(context.Background(), known[0], known[1]), func(i issue) bool {
		return c.covered(Finding{CRD: c.crd, Version: c.version, Rule: i.rule, Path: i.path}) &&
			!slices.ContainsFunc(strings.Fields(strings.Trim(i.key, "[]")), func(name string) bool {
				return !strings.Contains(c.text, name)
			})
	})
}

// crdify runs crdify as its command does.
func crdify(t *testing.T, old, now *apiextensionsv1.CustomResourceDefinition) []theirs {
	t.Helper()
	r, err := runner.New(&config.Config{}, runner.DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	old, now = withSchemas(old), withSchemas(now)
	results := r.Run(old, now)
	var out []theirs
	for _, c := range results.CRDValidation {
		for _, e := range append(c.Errors, c.Warnings...) {
			f := theirs{old.Name, "", c.Name, "", e}
			if c.Name == ruleFieldRemoved {
				_, at, _ := strings.Cut(e, " : ")
				f.version, f.path, _ = strings.Cut(at, ".^")
				f.path = "^" + f.path
			}
			out = append(out, f)
		}
	}
	for _, v := range append(results.SameVersionValidation, results.ServedVersionValidation...) {
		for _, p := range v.PropertyComparisons {
			for _, c := range p.ComparisonResults {
				for _, e := range append(c.Errors, c.Warnings...) {
					out = append(out, theirs{old.Name, v.Version, c.Name, p.Property, e})
				}
			}
		}
	}
	return out
}

// withSchemas adds an empty schema to versions that have none. crdify panics without.
func withSchemas(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: witness.SchemaOf(&crd.Spec.Versions[i])}
	}
	return crd
}
