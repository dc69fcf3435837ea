package resolve

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/catalog"
)

// opm refuses a bundle without a version. What is said about updates leaves it out.
func TestValidateWithoutVersion(t *testing.T) {
	const file = `---
{schema: olm.package, name: a, defaultChannel: stable}
---
{schema: olm.channel, package: a, name: stable, entries: [{name: none, skipRange: <2.0.0}, {name: a.v1, replaces: none}, {name: a.v2, replaces: a.v1}]}
---
{schema: olm.channel, package: a, name: below, entries: [{name: a.v2, skipRange: <2.0.0}, {name: none, replaces: a.v2}]}
---
{schema: olm.channel, package: a, name: x-1.0, entries: [{name: none}]}
---
{schema: olm.channel, package: a, name: x-1.1, entries: [{name: a.v2}]}
---
{schema: olm.channel, package: a, name: unreadable, entries: [{name: list}]}
---
{schema: olm.bundle, package: a, name: list, image: i, properties: [{type: olm.package, value: []}]}
---
{schema: olm.bundle, package: a, name: none, image: i}
---
{schema: olm.bundle, package: a, name: a.v1, image: i, properties: [{type: olm.package, value: {packageName: a, version: 1.0.0}},
  {type: olm.deprecated, value: {}}]}
---
{schema: olm.bundle, package: a, name: a.v2, image: i, properties: [{type: olm.package, value: {packageName: a, version: 2.0.0}}]}
`
	c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(file)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Validate(c) {
		switch f.Rule {
		case ruleCannotReach.ID, ruleSelf.ID, ruleDowngrade.ID, ruleNextChannel.ID:
			t.Errorf("%+v", f)
		}
	}
}

// Without a default channel, a range chooses among all channels, by their names.
func TestStartingCSV(t *testing.T) {
	list := &snapshot{}
	const file = `---
{schema: olm.package, name: a}
---
{schema: olm.channel, package: a, name: yy, entries: [{name: a.v2}]}
---
{schema: olm.channel, package: a, name: xx, entries: [{name: a.v1}]}
---
{schema: olm.bundle, package: a, name: a.v1, image: i, properties: [{type: olm.package, value: {packageName: a, version: 1.0.0}}]}
---
{schema: olm.bundle, package: a, name: a.v2, image: i, properties: [{type: olm.package, value: {packageName: a, version: 2.0.0}}]}
`
	c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(file)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list.addCatalog(Source{Catalog: c})
	for _, s := range []struct{ channel, versions, want string }{
		{"", ">=1.0.0", "a.v1"}, {"", ">1.0.0", "a.v2"}, {"yy", ">=1.0.0", "a.v2"}, {"xx", ">1.0.0", ""}} {
		if got, err := startingCSV(list.entries, s.channel, s.versions); got != s.want || (err == nil) != (s.want != "") {
			t.Errorf("%q, %s: %s, %v", s.channel, s.versions, got, err)
		}
	}
}

// What is left of a package after opm's words about it is not said again; what is wrong with a bundle of it is.
func TestValidateSaidOnce(t *testing.T) {
	files := fstest.MapFS{"c.yaml": {Data: []byte("---\n{schema: olm.package, name: a, defaultChannel: stable}\n")}}
	c, err := catalog.ReadFS(t.Context(), files, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Faulty = []catalog.Faulty{{Package: "a", All: true, Err: errors.New("all of a")}, {Package: "a", Err: errors.New("a bundle of a")},
		{Package: "b", All: true, Err: errors.New("all of b")}}
	var got []string
	for _, f := range Validate(c) {
		if f.Rule == ruleBundle.ID {
			got = append(got, f.Object)
		}
	}
	if want := []string{"Package a", "Package b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A bundle that cannot be read is a finding of its package, if that is known.
func TestValidateUnreadable(t *testing.T) {
	c := &catalog.Catalog{Faulty: []catalog.Faulty{{Package: "a", Missing: true, Err: errors.New("no CSV")}, {Err: errors.New("no bundle")}}}
	var got []string
	for _, f := range Validate(c) {
		got = append(got, f.Object+": "+f.Message)
	}
	slices.Sort(got)
	if len(got) != 2 || !strings.HasPrefix(got[0], ": no bundle") || !strings.HasPrefix(got[1], "Package a: no CSV") {
		t.Errorf("%q", got)
	}
}
