package catalog_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/fuzztest"
)

const small = `---
schema: olm.package
name: a
defaultChannel: stable
---
schema: olm.channel
package: a
name: stable
entries:
- name: a.v1.0.0
- name: a.v1.1.0
  replaces: a.v1.0.0
  skips: [a.v1.0.1]
  skipRange: "<1.1.0"
---
schema: olm.bundle
package: a
name: a.v1.0.0
image: registry.example.com/a:1.0.0
properties:
- {type: olm.package, value: {packageName: a, version: 1.0.0}}
- {type: olm.bundle.object, value: {data: e30=}}
---
schema: olm.bundle
package: a
name: a.v1.1.0
image: registry.example.com/a:1.1.0
properties:
- {type: olm.package, value: {packageName: a, version: 1.1.0}}
- {type: olm.csv.metadata, value: {displayName: A}}
---
schema: olm.deprecations
package: a
entries:
- {reference: {schema: olm.bundle, name: a.v1.0.0}, message: too old}
---
schema: someone.else
whatever: true
`

func read(t *testing.T, text string, o catalog.Options) *catalog.Catalog {
	t.Helper()
	c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"x/catalog.yaml": &fstest.MapFile{Data: []byte(text)}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRead(t *testing.T) {
	c := read(t, small, catalog.Options{})
	if r := c.Refusal(); r != nil {
		t.Error(r)
	}
	p := c.Packages["a"]
	want := []catalog.Entry{
		{Place: catalog.Place{File: "x/catalog.yaml", Line: 10}, Name: "a.v1.0.0"},
		{Place: catalog.Place{File: "x/catalog.yaml", Line: 11}, Name: "a.v1.1.0", Replaces: "a.v1.0.0",
			Skips: []string{"a.v1.0.1"}, SkipRange: "<1.1.0"},
	}
	if d := cmp.Diff(want, p.Channel("stable").Entries); d != "" {
		t.Error(d)
	}
	if heads := p.Channel("stable").Heads(); len(heads) != 1 || heads[0].Name != "a.v1.1.0" {
		t.Errorf("heads: %v", heads)
	}
	if m := p.Deprecated("olm.bundle", "a.v1.0.0"); m != "too old" {
		t.Errorf("deprecation: %q", m)
	}
	for _, b := range p.Bundles {
		if len(b.Properties) != 1 {
			t.Errorf("%s: the body is not dropped: %v", b.Name, b.Properties)
		}
	}
}

// YAML in one file, JSON in many files and one file: the same model, but for the places.
func TestReadForms(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "all", "catalog.yaml"), small)
	var stream strings.Builder
	for i, doc := range []string{
		`{"schema":"olm.package","name":"a","defaultChannel":"stable"}`,
		`{"schema":"olm.channel","package":"a","name":"stable","entries":[{"name":"a.v1.0.0"}]}`,
		`{"schema":"olm.bundle","package":"a","name":"a.v1.0.0","image":"x/a:1","properties":[` +
			`{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}}]}`,
	} {
		writeFile(t, filepath.Join(dir, "many", string(rune('c'-i))+".json"), doc)
		stream.WriteString(doc + "\n")
	}
	writeFile(t, filepath.Join(dir, "one.json"), stream.String())
	var models []string
	for _, path := range []string{"many", "one.json"} {
		c, err := catalog.Read(t.Context(), filepath.Join(dir, path), catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r := c.Refusal(); r != nil {
			t.Errorf("%s: %v", path, r)
		}
		c.Packages["a"].Channels[0].Place = catalog.Place{}
		data, err := json.Marshal(c.Packages["a"].Channels)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, string(data))
	}
	if models[0] != models[1] {
		t.Error(cmp.Diff(models[0], models[1]))
	}
	if _, err := catalog.Read(t.Context(), filepath.Join(dir, "none"), catalog.Options{}); err == nil {
		t.Error("a missing directory is no error")
	}
	writeFile(t, filepath.Join(dir, "empty", "x.yaml"), "a: b\n")
	if _, err := catalog.Read(t.Context(), filepath.Join(dir, "empty"), catalog.Options{}); err == nil {
		t.Error("a directory without a catalog is no error")
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The words are opm's.
func TestRefusal(t *testing.T) {
	graph := func(lines ...string) string {
		return "build package index: process package \"a\": invalid index:\n└── invalid package \"a\":\n    " + strings.Join(lines, "\n    ")
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"several heads": {"  replaces: a.v1.0.0\n  skips: [a.v1.0.1]\n", "", graph(`└── invalid channel "stable":`,
			"    └── multiple channel heads found in graph: a.v1.0.0, a.v1.1.0")},
		"no head": {"- name: a.v1.0.0\n", "- {name: a.v1.0.0, replaces: a.v1.1.0}\n", graph(`└── invalid channel "stable":`,
			"    └── no channel head found in graph")},
		"stranded": {"- name: a.v1.0.0\n- name: a.v1.1.0\n  replaces: a.v1.0.0\n", "- {name: a.v1.0.0, replaces: a.v1.0.0}\n- name: a.v1.1.0\n",
			graph(`└── invalid channel "stable":`, "    └── channel contains one or more stranded bundles: a.v1.0.0")},
		"duplicate version": {"packageName: a, version: 1.1.0", "packageName: a, version: 1.0.0",
			graph("└── duplicate versions found in bundles: [{1.0.0: [a.v1.0.0, a.v1.1.0]}]")},
		"default channel": {"defaultChannel: stable", "defaultChannel: fast", graph(`└── invalid channel "fast":`,
			"    └── channel must contain at least one bundle")},
		"skipRange": {`"<1.1.0"`, `"^1"`, graph(`└── invalid channel "stable":`, `    └── invalid bundle "a.v1.1.0":`,
			`        └── invalid skipRange "^1": Could not parse Range "^1": Could not parse comparator "^" in "^1"`)},
		"no image": {"image: registry.example.com/a:1.1.0", "", graph(`└── invalid channel "stable":`,
			`    └── invalid bundle "a.v1.1.0":`, `        └── bundle image must be set`)},
		"package": {"name: a\ndefaultChannel", "name: b\ndefaultChannel",
			`build package index: process package "a": unknown package "a" for channel "stable"`},
		"twice": {"name: a.v1.1.0\nimage", "name: a.v1.0.0\nimage",
			`build package index: process package "a": package "a" has duplicate bundle "a.v1.0.0"`},
		"no entry": {"name: a.v1.1.0\nimage", "name: a.v1.2.0\nimage",
			`build package index: process package "a": package "a", bundle "a.v1.2.0" not found in any channel entries`},
		"deprecation": {"name: a.v1.0.0}, message", "name: a.v9.0.0}, message",
			`build package index: process package "a": cannot deprecate bundle "a.v9.0.0" for package "a": bundle not found`},
		"version": {"packageName: a, version: 1.1.0", "packageName: a, version: one",
			`build package index: process package "a": error parsing bundle "a.v1.1.0" version "one": No Major.Minor.Patch elements found`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(small, c.old, c.new, 1)
			if text == small {
				t.Fatal("nothing is replaced")
			}
			in := read(t, text, catalog.Options{})
			got := in.Refusal()
			if got == nil || got.Error() != c.want {
				t.Errorf("(-want +got):\n%s", cmp.Diff(c.want, got.Error()))
			}
			for _, f := range in.Faults() {
				if catalog.Rules[f.Rule] == "" {
					t.Errorf("there is no rule %s", f.Rule)
				}
				if f.Line == 0 {
					t.Errorf("no line: %v", f)
				}
			}
		})
	}
}

// A folder of bundles and a legacy package are catalogs too.
func TestReadBundles(t *testing.T) {
	c, err := catalog.Read(t.Context(), filepath.Join("..", "examples", "memcached-operator"), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Packages["memcached-operator"]
	if p == nil || len(p.Bundles) == 0 || len(p.Channels) == 0 || p.DefaultChannel == "" {
		t.Fatalf("%v", p)
	}
	if _, ok := p.Bundles[0].Version(); !ok || len(p.Bundles[0].Properties) < 2 {
		t.Errorf("properties: %v", p.Bundles[0].Properties)
	}
	if r := c.Refusal(); r != nil {
		t.Error(r)
	}
	legacy := filepath.Join("testdata", "packages", "nested")
	c, err = catalog.Read(t.Context(), legacy, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p = c.Packages["etcd"]
	if p == nil || len(p.Bundles) < 2 || len(p.Channels) == 0 {
		t.Fatalf("%v", p)
	}
	if heads := p.Channels[0].Heads(); len(heads) != 1 {
		t.Errorf("heads: %v", heads)
	}
}

// Memory does not grow with the bodies of bundles.
func TestReadMemory(t *testing.T) {
	fuzztest.Seconds(t)
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("QUFB", 100_000)
	const bundles = 200
	for i := range bundles {
		name := "a.v1." + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10))
		if _, err := f.WriteString(`{"schema":"olm.bundle","package":"a","name":"` + name + `","image":"x/a:1","properties":[` +
			`{"type":"olm.bundle.object","value":{"data":"` + body + `"}}]}` + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Read(t.Context(), dir, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 20<<20 {
		t.Errorf("%d MB are kept of a catalog of %d MB", m.HeapAlloc>>20, bundles*len(body)>>20)
	}
	if n := len(c.Packages["a"].Bundles); n != bundles {
		t.Errorf("%d bundles", n)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`{"schema":"olm.channel","package":"a","name":"x","entries":[{"name":"a","replaces":"a","skips":["",null]}]}`))
	f.Add([]byte("schema: olm.bundle\nproperties: [{type: olm.package, value: {packageName: 1}}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": &fstest.MapFile{Data: data}}, catalog.Options{})
		if err != nil {
			return
		}
		faults := c.Faults()
		if r := c.Refusal(); (r != nil) != (len(faults) > 0) {
			t.Errorf("%v, but the faults are %v", r, faults)
		}
		for _, fault := range faults {
			if catalog.Rules[fault.Rule] == "" {
				t.Errorf("there is no rule %q", fault.Rule)
			}
		}
	})
}

// What a catalog says against a release is about the bundle, its channel, its package, and a property of the bundle.
func TestDeprecations(t *testing.T) {
	c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(`---
{schema: olm.package, name: p, defaultChannel: a}
---
{schema: olm.channel, package: p, name: a, entries: [{name: p.v1}]}
---
{schema: olm.bundle, package: p, name: p.v1, image: x/y, properties: [{type: olm.package, value: {packageName: p, version: 1.0.0}}, {type: olm.deprecated, value: {}}]}
---
{schema: olm.deprecations, package: p, entries: [{reference: {schema: olm.package}, message: old}, {reference: {schema: olm.channel, name: a}, message: slow}, {reference: {schema: olm.bundle, name: p.v1}, message: bad}]}
`)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := c.Choose("", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := chosen.Deprecations(), []string{"bad", "slow", "old", "the bundle has the property olm.deprecated"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (catalog.Choice{Package: chosen.Package, Bundle: &catalog.Bundle{Name: "p.v2"}}).Deprecations(); !slices.Equal(got, []string{"old"}) {
		t.Errorf("%q", got)
	}
}
