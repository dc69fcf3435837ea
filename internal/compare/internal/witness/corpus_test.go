package witness_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/compare/internal/witness"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/tree"
)

// proofs are the rules about requests that fail whatever an object has.
var proofs = []string{"crdRemoved", "servedVersionRemoved", "storageVersionRemoved", "versionNotServed", "conversionRemoved",
	"subresourceRemoved", "names", "scope", "storedVersionRemoval"}

// count is what is found in the pairs of releases.
type count struct {
	sync.Mutex
	pairs, versions, shown, proven, may, widening, objects, broken int
}

// TestCorpus compares each two neighbouring releases of a package. No object that is made at random is taken by the
// older CRD, and refused or cut by the newer one, without an error of that version; and each error has a witness or a
// proof.
func TestCorpus(t *testing.T) {
	if os.Getenv("OLMGEN_CORPUS") == "" || testing.Short() {
		t.Skip("OLMGEN_CORPUS is not set, or the test is short: releases are compared in the whole corpus")
	}
	var c count
	t.Run("pairs", func(t *testing.T) {
		for _, p := range corpustest.Packages(t) {
			for i := range p.Bundles[1:] {
				old, now := p.Bundles[i], p.Bundles[i+1]
				t.Run(filepath.Base(filepath.Dir(now))+"/"+filepath.Base(now), func(t *testing.T) {
					t.Parallel()
					c.compare(t, old, now)
				})
			}
		}
	})
	if c.shown == 0 || c.broken == 0 || c.objects == 0 {
		t.Errorf("nothing was compared: %d witnesses, %d broken of %d objects", c.shown, c.broken, c.objects)
	}
	t.Logf("%d pairs, %d versions of changed CRDs; findings: %d with a witness, %d with a proof, %d that may break, %d others; "+
		"%d random objects, which broke %d versions", c.pairs, c.versions, c.shown, c.proven, c.may, c.widening, c.objects, c.broken)
}

func (c *count) compare(t *testing.T, oldDir, nowDir string) {
	var sides [2]map[string]*crs.CRD
	var trees [2]*tree.Tree
	for i, dir := range []string{oldDir, nowDir} {
		var err error
		if trees[i], err = tree.Read(t.Context(), []string{dir}, tree.Options{}); err != nil {
			t.Fatal(err)
		}
		if sides[i], err = crs.ByName(trees[i].Objects); err != nil {
			t.Fatal(err)
		}
	}
	list, err := crds.Compare(t.Context(), trees[0].Objects, trees[1].Objects, crds.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Lock()
	c.pairs++
	for _, f := range list {
		switch {
		case f.Witness != "":
			c.shown++
		case slices.Contains(proofs, f.Rule):
			c.proven++
		case f.Severity == crds.Error:
			t.Errorf("an error without a witness or a proof: %+v", f)
		case f.Severity == crds.Warning:
			c.may++
		default:
			c.widening++
		}
	}
	c.Unlock()
	for name, old := range sides[0] {
		if now := sides[1][name]; now != nil && !old.Same(now) {
			c.objectsOf(t, old, now, list)
		}
	}
}

// objectsOf makes objects of each version that both CRDs serve.
func (c *count) objectsOf(t *testing.T, old, now *crs.CRD, list []crds.Finding) {
	a, err := old.Decode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := now.Decode()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range a.Spec.Versions {
		before, served := crs.VersionOf(a, v.Name)
		after, still := crs.VersionOf(b, v.Name)
		if !served || !still {
			continue
		}
		taken, object, said := witness.New(before, after, a.Spec.Group+"/"+v.Name, a.Spec.Names.Kind).Broken(1, 150)
		c.Lock()
		c.versions++
		c.objects += taken
		if object != nil {
			c.broken++
		}
		c.Unlock()
		if object != nil && !slices.ContainsFunc(list, func(f crds.Finding) bool {
			return f.CRD == a.Name && f.Severity == crds.Error && (f.Version == v.Name || f.Version == "")
		}) {
			t.Errorf("%s %s: %s, and no finding is an error", a.Name, v.Name, said)
		}
	}
}
