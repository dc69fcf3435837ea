package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/olm"
)

func named(entries []*entry) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	return strings.Join(names, " ")
}

// OLM: pkg/controller/registry/resolver/resolver.go, sortChannel.
func TestSortChannel(t *testing.T) {
	e := func(name, replaces string, skips ...string) *entry {
		return &entry{name: name, pkg: "p", channel: "c", updates: olm.NewEdges(replaces, skips, "")}
	}
	for _, c := range []struct {
		name       string
		entries    []*entry
		want, text string
	}{
		{"none", nil, "", ""},
		{"from the head along replaces", []*entry{e("a", ""), e("b", "a"), e("c", "b")}, "c b a", ""},
		{"replaces of what is not there", []*entry{e("b", "a"), e("c", "b")}, "c b", ""},
		{"skips of what is not there", []*entry{e("b", "", "a"), e("c", "b", "x")}, "c b", ""},
		{"without what is skipped", []*entry{e("a", ""), e("b", "a"), e("c", "b", "b")}, "c a", ""},
		{"an entry that skips the only other head", []*entry{e("a", ""), e("b", "", "a")}, "b", ""},
		{"an entry without a name is replaced by none", []*entry{e("", ""), e("b", "")}, "", "2 replacement chains"},
		{"two heads", []*entry{e("a", ""), e("b", ""), e("c", "b")}, "", "were found in channel \"c\" of package \"p\": a, c...b"},
		{"no head", []*entry{e("a", "b"), e("b", "a")}, "", "no channel heads"},
		{"a cycle below the head", []*entry{e("a", "b"), e("b", "a"), e("c", "b")}, "", "a cycle exists"},
	} {
		order, err := sortChannel(c.entries)
		if got := named(order); got != c.want || (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

// The default channel comes first, others by their names (OLM: resolver.go, sortBundles).
func TestSortSubscribed(t *testing.T) {
	e := func(name, channel, replaces string, isDefault bool) *entry {
		return &entry{name: name, pkg: "p", channel: channel, defaultChannel: isDefault, updates: olm.NewEdges(replaces, nil, "")}
	}
	order, err := sortSubscribed([]*entry{e("z1", "z", "", false), e("m1", "m", "", true), e("b1", "b", "", false), e("a2", "a", "a1", false),
		e("z2", "z", "z1", false), e("m2", "m", "m1", true), e("a1", "a", "", false)})
	if got := named(order); err != nil || got != "m2 m1 a2 a1 b1 z2 z1" {
		t.Errorf("%s, %v", got, err)
	}
}

// OLM prefers providers by catalog, default channel, package and channel (OLM: resolver.go, sortBundles).
func TestSortProviders(t *testing.T) {
	one, two := sourceKey{"one", "olm"}, sourceKey{"two", "olm"}
	e := func(name string, source sourceKey, pkg, channel string, isDefault bool) *entry {
		return &entry{name: name, source: source, pkg: pkg, channel: channel, defaultChannel: isDefault}
	}
	list := []*entry{e("1", one, "z", "m", true), e("2", one, "b", "y", false), e("3", one, "b", "x", false), e("4", one, "a", "z", true),
		e("5", two, "a", "a", true)}
	for range len(list) - 1 { // the catalogs come sorted: the second stays last
		list = append(append(slices.Clone(list[1:len(list)-1]), list[0]), list[len(list)-1])
		order, err := sortProviders(list)
		if got := named(order); err != nil || got != "4 1 3 2 5" {
			t.Errorf("%s: %s, %v", named(list), got, err)
		}
	}
}

// A version counts if the catalog has it, by a property or by the CSV.
func TestInRange(t *testing.T) {
	v1, v2 := semver.MustParse("1.0.0"), semver.MustParse("2.0.0")
	for _, c := range []struct {
		name     string
		versions []*semver.Version
		own      *semver.Version
		want     bool
	}{
		{"none", nil, nil, false},
		{"a property without a version", []*semver.Version{nil}, nil, false},
		{"of a property", []*semver.Version{nil, &v1}, &v2, true},
		{"its own", []*semver.Version{&v2}, &v1, true},
		{"others", []*semver.Version{&v2}, &v2, false},
	} {
		e := &entry{version: c.own, facts: &facts{}}
		for _, v := range c.versions {
			e.packages = append(e.packages, packageFact{"p", v})
		}
		if got := e.inRange(semver.MustParseRange("<2.0.0")); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A bundle is of the package of its catalog and of those of its properties.
func TestCovered(t *testing.T) {
	e := &entry{pkg: "a", facts: &facts{packages: []packageFact{{name: "b"}}}}
	for pkg, want := range map[string]bool{"a": true, "b": true, "c": false} {
		if got := (&builder{}).covered(e, func(p string) bool { return p == pkg }); got != want {
			t.Errorf("%s: %v", pkg, got)
		}
	}
}
