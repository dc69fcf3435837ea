package resolve_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/manifest"
)

// chain is a catalog with one package. An entry is written as in a catalog, without its braces.
func chain(t *testing.T, properties map[string]string, channels map[string][]string) *catalog.Catalog {
	t.Helper()
	var b strings.Builder
	b.WriteString("{schema: olm.package, name: a, defaultChannel: stable}\n")
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		entries := channels[name]
		fmt.Fprintf(&b, "---\nschema: olm.channel\npackage: a\nname: %s\nentries:\n", name)
		for _, e := range entries {
			fmt.Fprintf(&b, "- {%s}\n", e)
		}
		for _, e := range entries {
			csv, _, _ := strings.Cut(strings.TrimPrefix(e, "name: "), ",")
			if seen[csv] {
				continue
			}
			seen[csv] = true
			fmt.Fprintf(&b, "---\nschema: olm.bundle\npackage: a\nname: %s\nimage: x/a:1\nproperties:\n"+
				"- {type: olm.package, value: {packageName: a, version: %s}}\n%s", csv, strings.TrimPrefix(csv, "a.v"), properties[csv])
		}
	}
	c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": &fstest.MapFile{Data: []byte("---\n" + b.String())}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPath(t *testing.T) {
	for name, c := range map[string]struct {
		properties map[string]string
		entries    []string
		from, to   string
		end        resolve.PathEnd
		want       string
	}{
		"replaces": {nil, []string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0", "name: a.v1.2.0, replaces: a.v1.1.0"},
			"1.0.0", "", resolve.AtHead, `a, channel stable, from a.v1.0.0
  a.v1.0.0 -> a.v1.1.0: replaces a.v1.0.0
  a.v1.1.0 -> a.v1.2.0: replaces a.v1.1.0
  a.v1.2.0 is the head of channel stable
`},
		"skipRange": {nil, []string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0",
			"name: a.v1.2.0, replaces: a.v1.1.0, skipRange: '<1.2.0'"}, "a.v1.0.0", "", resolve.AtHead, `a, channel stable, from a.v1.0.0
  a.v1.0.0 -> a.v1.2.0: skipRange contains 1.0.0, the version of a.v1.0.0
      passes over a.v1.1.0
  a.v1.2.0 is the head of channel stable
`},
		"target": {nil, []string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0", "name: a.v1.2.0, replaces: a.v1.1.0"},
			"1.0.0", "1.1.0", resolve.AtTarget, `a, channel stable, from a.v1.0.0
  a.v1.0.0 -> a.v1.1.0: replaces a.v1.0.0
  a.v1.1.0 is reached
`},
		"passed": {nil, []string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0",
			"name: a.v1.2.0, replaces: a.v1.1.0, skips: [a.v1.0.0, a.v0.9.0]"}, "0.9.0", "1.1.0", resolve.OutOfReach,
			`a, channel stable, from a.v0.9.0
  a.v0.9.0 -> a.v1.2.0: skips a.v0.9.0
  a.v1.1.0 is not on the way to the head
`},
		"passed over": {nil, []string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0",
			"name: a.v1.2.0, replaces: a.v1.1.0, skipRange: '<1.1.0'"}, "1.0.0", "1.1.0", resolve.PassedOver,
			`a, channel stable, from a.v1.0.0
  a.v1.0.0 -> a.v1.2.0: skipRange contains 1.0.0, the version of a.v1.0.0
      passes over a.v1.1.0
  OLM does not stop at a.v1.1.0: it goes to the entry nearest the head that updates what is installed
`},
		"deprecated": {map[string]string{"a.v1.1.0": "- {type: olm.deprecated, value: {}}\n"},
			[]string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0", "name: a.v1.2.0, replaces: a.v1.1.0"},
			"1.0.0", "", resolve.Stuck, `a, channel stable, from a.v1.0.0
  nothing in channel stable updates a.v1.0.0; the head is a.v1.2.0
`},
		"stuck before the target": {map[string]string{"a.v1.1.0": "- {type: olm.deprecated, value: {}}\n"},
			[]string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0", "name: a.v1.2.0, replaces: a.v1.1.0"},
			"1.0.0", "1.2.0", resolve.Stuck, `a, channel stable, from a.v1.0.0
  nothing in channel stable updates a.v1.0.0; the head is a.v1.2.0
`},
		"a head whose skipRange contains itself": {nil, []string{"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0, skipRange: '<=1.1.0'"},
			"1.1.0", "", resolve.AtHead, `a, channel stable, from a.v1.1.0
  a.v1.1.0 is the head of channel stable
`},
		"cycle": {nil, []string{"name: a.v1.0.0, skipRange: '>1.0.0'", "name: a.v1.1.0, replaces: a.v1.0.0"},
			"1.0.0", "", resolve.GoesRound, `a, channel stable, from a.v1.0.0
  a.v1.0.0 -> a.v1.1.0: replaces a.v1.0.0
  a.v1.1.0 -> a.v1.0.0: skipRange contains 1.1.0, the version of a.v1.1.0
      the version goes down
  OLM updates forever: it returns to a.v1.0.0, because skipRange has no direction
`},
		"each range is open": {nil, []string{"name: a.v1.0.0, skipRange: '>=0.1.0'", "name: a.v1.1.0, replaces: a.v1.0.0, skipRange: '>=0.1.0'"},
			"1.0.0", "", resolve.AtHead, `a, channel stable, from a.v1.0.0
  a.v1.0.0 -> a.v1.1.0: replaces a.v1.0.0
  a.v1.1.0 is the head of channel stable
`},
		"each range is open, and the head is deprecated": {map[string]string{"a.v1.1.0": "- {type: olm.deprecated, value: {}}\n"},
			[]string{"name: a.v1.0.0, skipRange: '>=0.1.0'", "name: a.v1.1.0, replaces: a.v1.0.0, skipRange: '>=0.1.0'"},
			"1.1.0", "", resolve.Stuck, `a, channel stable, from a.v1.1.0
  a.v1.1.0 -> a.v1.0.0: skipRange contains 1.1.0, the version of a.v1.1.0
      a.v1.1.0 has the property olm.deprecated, so OLM passes it over
      the version goes down
  nothing in channel stable updates a.v1.0.0; the head is a.v1.1.0
`},
		"a version above the head": {nil, []string{"name: a.v1.0.0, skipRange: '>=0.1.0'"},
			"1.1.0", "", resolve.AtHead, `a, channel stable, from a.v1.1.0
  a.v1.1.0 -> a.v1.0.0: skipRange contains 1.1.0, the version of a.v1.1.0
      the version goes down
  a.v1.0.0 is the head of channel stable
`},
	} {
		t.Run(name, func(t *testing.T) {
			content := chain(t, c.properties, map[string][]string{"stable": c.entries})
			p, err := resolve.PathOf(content, "a", "", c.from, c.to)
			if err != nil {
				t.Fatal(err)
			}
			if c.to == "" {
				sameAsRun(t, content, p)
			}
			var got bytes.Buffer
			if err := print.Report(&got, p, findings.Text); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got.String()); d != "" || p.End != c.end {
				t.Errorf("end %s (-want +got):\n%s", p.End, d)
			}
			if p.Good() != (c.end == resolve.AtTarget || c.end == resolve.AtHead) {
				t.Errorf("end %s is good: %v", p.End, p.Good())
			}
		})
	}
}

// sameAsRun compares a path with what the resolver does with the same catalog.
func sameAsRun(t *testing.T, c *catalog.Catalog, p *resolve.Path) {
	t.Helper()
	r, err := resolve.Run(t.Context(), &resolve.State{Namespace: "n", OperatorGroups: 1,
		Catalogs: []resolve.Source{{Name: "c", Namespace: "n", Catalog: c}},
		CSVs:     []resolve.CSV{{Name: p.From, Version: strings.TrimPrefix(p.From, "a.v"), Phase: "Succeeded"}},
		Subscriptions: []resolve.Subscription{{Name: "s", Package: "a", Channel: "stable", Source: "c", SourceNamespace: "n",
			InstalledCSV: p.From, CurrentCSV: p.From}}}, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	moves := func(list []resolve.PathStep) (names []string) {
		for _, s := range list {
			names = append(names, s.From+" -> "+s.To)
		}
		return names
	}
	if d := cmp.Diff(moves(r.StepsOf("s")), moves(p.Steps)); d != "" || (r.Outcome == resolve.Cycle) != (p.End == resolve.GoesRound) {
		t.Errorf("the resolver says %s (-resolver +path):\n%s", r.Outcome, d)
	}
}

func TestPathErrors(t *testing.T) {
	c := chain(t, nil, map[string][]string{"stable": {"name: a.v1.0.0"}})
	for _, e := range []struct{ pkg, channel, from, want string }{
		{"bcd", "", "1.0.0", "the catalog has no package bcd"},
		{"aa", "", "1.0.0", "the catalog has no package aa"},
		{"a", "fast", "1.0.0", `package "a" has no channel "fast"; there are stable`},
		{"a", "", "some", "some is neither a version nor the name of a bundle in the catalog"},
	} {
		_, err := resolve.PathOf(c, e.pkg, e.channel, e.from, "")
		if err == nil || err.Error() != e.want {
			t.Errorf("%v, want %s", err, e.want)
		}
		if _, hinted := errors.AsType[*manifest.HintError](err); hinted != (e.pkg == "aa") {
			t.Errorf("%v has a hint: %v", err, hinted)
		}
	}
}

func TestValidate(t *testing.T) {
	c := chain(t, map[string]string{
		"a.v1.0.0": "- {type: olm.pakage, value: 1}\n- {type: own, value: 1}\n- {type: olm.package.required, value: {packageName: b, versionRange: '>1.0.0'}}\n",
		"a.v1.1.0": "- {type: olm.constraint, value: {cel: {rule: '1'}}}\n",
		"a.v1.2.0": "- {type: olm.constraint, value: {not: {constraints: [{package: {packageName: b, versionRange: '>1.0.0'}}]}}}\n",
	}, map[string][]string{
		"stable":     {"name: a.v1.0.0, replaces: a.v0.9.0", "name: a.v1.1.0, replaces: a.v1.0.0, skipRange: '<=1.2.0'", "name: a.v1.2.0, replaces: a.v1.1.0"},
		"stable-1.0": {"name: a.v1.0.0"},
		"stable-1.3": {"name: a.v1.3.0"},
		"fast-1.0":   {"name: a.v1.0.0"},
		"fast-1.1":   {"name: a.v1.1.0, skips: [a.v1.0.0], skipRange: '<1.1.0'"},
		"fast-1.2":   {"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0, skipRange: '<1.0.0'"},
		"slow-1.0":   {"name: a.v1.0.0", "name: a.v1.1.0"},
		"slow-1.1":   {"name: a.v1.1.0"},
		"open":       {"name: a.v1.0.0, skipRange: '>=0.1.0'", "name: a.v1.1.0, replaces: a.v1.0.0, skipRange: '>=0.1.0'"},
		"odd":        {"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0", "name: a.v1.2.0, replaces: a.v1.0.0, skips: [a.v1.1.0]"},
		"loose":      {"name: a.v1.0.0", "name: a.v1.1.0, skips: [a.v1.0.1]", "name: a.v1.2.0, replaces: a.v1.1.0, skips: [a.v1.0.0]", "name: a.v1.3.0, replaces: a.v1.2.0, skips: [a.v9.9.9]"},
		"broken":     {"name: a.v1.0.0", "name: a.v1.1.0"},
	})
	got := map[string][]string{}
	for _, f := range resolve.Validate(c) {
		got[f.Rule] = append(got[f.Rule], f.Object+": "+f.Message)
		if f.File == "" || f.Line == 0 {
			t.Errorf("no place: %v", f)
		}
	}
	want := map[string][]string{
		"unknown-property":    {"Bundle a.v1.0.0: OLM ignores the property olm.pakage"},
		"bad-constraint":      {"Bundle a.v1.1.0: olm.constraint: convert olm.constraint to resolver predicate: cel expressions must have type Bool"},
		"not-forbids-nothing": {"Bundle a.v1.2.0: any other bundle satisfies the olm.constraint not: with package: b and with version in range: >1.0.0"},
		"dangling-replaces":   {"Channel a/stable: a.v1.0.0 replaces a.v0.9.0, which is not in the channel"},
		"skip-range-covers-itself": {"Channel a/open: the skipRange of a.v1.0.0 contains its own version",
			"Channel a/open: the skipRange of a.v1.1.0 contains its own version",
			"Channel a/stable: the skipRange of a.v1.1.0 contains its own version"},
		"skip-range-downgrade":      {"Channel a/stable: the skipRange of a.v1.1.0 contains 1.2.0, the version of the newer a.v1.2.0"},
		"several-replacements":      {"Channel a/odd: a.v1.0.0 is replaced by a.v1.1.0 and a.v1.2.0"},
		"next-channel-out-of-reach": {"Channel a/stable-1.3: nothing in it updates a.v1.0.0, the head of channel stable-1.0"},
		"several-heads": {`Package a: invalid channel "broken": multiple channel heads found in graph: a.v1.0.0, a.v1.1.0`,
			`Package a: invalid channel "slow-1.0": multiple channel heads found in graph: a.v1.0.0, a.v1.1.0`},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// An old registry serves an entry that is behind a skipped one, and nothing updates the one that skips name alone.
	c = chain(t, map[string]string{"a.v1.1.0": "- {type: olm.deprecated, value: {}}\n"},
		map[string][]string{"stable": {"name: a.v1.0.0, skipRange: '<=1.0.0'", "name: a.v1.1.0, replaces: a.v1.0.0", "name: a.v1.2.0, replaces: a.v1.1.0"}})
	list := resolve.Validate(c)
	if len(list) != 2 || list[1].Rule != "skip-range-covers-itself" || list[0].Rule != "head-out-of-reach" ||
		list[0].Message != "nothing updates a.v1.0.0; the head is a.v1.2.0" {
		t.Errorf("%v", list)
	}
}

func TestInstall(t *testing.T) {
	c := chain(t, nil, map[string][]string{
		"stable": {"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0"}, "fast": {"name: a.v2.0.0"}})
	for what, want := range map[string]string{
		"a":                "a stable  olm/two",
		"a:fast":           "a fast  olm/two",
		"a@<1.1.0":         "a stable a.v1.0.0 olm/two",
		"a@1.x:stable":     "a stable a.v1.1.0 olm/two",
		"a@>=3.0.0":        "package a: no version of channel stable is in the range >=3.0.0; there are 1.1.0, 1.0.0",
		"a@^1":             `"^1" is not a range of versions`,
		"a:slow":           "package a has no channel slow; there are fast, stable",
		"b":                "no catalog that namespace ns sees has package b",
		"":                 `"" names no package`,
		"a@>=1.0.0 <1.1.0": "a stable a.v1.0.0 olm/two",
	} {
		s := &resolve.State{Namespace: "ns", GlobalNamespace: "olm", Catalogs: []resolve.Source{
			{Name: "one", Namespace: "olm", Catalog: c}, {Name: "two", Namespace: "olm", Priority: 1, Catalog: c}}}
		var got string
		if err := s.Install(what); err != nil {
			got = err.Error()
		} else {
			sub := s.Subscriptions[0]
			got = fmt.Sprintf("%s %s %s %s/%s", sub.Name, sub.Channel, sub.StartingCSV, sub.SourceNamespace, sub.Source)
			if err := s.Install(what); err == nil {
				t.Errorf("%s: a second time is no error", what)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
}

// A namespace has one Subscription of a package, and no two of one name.
func TestInstallAgain(t *testing.T) {
	c := chain(t, nil, map[string][]string{"stable": {"name: a.v1.0.0"}})
	for sub, refused := range map[resolve.Subscription]bool{
		{Name: "mine", Package: "a"}: true, {Name: "a", Package: "b"}: true, {Name: "b", Package: "b"}: false} {
		s := &resolve.State{Namespace: "ns", Catalogs: []resolve.Source{{Name: "one", Namespace: "ns", Catalog: c}},
			Subscriptions: []resolve.Subscription{sub}}
		if err := s.Install("a"); (err != nil) != refused {
			t.Errorf("%+v: %v", sub, err)
		}
	}
}

// Of catalogs with one priority, OLM prefers that of the namespace (OLM: cache/cache.go, sortableSnapshots.Less).
func TestInstallFromNearest(t *testing.T) {
	c := chain(t, nil, map[string][]string{"stable": {"name: a.v1.0.0"}})
	s := &resolve.State{Namespace: "ns", GlobalNamespace: "olm", Catalogs: []resolve.Source{
		{Name: "first", Namespace: "olm", Catalog: c}, {Name: "second", Namespace: "ns", Catalog: c}}}
	if err := s.Install("a"); err != nil || s.Subscriptions[0].Source != "second" {
		t.Errorf("%v, %+v", err, s.Subscriptions)
	}
	err := s.Install("ab")
	if _, hinted := errors.AsType[*manifest.HintError](err); !hinted {
		t.Errorf("%v has no hint", err)
	}
	err = s.Install("other")
	if _, hinted := errors.AsType[*manifest.HintError](err); err == nil || hinted {
		t.Errorf("%v has a hint", err)
	}
}

// A walk of so many steps ends there, even if nothing more would change.
func TestSteps(t *testing.T) {
	c := chain(t, nil, map[string][]string{"stable": {"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0", "name: a.v1.2.0, replaces: a.v1.1.0"}})
	for steps, want := range map[int]resolve.Outcome{0: resolve.Settled, 1: resolve.Stopped, 3: resolve.Stopped, 4: resolve.Settled} {
		s := &resolve.State{Namespace: "ns", OperatorGroups: 1, Catalogs: []resolve.Source{{Name: "c", Namespace: "ns", Catalog: c}},
			Subscriptions: []resolve.Subscription{{Name: "a", Package: "a", Source: "c", SourceNamespace: "ns", StartingCSV: "a.v1.0.0"}}}
		r, err := resolve.Run(t.Context(), s, resolve.Options{Steps: steps})
		if err != nil || r.Outcome != want || steps > 0 && len(r.Steps) > steps {
			t.Errorf("%d: %+v, %v", steps, r, err)
		}
	}
}

// A finding without a failure that says it is printed.
func TestPrintNoSolution(t *testing.T) {
	for _, r := range []*resolve.Result{
		{Findings: []findings.Finding{{Rule: "no-solution", Message: "it is printed"}}},
		{Findings: []findings.Finding{{Rule: "no-solution", Message: "it is printed"}}, Walk: resolve.Walk{Failure: &resolve.Failure{}}},
	} {
		report := &resolve.Report{}
		report.Add("", "ns", r)
		var got bytes.Buffer
		if err := print.Report(&got, report, findings.Text); err != nil || !strings.Contains(got.String(), "it is printed") {
			t.Errorf("%v\n%s", err, got.String())
		}
	}
}

// A name that the channel only replaces has no version: nothing is said about its direction.
func TestPathOfReplacedName(t *testing.T) {
	c := chain(t, nil, map[string][]string{"stable": {"name: a.v1.0.0, replaces: a.old", "name: a.v1.1.0, replaces: a.v1.0.0"}})
	p, err := resolve.PathOf(c, "a", "", "a.old", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) != 2 || p.Steps[0].To != "a.v1.0.0" || len(p.Steps[0].Notes) > 0 {
		t.Errorf("%+v", p)
	}
}

// Without a version, the path begins with a fresh install, which passes over what is deprecated.
func TestPathOfFreshInstall(t *testing.T) {
	channels := map[string][]string{"stable": {"name: a.v1.0.0", "name: a.v1.1.0, replaces: a.v1.0.0"}}
	path, err := resolve.PathOf(chain(t, nil, channels), "a", "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(path.Steps) != 1 || path.Steps[0].To != "a.v1.1.0" || path.Steps[0].Version != "1.1.0" || path.From != "" || path.End != resolve.AtHead {
		t.Errorf("%+v", path)
	}
	deprecated := func(names ...string) map[string]string {
		out := map[string]string{}
		for _, name := range names {
			out[name] = "- {type: olm.deprecated, value: {}}\n"
		}
		return out
	}
	if path, err = resolve.PathOf(chain(t, deprecated("a.v1.1.0"), channels), "a", "", "", ""); err != nil {
		t.Fatal(err)
	}
	if len(path.Steps) != 1 || path.Steps[0].To != "a.v1.0.0" || len(path.Steps[0].Notes) != 1 || path.Good() {
		t.Errorf("%+v", path)
	}
	if path, err = resolve.PathOf(chain(t, deprecated("a.v1.1.0", "a.v1.0.0"), channels), "a", "", "", ""); err != nil {
		t.Fatal(err)
	}
	if len(path.Steps) != 0 || path.End != resolve.Refused {
		t.Errorf("%+v", path)
	}
}
