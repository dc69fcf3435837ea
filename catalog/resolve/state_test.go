package resolve

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/olm"
)

// With fail forward, OLM follows the CSVs that replace one another (OLM: pkg/controller/registry/resolver/fail_forward.go).
func TestChainFails(t *testing.T) {
	csv := func(name, replaces, phase string) CSV { return CSV{Name: name, Replaces: replaces, Phase: phase} }
	for _, c := range []struct {
		name   string
		csvs   []CSV
		failed bool
		text   string
	}{
		{"alone", []CSV{csv("a", "", "Succeeded")}, false, ""},
		{"alone and failed", []CSV{csv("a", "", "Failed")}, true, ""},
		{"replaced by one that failed", []CSV{csv("a", "", "Replacing"), csv("b", "a", "Failed")}, true, ""},
		{"replaced by the first one", []CSV{csv("b", "a", "Failed"), csv("a", "", "Replacing")}, true, ""},
		{"replaced by one that succeeded", []CSV{csv("a", "", "Replacing"), csv("b", "a", "Succeeded")}, false, ""},
		{"a chain", []CSV{csv("a", "", "Replacing"), csv("c", "b", "Failed"), csv("b", "a", "Replacing")}, true, ""},
		{"not Replacing", []CSV{csv("a", "", "Succeeded"), csv("b", "a", "Failed")}, false, "csv ns/a in phase Succeeded instead of Replacing"},
		{"a cycle", []CSV{csv("a", "b", "Replacing"), csv("b", "a", "Replacing")}, false, "csv ns/a has already been seen"},
		{"a CSV without a name is replaced by none", []CSV{csv("", "", "Failed"), csv("b", "", "Succeeded")}, true, ""},
	} {
		s := &State{Namespace: "ns", CSVs: c.csvs}
		i := max(0, slices.IndexFunc(c.csvs, func(c CSV) bool { return c.Name == "a" }))
		failed, err := s.chainFails(c.csvs[i])
		if failed != c.failed || (err == nil) != (c.text == "") || err != nil && err.Error() != c.text {
			t.Errorf("%s: %v, %v", c.name, failed, err)
		}
	}
}

// OLM infers the package of a CSV without annotation from its Subscriptions, if they name one (OLM: source_csvs.go,
// inferProperties).
func TestInferred(t *testing.T) {
	sub := func(csv, pkg string) Subscription { return Subscription{InstalledCSV: csv, Package: pkg} }
	for _, c := range []struct {
		name    string
		subs    []Subscription
		version string
		want    string
	}{
		{"no Subscription", nil, "1.0.0", ""},
		{"one", []Subscription{sub("c", "p")}, "1.0.0", `{"packageName":"p","version":"1.0.0"}`},
		{"no version", []Subscription{sub("c", "p")}, "0.0.0", `{"packageName":"p","version":""}`},
		{"two of one package", []Subscription{sub("c", "p"), sub("c", "p")}, "1.0.0", `{"packageName":"p","version":"1.0.0"}`},
		{"two packages", []Subscription{sub("c", "p"), sub("c", "q")}, "1.0.0", ""},
		{"one of another CSV", []Subscription{sub("c", "p"), sub("d", "q")}, "1.0.0", `{"packageName":"p","version":"1.0.0"}`},
		{"one without a package", []Subscription{sub("c", ""), sub("c", "p")}, "1.0.0", `{"packageName":"p","version":"1.0.0"}`},
	} {
		s := &State{Subscriptions: c.subs}
		var got []string
		for _, p := range s.inferred(CSV{Name: "c"}, new(semver.MustParse(c.version))) {
			got = append(got, string(p.Value))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Each API is there once, in the order of its text.
func TestAPIProperties(t *testing.T) {
	z, a := catalog.GVK{Group: "z", Version: "v1", Kind: "K"}, catalog.GVK{Group: "a", Version: "v1", Kind: "K"}
	var got []string
	for _, p := range apiProperties("t", []catalog.GVK{z, a, z}) {
		got = append(got, p.Type+string(p.Value))
	}
	if d := cmp.Diff([]string{`t{"group":"a","version":"v1","kind":"K"}`, `t{"group":"z","version":"v1","kind":"K"}`}, got); d != "" {
		t.Error(d)
	}
}

// Required APIs and packages come again at the end, without other fields (operator-registry: pkg/api/model_to_api.go).
func TestPropertiesOf(t *testing.T) {
	b := &catalog.Bundle{Properties: []catalog.Property{
		{Type: olm.PropertyGVKRequired, Value: json.RawMessage(`{"group":"g","version":"v","kind":"k","other":1}`)},
		{Type: olm.PropertyPackageRequired, Value: json.RawMessage(`{"packageName":"q","versionRange":"1.0.0","other":1}`)},
		{Type: olm.PropertyPackageRequired, Value: json.RawMessage(`[]`)},
		{Type: olm.PropertyObject, Value: json.RawMessage(`{}`)},
	}}
	var got []string
	for _, p := range propertiesOf(b, "p") {
		got = append(got, strings.TrimPrefix(p.Type, "olm.")+" "+string(p.Value))
	}
	want := []string{
		`gvk.required {"group":"g","version":"v","kind":"k","other":1}`,
		`package.required {"packageName":"q","versionRange":"1.0.0","other":1}`,
		`package.required []`,
		`gvk.required {"group":"g","version":"v","kind":"k"}`,
		`package.required {"packageName":"q","versionRange":"1.0.0"}`,
		`package {"packageName":"p","version":""}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// OLM: pkg/controller/registry/resolver/step_resolver.go.
func TestMatches(t *testing.T) {
	e := &entry{pkg: "p", channel: "c", source: sourceKey{"cat", "olm"}}
	for _, c := range []struct {
		sub  Subscription
		want bool
	}{
		{Subscription{Package: "p", Channel: "c", Source: "cat", SourceNamespace: "olm"}, true},
		{Subscription{Package: "p", Source: "cat", SourceNamespace: "olm"}, true},
		{Subscription{Package: "p", Channel: "c"}, true},
		{Subscription{Package: "q", Channel: "c", Source: "cat", SourceNamespace: "olm"}, false},
		{Subscription{Package: "p", Channel: "d", Source: "cat", SourceNamespace: "olm"}, false},
		{Subscription{Package: "p", Channel: "c", Source: "cat", SourceNamespace: "ns"}, false},
	} {
		if c.sub.matches(e) != c.want {
			t.Errorf("%+v: %v", c.sub, !c.want)
		}
	}
}

func TestHas(t *testing.T) {
	s := &State{CSVs: []CSV{{Name: "a"}, {Name: ""}}}
	for name, want := range map[string]bool{"a": true, "b": false, "": false} {
		if s.has(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// A bundle is planned as long as one of its Subscriptions is not there yet.
func TestPlanOfTwoSubscriptions(t *testing.T) {
	e := &entry{name: "a.v1", pkg: "a", source: sourceKey{"cat", "olm"}, channel: "c"}
	s := &State{CSVs: []CSV{{Name: "a.v1"}}, Subscriptions: []Subscription{
		{Name: "one", Package: "a", CurrentCSV: "a.v0", InstalledCSV: "a.v0"}, {Name: "two", Package: "a", CurrentCSV: "a.v1", InstalledCSV: "a.v1"}}}
	step := s.plan([]*variable{{id: "a", entry: e}})
	if len(step.CSVs) != 1 || step.CSVs[0].Version != "" || !slices.Equal(step.Subscriptions, []Move{{"one", "a.v0", "a.v1"}}) {
		t.Errorf("%+v", step)
	}
	s.Subscriptions[0].CurrentCSV = "a.v1"
	if step := s.plan([]*variable{{id: "a", entry: e}}); len(step.CSVs) != 0 {
		t.Errorf("both are there: %+v", step)
	}
}

// What an InstallPlan brings takes the place of what it replaces, and of what that had replaced.
func TestApply(t *testing.T) {
	bundle := func(name, replaces string) Planned {
		return Planned{Name: name, Replaces: replaces, entry: &entry{bundle: &catalog.Bundle{Name: name}}}
	}
	for _, c := range []struct {
		name      string
		csvs      []CSV
		planned   []Planned
		installed string
		removed   string
	}{
		{"nothing replaced", []CSV{{Name: "a"}}, []Planned{bundle("b", "")}, "a b", ""},
		{"a copy", []CSV{{Name: "a"}, {Name: "of.elsewhere", Copied: true}}, []Planned{bundle("b", "")}, "a b", ""},
		{"what is not there", []CSV{{Name: "a"}}, []Planned{bundle("b", "x")}, "a b", ""},
		{"a chain", []CSV{{Name: "a"}, {Name: "b", Replaces: "a"}}, []Planned{bundle("c", "b")}, "c", "a b"},
		{"CSVs that replace each other", []CSV{{Name: "a", Replaces: "b"}, {Name: "b", Replaces: "a"}}, []Planned{bundle("c", "a")}, "c", "a b"},
		{"what comes again stays", []CSV{{Name: "a"}, {Name: "b"}}, []Planned{bundle("c", "b"), bundle("b", "a")}, "b c", "a"},
	} {
		s := &State{CSVs: c.csvs}
		next, step := s.apply(Step{CSVs: c.planned})
		if got := strings.Join(next.names(), " "); got != c.installed || strings.Join(step.Removed, " ") != c.removed {
			t.Errorf("%s: installed %s, removed %s", c.name, got, step.Removed)
		}
	}
}

// Subscriptions, those without a channel twice, and the originals that no Subscription installed.
func TestDeciders(t *testing.T) {
	s := &State{
		Subscriptions: []Subscription{{Channel: "c", InstalledCSV: "a"}, {}},
		CSVs:          []CSV{{Name: "a"}, {Name: "b"}, {Name: "c", Copied: true}},
	}
	if n := s.deciders(); n != 4 {
		t.Error(n)
	}
}

// OLM: pkg/controller/operators/catalog/subscription/reconciler.go, updateDeprecatedStatus.
func TestDeprecation(t *testing.T) {
	all := Deprecation{Package: "the package", Channel: "the channel", Bundle: "the bundle"}
	e := &entry{name: "a.v1", pkg: "a", channel: "c", facts: &facts{}, deprecations: all}
	snap := &snapshot{key: sourceKey{"cat", "olm"}, entries: []*entry{e}}
	snap.index()
	w := &namespaceCatalogs{hidden: []*snapshot{snap}}
	for _, c := range []struct {
		sub  Subscription
		want Deprecation
	}{
		{Subscription{Package: "a", Channel: "c", InstalledCSV: "a.v1", Source: "cat", SourceNamespace: "olm"}, all},
		{Subscription{Package: "a", InstalledCSV: "a.v1", Source: "cat", SourceNamespace: "olm"}, Deprecation{Package: "the package", Bundle: "the bundle"}},
		{Subscription{Package: "b", Channel: "c", InstalledCSV: "a.v1", Source: "cat", SourceNamespace: "olm"}, Deprecation{}},
		{Subscription{Package: "a", Channel: "d", InstalledCSV: "a.v1", Source: "cat", SourceNamespace: "olm"}, Deprecation{}},
		{Subscription{Package: "a", Channel: "c", InstalledCSV: "a.v2", Source: "cat", SourceNamespace: "olm"}, Deprecation{}},
		{Subscription{Package: "a", Channel: "c", InstalledCSV: "a.v1", Source: "other", SourceNamespace: "olm"}, Deprecation{}},
	} {
		if got := w.deprecation(&c.sub); got != c.want {
			t.Errorf("%+v: %+v", c.sub, got)
		}
	}
}

// A package is that of the CatalogSource that is named, if a catalog is known for it.
func TestPackageOfState(t *testing.T) {
	with := func(name string) *catalog.Catalog {
		return &catalog.Catalog{Packages: map[string]*catalog.Package{"p": {Name: name}}}
	}
	s := &State{Catalogs: []Source{
		{Name: "a", Namespace: "olm"},
		{Name: "b", Namespace: "other", Catalog: with("of b in other")},
		{Name: "b", Namespace: "olm", Catalog: &catalog.Catalog{}},
		{Name: "b", Namespace: "olm", Catalog: with("of b")},
		{Name: "c", Namespace: "olm", Catalog: with("of c")},
	}}
	for _, c := range []struct{ source, namespace, name, want string }{
		{"b", "olm", "p", "of b"},
		{"c", "olm", "p", "of c"},
		{"c", "olm", "q", ""},
		{"a", "olm", "p", ""},
		{"d", "olm", "p", ""},
	} {
		got := ""
		if p := s.Package(c.source, c.namespace, c.name); p != nil {
			got = p.Name
		}
		if got != c.want {
			t.Errorf("%v: %q", c, got)
		}
	}
}

// What is read of a catalog once serves any number of Sources and calls, also at the same time; it is that of its
// catalog only.
func TestPrepared(t *testing.T) {
	one := &catalog.Catalog{Packages: map[string]*catalog.Package{"p": {Name: "p", DefaultChannel: "c",
		Channels: []*catalog.Channel{{Name: "c", Entries: []catalog.Entry{{Name: "p.v1"}}}},
		Bundles:  []*catalog.Bundle{{Name: "p.v1", Properties: []catalog.Property{{Type: olm.PropertyPackage, Value: []byte(`{"packageName":"p","version":"1.0.0"}`)}}}}}}}
	prepared := Prepare(one)
	for _, c := range []struct {
		source Source
		want   int
	}{
		{Source{Name: "a", Namespace: "olm", Catalog: one, Prepared: prepared}, 1},
		{Source{Name: "b", Namespace: "olm", Catalog: one, Prepared: prepared}, 1},
		{Source{Name: "c", Namespace: "olm", Catalog: &catalog.Catalog{}, Prepared: prepared}, 0},
	} {
		for range 2 {
			s := &snapshot{key: sourceKey{c.source.Name, c.source.Namespace}}
			s.addCatalog(c.source)
			if len(s.entries) != c.want || len(s.byName["p.v1"]) != c.want {
				t.Fatalf("%s: %d entries, want %d", c.source.Name, len(s.entries), c.want)
			}
			for _, e := range s.entries {
				if e.source != s.key || e.converted {
					t.Errorf("%s has the entry of %s", c.source.Name, e.source)
				}
				e.converted = true
			}
		}
	}
}

// What a Subscription can choose from is unknown if its own catalog is, or if a release of its package is unreadable.
func TestUnknown(t *testing.T) {
	lacking := &catalog.Catalog{Faulty: []catalog.Faulty{{Package: "a", Missing: true, Err: errors.New("no CSV")}}}
	own, other := Source{Name: "cat", Namespace: "olm"}, Source{Name: "other", Namespace: "olm"}
	with := func(s Source, c *catalog.Catalog) Source { s.Catalog = c; return s }
	const unreadable = "a release of package a cannot be read: no CSV"
	for name, c := range map[string]struct {
		catalogs, unknown []Source
		want              string
	}{
		"nothing unknown":          {[]Source{with(own, &catalog.Catalog{})}, nil, ""},
		"its catalog":              {nil, []Source{own}, "the content of CatalogSource olm/cat is not known"},
		"another catalog":          {nil, []Source{other}, ""},
		"a release of it":          {[]Source{with(own, lacking)}, nil, unreadable},
		"a release of another one": {[]Source{with(other, lacking)}, nil, ""},
		"not connected":            {[]Source{own, with(own, lacking)}, nil, unreadable},
	} {
		s := State{Namespace: "ns", Catalogs: c.catalogs, Unknown: c.unknown}
		if got := s.unknown(&Subscription{Package: "a", Source: "cat", SourceNamespace: "olm"}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
