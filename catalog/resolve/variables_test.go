package resolve

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
)

// A channel without an order stops OLM only if it has a provider (OLM: resolver.go, sortBundles is given the channels of
// the providers).
func TestFindProviders(t *testing.T) {
	key, installed := sourceKey{"cat", "olm"}, sourceKey{existing, "ns"}
	e := func(source sourceKey, name, pkg string) *entry {
		return &entry{name: name, source: source, pkg: pkg, facts: &facts{}}
	}
	own := &snapshot{key: installed, entries: []*entry{e(installed, "x", "p"), e(installed, "y", "q")}}
	cat := &snapshot{key: key, entries: []*entry{e(key, "a", "a"), e(key, "x", "broken"), e(key, "y", "broken")}}
	w := &namespaceCatalogs{namespace: "ns", catalogs: []*snapshot{cat}}
	meets := func(list ...*entry) *requirement {
		return &requirement{test: func(e *entry) bool { return slices.Contains(list, e) }}
	}
	list, err := w.builder(own, nil).providers(cat.entries[0], meets(own.entries[0], own.entries[1], cat.entries[0]))
	if err != nil || named(list) != "x y a" {
		t.Errorf("%s, %v", named(list), err)
	}
	if list, err := w.builder(own, nil).providers(cat.entries[0], meets(cat.entries[2])); err == nil {
		t.Errorf("%s", named(list))
	}
}

// The rules come in the order of the APIs, then of the packages. With one bundle they limit nothing (OLM: resolver.go,
// addInvariants).
func TestExclude(t *testing.T) {
	key := sourceKey{"cat", "olm"}
	a := &entry{name: "a", source: key, facts: &facts{gvks: []catalog.GVK{{Kind: "Z"}, {Kind: "B"}}, packages: []packageFact{{name: "p"}}}}
	b := &entry{name: "b", source: key, facts: &facts{gvks: []catalog.GVK{{Kind: "Z"}}, packages: []packageFact{{name: "o"}}}}
	cat := &snapshot{key: key, entries: []*entry{a, b}}
	cat.index()
	x := (&namespaceCatalogs{catalogs: []*snapshot{cat}}).builder(&snapshot{}, nil)
	x.put(newBundle(a))
	x.put(newBundle(b))
	x.exclude()
	want := []string{a.id(), b.id(), "B (/)", "Z (/)", "o", "p"}
	if !slices.Equal(x.ids, want) {
		t.Errorf("%q", x.ids)
	}
	for _, id := range want[2:] {
		if n := len(x.variables[id].constraints); (n > 0) != (id == "Z (/)") {
			t.Errorf("%s: %d constraints", id, n)
		}
	}
}

// CSVs of one name, which two packages may have, are planned in the order of their catalogs.
func TestPlanOfOneName(t *testing.T) {
	v := func(id, pkg string) *variable { return &variable{id: id, entry: &entry{name: "x", pkg: pkg}} }
	step := (&State{}).plan([]*variable{v("2", "b"), v("1", "a")})
	if len(step.CSVs) != 2 || step.CSVs[0].Package != "a" {
		t.Errorf("%+v", step.CSVs)
	}
}

// A catalog that is empty, or is not there, has no operators. Of one whose other packages were not read, nobody says that.
func TestNothingSubscribed(t *testing.T) {
	bundles := filepath.Join("..", "..", "examples", "memcached-operator")
	unread, err := catalog.Read(t.Context(), bundles, catalog.Options{Only: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		catalogs map[string]*catalog.Catalog
		want     string
	}{
		{"not there", nil, "no operators found from catalog cat"},
		{"empty", map[string]*catalog.Catalog{"cat": {}}, "no operators found from catalog cat"},
		{"not read", map[string]*catalog.Catalog{"cat": unread}, "no operators found in package a"},
		{"empty, and another is not read", map[string]*catalog.Catalog{"cat": {}, "other": unread}, "no operators found from catalog cat"},
	} {
		w := &namespaceCatalogs{namespace: "ns"}
		for name, content := range c.catalogs {
			s := &snapshot{key: sourceKey{name, "olm"}}
			s.addCatalog(Source{Catalog: content})
			w.catalogs = append(w.catalogs, s)
		}
		sub := &Subscription{Name: "s", Package: "a", Source: "cat", SourceNamespace: "olm"}
		if _, got := w.builder(&snapshot{}, nil).subscribed(sub, nil); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An entry is of the package that has it in the catalog, and of those that its properties name, with the versions of each
// (OLM: pkg/controller/registry/resolver/cache/predicates.go, PkgPredicate and VersionInRangePredicate).
func TestRequirePackage(t *testing.T) {
	one, two := semver.MustParse("1.0.0"), semver.MustParse("2.0.0")
	e := &entry{pkg: "a", version: &one, facts: &facts{packages: []packageFact{{name: "b", version: &two}}}}
	for _, c := range []struct {
		pkg, versions string
		want          bool
	}{
		{"a", "1.0.0", true}, {"b", "1.0.0", true}, {"c", "1.0.0", false},
		{"a", "2.0.0", true}, {"b", "2.0.0", true}, {"a", ">2.0.0", false},
	} {
		r, err := requirePackage(c.pkg, c.versions)
		if err != nil {
			t.Fatal(err)
		}
		if r.test(e) != c.want {
			t.Errorf("%s %s: %v", c.pkg, c.versions, !c.want)
		}
	}
}
