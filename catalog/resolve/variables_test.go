package resolve

import (
	"slices"
	"testing"

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
