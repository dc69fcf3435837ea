package catalog_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// Of a directory of bundles, what nobody asks for is not read: not even to see that it is broken.
func TestOnly(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"alone", "needs", "needed", "any", "broken", "sailor", "boats", "sails", "port", "mentions"} {
		versionDir(files, name, "1.0.0", "stable", "")
	}
	properties := func(pkg, text string) { files["operators/"+pkg+"/1.0.0/metadata/dependencies.yaml"] = text }
	properties("needs", "dependencies:\n- type: olm.package\n  value: {packageName: needed, version: '>=1.0.0'}\n")
	properties("needed", "dependencies:\n- type: olm.package\n  value: {packageName: alone, version: '>=1.0.0'}\n")
	properties("any", "dependencies:\n- type: olm.label\n  value: {label: blue}\n")
	// sailor needs a boat, and boats need sails. Who has another version of the API is read, and what it needs is not;
	// who only has an object of the API is not read at all.
	boat := func(version string) string { return "{group: x.io, version: " + version + ", kind: Boat}" }
	properties("sailor", "dependencies:\n- type: olm.gvk\n  value: "+boat("v1")+"\n")
	properties("boats", "dependencies:\n- type: olm.constraint\n  value: {failureMessage: no sails, all: {constraints: [{gvk: {group: sails.x.io, kind: Sail, version: v1}}, {package: {packageName: alone, versionRange: '>=1.0.0'}}]}}\n")
	properties("port", "dependencies:\n- type: olm.package\n  value: {packageName: broken, version: '>=1.0.0'}\n")
	files["operators/port/1.0.0/metadata/properties.yaml"] = "properties:\n- type: olm.gvk\n  value: " + boat("v2") + "\n"
	files["operators/boats/1.0.0/metadata/properties.yaml"] = "properties:\n- {type: olm.gvk, value: {\"kind\":\"Boat\",\"group\":\"x.io\",\"version\":\"v1\"}}\n"
	files["operators/sails/1.0.0/manifests/crd.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: sails.sails.x.io}\n" +
		"spec:\n  group: sails.x.io\n  scope: Namespaced\n  names: {kind: Sail, plural: sails, singular: sail, listKind: SailList}\n" +
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"
	files["operators/mentions/1.0.0/manifests/boat.yaml"] = "apiVersion: x.io/v1\nkind: Boat\nmetadata: {name: a}\n"
	files["operators/broken/1.0.0/manifests/csv.yaml"] = "{"
	files["operators/alone/ci.yaml"] = "updateGraph: semver-mode\n"
	files["operators/broken/ci.yaml"] = "updateGraph: wrong\n"
	// Its annotations are not written as everybody writes them.
	files["operators/odd/1.0.0/metadata/annotations.yaml"] = "{annotations: {operators.operatorframework.io.bundle.package.v1: odd, operators.operatorframework.io.bundle.channels.v1: stable}}\n"
	files["operators/odd/1.0.0/manifests/csv.yaml"] = strings.ReplaceAll(files["operators/alone/1.0.0/manifests/csv.yaml"], "alone", "odd")
	dir := t.TempDir()
	writeFiles(t, dir, files)
	for asked, want := range map[string]string{
		"alone":        "alone; 0 faulty",
		"needs":        "alone needed needs; 0 faulty",
		"any":          "alone any boats mentions needed needs odd port sailor sails; 3 faulty",
		"sailor":       "alone boats port sailor sails; 0 faulty",
		"sails":        "sails; 0 faulty",
		"port":         "port; 2 faulty",
		"broken":       "; 2 faulty",
		"odd":          "odd; 0 faulty",
		"nobody":       "; 0 faulty",
		"needs alone!": "alone needs; 0 faulty",
		"any!":         "any; 0 faulty",
		"":             "alone any boats mentions needed needs odd port sailor sails; 3 faulty",
	} {
		names, alone := strings.CutSuffix(asked, "!")
		c, err := catalog.Read(t.Context(), filepath.Join(dir, "operators"), catalog.Options{Only: strings.Fields(names), Alone: alone})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s; %d faulty", strings.Join(c.Names(), " "), len(c.Faulty)); got != want {
			t.Errorf("%q: got %q, want %q: %v", asked, got, want, c.Faulty)
		}
	}
}

// Each package of the corpus is the same, whether all are read or only this one and those that it may need.
func TestCorpusOnly(t *testing.T) {
	root := filepath.Join(corpustest.Root(t), "bundles")
	all, err := catalog.Read(t.Context(), root, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cache, alone := &catalog.Cache{}, 0
	for i, name := range all.Names() {
		if i%7 != 0 && !corpustest.Whole(t) {
			continue
		}
		c, err := catalog.Read(t.Context(), root, catalog.Options{Only: []string{name}, Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Packages) == 1 {
			alone++
		}
		for _, p := range c.Packages {
			if got, want := edges(p), edges(all.Packages[p.Name]); got != want {
				t.Errorf("%s: %s: got %s, want %s", name, p.Name, got, want)
			}
		}
		if got := slices.Sorted(maps.Keys(c.Packages)); !slices.Contains(got, name) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if alone == 0 {
		t.Error("no package is read alone")
	}
}

// A file that cannot be opened shows that it is not.
func TestOnlyOpensNothingElse(t *testing.T) {
	files := map[string]string{}
	versionDir(files, "a", "1.0.0", "stable", "")
	versionDir(files, "b", "1.0.0", "stable", "")
	dir := t.TempDir()
	writeFiles(t, dir, files)
	pipe := filepath.Join(dir, "operators", "b", "1.0.0", "manifests", "csv.yaml")
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	for asked, faulty := range map[string]int{"a": 0, "b": 1} {
		c, err := catalog.Read(t.Context(), filepath.Join(dir, "operators"), catalog.Options{Only: []string{asked}})
		if asked == "a" && err != nil || err == nil && len(c.Faulty) != faulty {
			t.Errorf("%s: %v, %v", asked, err, c.Faulty)
		}
	}
}
