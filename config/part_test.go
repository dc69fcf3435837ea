package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/olmgen/olmgen/bundle/signature"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/catalog/shard"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// partsOf returns the parts of all shards, as they come out of their files.
func partsOf(t *testing.T, c *Config, o Options, count int) []*Part {
	t.Helper()
	var parts []*Part
	for i := range count {
		part, err := c.Part(t.Context(), o, shard.Shard{Index: i + 1, Count: count})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		if part, err = ReadPart(data); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	slices.Reverse(parts) // their order means nothing
	return parts
}

// said is everything that Render returns.
type said struct {
	Files           output.Files
	Sources         []output.Source
	Warnings, Notes []Warning
	Err             string
}

func render(t *testing.T, c *Config, o Options) said {
	t.Helper()
	r, err := c.Render(t.Context(), o)
	if err != nil {
		return said{Err: err.Error()}
	}
	return said{r.Files, r.Sources, r.Warnings, r.Notes, ""}
}

// declarations of several groups, by what is special about them.
var shardedDeclarations = map[string]string{
	"one group, another, patches": `
annotations: argocd
commonLabels: {team: infra}
mirrors: [{source: docker.io, mirror: r.local/hub}, {source: quay.io/example/redis, mirror: r.local/redis}]
patches:
- target: {kind: Deployment}
  patch: '[{op: replace, path: /spec/replicas, value: 7}]'
groups:
- namespace: operators
  createNamespaces: true
  bundles: [{source: bundles/memcached}, {source: bundles/redis}]
- namespace: caches
  bundles: [{source: bundles/example, certs: {provider: cert-manager}}]
`,
	"a CRD of two": `
defaults: {names: olm, certs: {provider: olm}}
groups:
- {namespace: a, targetNamespaces: [a], bundles: [{source: bundles/memcached, name: one}]}
- {namespace: b, targetNamespaces: [b], bundles: [{source: bundles/memcached, name: two}, {source: bundles/redis}]}
`,
	"cluster objects of another group": `
annotations: flux
groups:
- {namespace: a, targetNamespaces: [a], bundles: [{source: bundles/memcached, name: one}]}
- {namespace: b, targetNamespaces: [b], clusterObjectsFrom: a, bundles: [{source: bundles/memcached, name: two}]}
`,
	"a conflict": `
groups:
- {namespace: a, bundles: [{source: bundles/memcached, name: one}]}
- {namespace: b, bundles: [{source: bundles/memcached, name: two}]}
`,
	"templates": `
defaults: {templates: shapes}
groups:
- namespace: a
  createNamespaces: true
  bundles: [{source: bundles/memcached}]
- namespace: b
  createNamespaces: true
  bundles: [{source: bundles/odd}]
`,
	"alone": `
groups:
- {namespace: a, bundles: [{source: bundles/memcached}]}
- {namespace: b, bundles: [{source: bundles/redis}]}
`,
	"a channel that only gitops-catalog takes": `
groups:
- {namespace: a, bundles: [{source: bundles/memcached, channel: stable}]}
- {namespace: b, bundles: [{source: bundles/redis, channel: beta}]}
`,
}

func shardedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for to, from := range map[string]string{"memcached": "", "redis": "", "example": "../examples/memcached-operator/bundle"} {
		if from == "" {
			from = filepath.Join(testDir(t), to)
		}
		if err := os.CopyFS(filepath.Join(dir, "bundles", to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	odd := filepath.Join(dir, "bundles", "odd") // with what is left out, and links as a ConfigMap in a pod has them
	if err := os.CopyFS(filepath.Join(odd, "manifests"), os.DirFS(filepath.Join(dir, "bundles", "redis", "manifests"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(odd, "manifests", "README.md"), "# hello\n")
	write(t, filepath.Join(odd, "manifests", "large.bin"), strings.Repeat("x", 17<<20))
	write(t, filepath.Join(odd, "manifests", "..data", "config.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	write(t, filepath.Join(odd, "manifests", ".hidden"), "a: b\n")
	if err := os.Symlink("..data/config.yaml", filepath.Join(odd, "manifests", "config.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "shapes", "namespace.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ str .Name }}\n  labels:\n    shaped: here\n")
	return dir
}

// Parts render to what the sources render to, in every layout and profile: files, locks, warnings, notes and errors. The
// sources are gone by then.
func TestPartsRenderAlike(t *testing.T) {
	type run struct {
		name  string
		c     *Config
		o     Options
		want  said
		parts []*Part
	}
	dir := shardedDir(t)
	var runs []run
	for name, text := range shardedDeclarations {
		for _, p := range generate.Profiles {
			with := "defaults: {profile: " + string(p)
			if before, rest, ok := strings.Cut(text, "defaults: {"); ok {
				with = before + with + ", " + rest
			} else {
				with += "}\n" + text
			}
			c, err := Read("olmgen.yaml", []byte(head+strings.TrimSpace(with)+"\n"))
			if err != nil {
				continue // an option that the profile does not use
			}
			parts := partsOf(t, c, Options{Dir: dir}, 3)
			for _, l := range output.Layouts {
				o := Options{Dir: dir, Layout: l}
				runs = append(runs, run{fmt.Sprintf("%s, %s, %s", name, p, l), c, o, render(t, c, o), parts})
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "bundles")); err != nil {
		t.Fatal(err)
	}
	rendered, warned := 0, 0
	for _, r := range runs {
		r.o.Parts = r.parts
		got := render(t, r.c, r.o)
		if diff := cmp.Diff(r.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%.3000s", r.name, diff)
		}
		if len(got.Files) > 0 {
			rendered++
		}
		warned += len(got.Warnings)
	}
	t.Logf("%d runs, %d without an error, %d warnings", len(runs), rendered, warned)
	if len(runs) < 140 || rendered < 80 || warned < 100 {
		t.Errorf("%d runs, %d without an error, %d warnings: too few to prove anything", len(runs), rendered, warned)
	}
}

// A bundle with files that are left out, links and hidden files reads alike, with and without hidden files.
func TestRecordedFiles(t *testing.T) {
	dir := shardedDir(t)
	for _, profile := range []generate.Profile{generate.ProfileOLM, generate.ProfileOLMv1} {
		c, err := Read("olmgen.yaml", []byte(head+"defaults: {profile: "+string(profile)+"}\ngroups:\n- {namespace: a, bundles: [{source: bundles/odd}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		want := render(t, c, Options{Dir: dir})
		part := partsOf(t, c, Options{Dir: dir}, 1)
		got := render(t, c, Options{Dir: dir, Parts: part})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", profile, diff)
		}
		sizes := map[string]int64{}
		for _, f := range part[0].Bundles[0].Files {
			sizes[f.Path] = f.Size
			if f.Path == "manifests/large.bin" && f.Data != nil {
				t.Error("a file that is left out is in the part")
			}
		}
		if sizes["manifests/large.bin"] != 17<<20 || sizes["manifests/config.yaml"] == 0 {
			t.Errorf("%s: %v", profile, sizes)
		}
	}
}

// The file system of a part has the files of the part and nothing else.
func TestPartFS(t *testing.T) {
	files := []partFile{{Path: ".", Type: typeDir}, {Path: "a", Type: typeDir}, {Path: "a/b", Size: 1, Data: []byte("x")}, {Path: "c"}}
	fsys := newPartFS(files)
	for name, want := range map[string]string{"a/b": "x", "c": ""} {
		if data, err := fs.ReadFile(fsys, name); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for dir, want := range map[string]string{".": "a c", "a": "b"} {
		entries, err := fs.ReadDir(fsys, dir)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
	for _, name := range []string{"d", "a/c", "/c", "../c", "a"} {
		if _, err := fsys.Open(name); err == nil {
			t.Errorf("%s can be opened", name)
		}
	}
	for _, bad := range [][]partFile{
		{{Path: "../a"}}, {{Path: "/a"}}, {{Path: ""}}, {{Path: "a"}, {Path: "a"}}, {{Path: "a", Type: "pipe"}}, {{Path: "a", Size: -1}},
		{{Path: "a", Size: 2, Data: []byte("a")}},
	} {
		if err := checkFiles(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// Parts of other files, options and runs are refused, and so is a bundle that no part has.
func TestPartErrors(t *testing.T) {
	dir := shardedDir(t)
	read := func(text string) *Config {
		c, err := Read("olmgen.yaml", []byte(head+text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	text := shardedDeclarations["alone"]
	c, o := read(text), Options{Dir: dir}
	parts := partsOf(t, c, o, 2)
	offline := partsOf(t, c, Options{Dir: dir, Source: source.Options{Offline: true}}, 2)
	edited := partsOf(t, read(text+"commonLabels: {a: b}\n"), o, 2)
	commented := partsOf(t, read("# a comment\n"+text), o, 2)
	empty := slices.Clone(parts)
	for i, p := range empty {
		without := *p
		without.Bundles = nil
		empty[i] = &without
	}
	for _, test := range []struct {
		parts []*Part
		want  string
	}{
		{parts, ""},
		{commented, ""},
		{parts[:1], "olmgen.yaml: 1 of 2 shards are missing: 1/2"},
		{[]*Part{parts[0], parts[0]}, "the shard 2/2 is there twice"},
		{[]*Part{parts[0], edited[1]}, "olmgen.yaml: the shard 1/2 is of another file, or the file has changed since"},
		{[]*Part{parts[0], offline[1]}, "the shard 1/2 was made with other options"},
		{empty, "groups[0].bundles[0]: bundles/memcached: no part has this bundle"},
	} {
		o.Parts = test.parts
		_, err := c.Render(t.Context(), o)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if _, err := c.Part(t.Context(), Options{Dir: dir, Source: source.Options{VerifyKeys: signature.Keys{"no key"}}}, shard.Shard{}); err == nil {
		t.Error("what is no key is taken")
	}
	if _, err := c.Part(t.Context(), Options{Dir: t.TempDir()}, shard.Shard{}); err == nil || !strings.Contains(err.Error(), "olmgen.yaml:5: groups[0].bundles[0]: ") {
		t.Errorf("a source that is not there: %v", err)
	}
}

func FuzzReadPart(f *testing.F) {
	c, err := Read("olmgen.yaml", []byte(head+shardedDeclarations["alone"]))
	if err != nil {
		f.Fatal(err)
	}
	sum := c.digest()
	options, err := openedWith(source.Options{})
	if err != nil {
		f.Fatal(err)
	}
	part := Part{APIVersion: APIVersion, Kind: PartKind, Shard: "1/1", Config: sum, Options: options}
	for i, name := range []string{"memcached", "redis"} {
		b := c.Groups[i].Bundles[0]
		part.Bundles = append(part.Bundles, partBundle{partKey: partKey{Source: b.Source, Channel: b.Channel}, Kind: source.KindDir,
			Files: []partFile{{Path: "manifests", Type: typeDir}, {Path: "manifests/csv.yaml", Size: int64(len(testCSV)), Data: []byte(strings.ReplaceAll(testCSV, "NAME", name))}}})
	}
	for _, seed := range []Part{{}, part} {
		data, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		if p, err := ReadPart(data); err == nil {
			p.Config, p.Options = sum, options
			_, _ = c.Render(t.Context(), Options{Parts: []*Part{p}})
		}
	})
}

// A part keeps every field of a source: a new one would be forgotten here.
func TestPartSource(t *testing.T) {
	s := source.Source{Ref: "a", Kind: "b", Digest: "c", Image: "d", Metadata: true, Labels: map[string]string{"e": "f"},
		Properties: json.RawMessage("[ {\"type\": \"<&>\"} ]\n"), Replaces: "g", Skips: []string{"h"}, SkipRange: "i",
		FS: newPartFS(nil)}
	for v, i := reflect.ValueOf(s), 0; i < v.NumField(); i++ {
		if v.Type().Field(i).IsExported() && v.Field(i).IsZero() {
			t.Fatalf("%s is not set", v.Type().Field(i).Name)
		}
	}
	r, key := recorder{bundles: map[partKey]*recorded{}}, partKey{Source: "a", Hidden: true}
	given := s
	r.add(key, &given, []string{"100%"})
	again := s
	if r.add(key, &again, nil) != &again || len(r.bundles) != 1 {
		t.Error("a source is recorded twice")
	}
	data, err := json.Marshal(r.list())
	if err != nil {
		t.Fatal(err)
	}
	var list []partBundle
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	got, err := Options{bundles: map[partKey]*partBundle{key: &list[0]}}.partSource(key, "a",
		func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) })
	if err != nil {
		t.Fatal(err)
	}
	got.FS, s.FS = nil, nil
	if diff := cmp.Diff(s, *got, cmpopts.IgnoreUnexported(source.Source{})); diff != "" || !slices.Equal(warnings, []string{"100%"}) {
		t.Errorf("%q (-want +got):\n%s", warnings, diff)
	}
}
