package catalog

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/sourcetest"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/source"
)

// etcdCatalog: alpha has 0.9.0 <- 0.9.2 <- 0.9.4 (skips 0.9.3); beta has 0.9.0 only.
const etcdCatalog = "testdata/catalog/etcd.yaml"

func TestCatalog(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		bundle  string // by the name of its CSV
		want    string // what it replaces
	}{
		{"the head of the default channel", Options{}, "etcd.v0.9.4", "etcd.v0.9.2"},
		{"the head of a channel", choose("etcd", "beta", ""), "etcd.v0.9.0", "etcd.v0.6.0"},
		{"a version", choose("", "", "0.9.2"), "etcd.v0.9.2", "etcd.v0.9.0"},
		{"a version with v", choose("", "", "v0.9.2"), "etcd.v0.9.2", "etcd.v0.9.0"},
		{"a bundle's name", choose("", "", "etcd.v0.9.2"), "etcd.v0.9.2", "etcd.v0.9.0"},
		{"a version in the default channel", choose("", "", "0.9.0"), "etcd.v0.9.0", ""},
		{"a version in a channel", choose("", "beta", "0.9.0"), "etcd.v0.9.0", "etcd.v0.6.0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.options.Source.Offline = true
			s := open(t, "catalog:"+etcdCatalog, test.options)
			files := contents(t, s.FS)
			if !strings.Contains(files["manifests/001-clusterserviceversion-"+test.bundle+".yaml"], "\n  name: "+test.bundle+"\n") {
				t.Errorf("the files are %v", slices.Sorted(maps.Keys(files)))
			}
			same(t, "replaces", s.Entry.Replaces, test.want)
		})
	}
}

func TestCatalogFiles(t *testing.T) {
	s := open(t, "catalog:testdata/catalog", choose("etcd", "", "0.9.4"))
	same(t, "files", contents(t, s.FS), map[string]string{
		"manifests/001-clusterserviceversion-etcd.v0.9.4.yaml":                              "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: etcd.v0.9.4\nspec:\n  version: 0.9.4\n",
		"manifests/002-customresourcedefinition-etcdclusters.etcd.database.coreos.com.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: etcdclusters.etcd.database.coreos.com\nspec:\n  maximum: 9223372036854775807\n",
		"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.channel.default.v1: alpha
  operators.operatorframework.io.bundle.channels.v1: alpha
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: etcd
`,
	})
	same(t, "properties", properties(t, s),
		`[{"type":"olm.gvk","value":{"group":"etcd.database.coreos.com","kind":"EtcdCluster","version":"v1"}},`+
			`{"type":"olm.package","value":{"packageName":"etcd","version":"0.9.4"}},`+
			`{"type":"olm.package.required","value":{"packageName":"prometheus","versionRange":"\u003e0.27.0"}}]`)
	same(t, "kind", s.Kind, "catalog")
	same(t, "digest", s.Digest, "")
}

// Only a catalog says something of a bundle, even if that is nothing.
func TestOnlyCatalogsSay(t *testing.T) {
	inDir(t, goodFiles)
	if s := open(t, ".", Options{}); s.Entry != nil || s.Properties != nil || s.Metadata {
		t.Errorf("a directory says %+v", s)
	}
	objects := "data: eyJhcGlWZXJzaW9uIjoib3BlcmF0b3JzLmNvcmVvcy5jb20vdjFhbHBoYTEiLCJraW5kIjoiQ2x1c3RlclNlcnZpY2VWZXJzaW9uIiwibWV0YWRhdGEiOnsibmFtZSI6ImEifX0="
	inDir(t, map[string]string{"c.yaml": "---\n{schema: olm.package, name: a, defaultChannel: s}\n---\n" +
		"{schema: olm.channel, package: a, name: s, entries: [{name: a, skipRange: '<1.0.0', skips: [b]}]}\n---\n" +
		"{schema: olm.bundle, package: a, name: a, properties: [{type: olm.bundle.object, value: {" + objects + "}}]}\n"})
	s := open(t, "catalog:c.yaml", Options{})
	same(t, "properties", s.Properties, []Property{})
	same(t, "skips", s.Entry.Skips, []string{"b"})
	same(t, "skipRange", s.Entry.SkipRange, "<1.0.0")
}

// The same catalog in every way it may be written.
func TestCatalogForms(t *testing.T) {
	data, err := os.ReadFile(etcdCatalog)
	must(t, err)
	var compact, pretty, list []string
	for d, err := range documents("etcd.yaml", bytes.NewReader(data), documentLimits{1 << 20, 100_000}) {
		must(t, err)
		compact = append(compact, string(d.json))
		var v any
		must(t, json.Unmarshal(d.json, &v))
		p, err := json.MarshalIndent(v, "", "    ")
		must(t, err)
		pretty = append(pretty, string(p))
		y, err := yaml.Marshal(v)
		must(t, err)
		list = append(list, string(y))
	}
	slices.Reverse(list)
	files := map[string]string{
		"yaml.yaml":        string(data),
		"crlf.yaml":        strings.ReplaceAll(string(data), "\n", "\r\n"),
		"bom.yaml":         "\ufeff" + string(data),
		"reverse.yaml":     strings.Join(list, "---\n"),
		"directives.yaml":  "%YAML 1.1\n---\n" + strings.Join(list, "...\n%YAML 1.1\n---\n"),
		"compact.json":     strings.Join(compact, ""),
		"lines.json":       strings.Join(compact, "\n"),
		"pretty.json":      strings.Join(pretty, "\n"),
		"misnamed.yaml":    strings.Join(pretty, "\n"),
		"dir/a/1.yaml":     list[0] + "---\n" + list[1],
		"dir/a/README.md":  "# not a part of it",
		"dir/a/other.json": `{"schema": "example.com/other", "entries": {"a": 1}} {"no": "schema"}`,
	}
	for i, d := range list[2:] {
		files[fmt.Sprintf("dir/b/%d.yml", i)] = d
	}
	want := contents(t, open(t, "catalog:"+etcdCatalog, Options{}).FS)
	inDir(t, files)
	refs := []string{"dir"}
	for name := range files {
		if !strings.HasPrefix(name, "dir/") {
			refs = append(refs, name)
		}
	}
	for _, ref := range refs {
		s := open(t, "catalog:"+ref, Options{})
		same(t, ref, contents(t, s.FS), want)
	}
	s := open(t, "catalog:-", Options{Source: source.Options{Stdin: strings.NewReader(files["pretty.json"])}})
	same(t, "standard input", contents(t, s.FS), want)
}

func TestCatalogChoiceThatFails(t *testing.T) {
	const head = "{schema: olm.package, name: etcd, defaultChannel: alpha}\n---\n"
	channel := func(entries string) string {
		return head + "{schema: olm.channel, package: etcd, name: alpha, entries: " + entries + "}\n---\n"
	}
	const ok = "{schema: olm.bundle, package: etcd, name: a, image: quay.io/a:1}\n"
	tests := []struct {
		name, catalog string
		options       Options
		want          string
	}{
		{"no such package", "x: y\n---\n" + head, choose("etc", "", ""), `c.yaml: no package "etc"; there are etcd` + "\nhint: did you mean etcd?"},
		{"several packages", "x: y\n---\n" + head + "{schema: olm.package, name: other}", Options{}, "c.yaml: the catalog has 2 packages\nhint: choose a package: etcd, other"},
		{"no catalog", "x: y", Options{}, "c.yaml: not a file-based catalog: it has no olm.package, olm.channel or olm.bundle\nhint: name a file, a directory or an image with a catalog, or a directory that has bundles and catalog-templates below it"},
		{"nothing", "", Options{}, "c.yaml: not a file-based catalog: it has no olm.package, olm.channel or olm.bundle\nhint: name a file, a directory or an image with a catalog, or a directory that has bundles and catalog-templates below it"},
		{"no such channel", "x: y\n---\n" + channel("[{name: a}]"), choose("", "beta", ""), `c.yaml: package "etcd" has no channel "beta"; there are alpha`},
		{"the default channel is not there", "x: y\n---\n" + head, Options{}, `c.yaml: package "etcd" has no channel "alpha"; there are none`},
		{"no default channel", "x: y\n---\n{schema: olm.package, name: etcd}\n---\n{schema: olm.channel, package: etcd, name: a}\n---\n{schema: olm.channel, package: etcd, name: b}", Options{},
			"c.yaml: package \"etcd\" has no default channel\nhint: choose a channel: a, b"},
		{"no head", "x: y\n---\n" + channel("[{name: a, replaces: b}, {name: b, replaces: a}]"), Options{},
			`c.yaml: channel "alpha" of package "etcd" has no head (an entry that no entry replaces or skips)`},
		{"an entry that skips itself", "x: y\n---\n" + channel("[{name: a, skips: [a]}]") + ok, Options{},
			`c.yaml: channel "alpha" of package "etcd" has no head (an entry that no entry replaces or skips)`},
		{"one channel that is not the default", "x: y\n---\n{schema: olm.package, name: etcd}\n---\n{schema: olm.channel, package: etcd, name: a, entries: [{name: a}]}\n---\n" + ok, Options{},
			"c.yaml: package \"etcd\" has no default channel\nhint: choose a channel: a"},
		{"an empty channel", "x: y\n---\n" + channel("[]"), Options{},
			`c.yaml: channel "alpha" of package "etcd" has no head (an entry that no entry replaces or skips)`},
		{"two heads", "x: y\n---\n" + channel("[{name: a, replaces: c}, {name: b, skips: [c]}, {name: c}]"), Options{},
			"c.yaml: channel \"alpha\" of package \"etcd\" has 2 heads (entries that no entry replaces or skips): a, b\nhint: choose a version"},
		{"a head that is not there", "x: y\n---\n" + channel("[{name: a}]"), Options{}, `c.yaml: the head of channel "alpha" of package "etcd" is "a", which is not in the catalog`},
		{"no such version", "x: y\n---\n" + channel("[{name: a}]") + ok, choose("", "", "1.0.0"), `c.yaml: package "etcd" has no bundle with version or name "1.0.0"; there are a`},
		{"no such version in the channel", "x: y\n---\n" + channel("[]") + ok, choose("", "alpha", "a"), `c.yaml: channel "alpha" of package "etcd" has no bundle with version or name "a"; there are none`},
		{"a version in no such channel", "x: y\n---\n" + channel("[{name: a}]") + ok, choose("", "beta", "a"), `c.yaml: package "etcd" has no channel "beta"; there are alpha`},
		{"a version twice", "x: y\n---\n" + head + "{schema: olm.bundle, package: etcd, name: a, properties: &p [{type: olm.package, value: {version: 1.0.0}}]}\n---\n" +
			"{schema: olm.bundle, package: etcd, name: b, properties: [{type: olm.package, value: {version: 1.0.0}}]}", choose("", "", "1.0.0"),
			"c.yaml: package \"etcd\" has 2 bundles with version 1.0.0: a, b\nhint: choose one by its name"},
		{"an image, offline", "x: y\n---\n" + channel("[{name: a}]") + ok, Options{},
			"c.yaml: bundle a: its objects are not in the catalog, and its image quay.io/a:1 is not fetched offline\n" +
				"hint: fetch it with network access (skopeo copy docker://quay.io/a:1 oci:DIR) and use oci-layout:DIR"},
		{"neither objects nor image", "x: y\n---\n" + channel("[{name: a}]") + "{schema: olm.bundle, package: etcd, name: a}", Options{}, "c.yaml: bundle a: the catalog has neither its objects nor its image"},
		{"an object in another file", "x: y\n---\n" + channel("[{name: a}]") + "{schema: olm.bundle, package: etcd, name: a, properties: [{type: olm.bundle.object, value: {ref: a.yaml}}]}", Options{},
			`c.yaml: bundle a: property olm.bundle.object 1: no data (ref is "a.yaml")`},
		{"an object that is not base64", "x: y\n---\n" + channel("[{name: a}]") + "{schema: olm.bundle, package: etcd, name: a, properties: [{type: olm.bundle.object, value: {data: '*'}}]}", Options{},
			`c.yaml: read bundle objects: package "etcd", bundle "a": parse property at index 0 as bundle object: illegal base64 data at input byte 0 (c.yaml:6)`},
		{"an object that is two", "x: y\n---\n" + channel("[{name: a}]") + "{schema: olm.bundle, package: etcd, name: a, properties: [{type: olm.bundle.object, value: {data: " +
			base64.StdEncoding.EncodeToString([]byte("{}{}")) + "}}]}", Options{}, `c.yaml: bundle a: property olm.bundle.object 1: has 2 documents instead of one`},
		{"a package twice", "x: y\n---\n" + head + head, Options{}, `c.yaml: duplicate package "etcd" (c.yaml:4)`},
		{"a channel twice", "x: y\n---\n" + channel("[]") + channel("[]")[len(head):], Options{}, `c.yaml: package "etcd" has duplicate channel "alpha" (c.yaml:6)`},
		{"a bundle twice", "x: y\n---\n" + ok + "---\n" + ok, Options{}, `c.yaml: package "etcd" has duplicate bundle "a" (c.yaml:4)`},
		{"a bundle without package", "x: y\n---\n{schema: olm.bundle, name: a}", Options{}, `c.yaml: a document has no package or no name (c.yaml:2)`},
		{"wrong types", "x: y\n---\n{schema: olm.channel, package: etcd, name: a, entries: 5}", Options{},
			`c.yaml: document that starts in line 2: olm.channel: entries: has the wrong type (number)`},
		{"no mapping", "x: y\n---\n- a", Options{}, `c.yaml: document that starts in line 2: must be a mapping, not array`},
		{"bad YAML", "x: y\n---\na: b: c", Options{}, `c.yaml:3: document that starts in line 2: mapping values are not allowed in this context`},
		{"cut JSON", `{"schema": "olm.package", "name": "etcd"}` + "\n\n" + `{"schema": "olm.bundle", "na`, Options{}, `c.yaml:3: the file ends inside the value that starts in line 3`},
		{"many aliases", "a: &a [" + strings.Repeat("x, ", 10) + "]\nb: &b [" + strings.Repeat("*a, ", 100) + "]\nc: [" + strings.Repeat("*b, ", 100) + "]", Options{Source: source.Options{Limits: small}},
			`c.yaml:1: document that starts in line 1: larger than 1000 bytes with its aliases expanded`},
		{"a large document", "a: b\n---\nc: " + strings.Repeat("x", 1000), Options{Source: source.Options{Limits: small}},
			`c.yaml:2: document that starts in line 2: larger than 1000 bytes`},
		{"a large value", `{"a": 1}` + "\n" + `{"schema": "` + strings.Repeat("x", 1500) + `"}`, Options{Source: source.Options{Limits: small}},
			`c.yaml:2: document that starts in line 2: larger than 1000 bytes`},
		{"many values", "a: [" + strings.Repeat("x,", 300_000) + "]", Options{}, `c.yaml:1: document that starts in line 1: more than 300000 places where a value can begin`},
		{"too large", "a: " + strings.Repeat("x", 3000), Options{Source: source.Options{Limits: small}}, "c.yaml: too large: more than 2000 bytes unpacked" + raise},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inDir(t, map[string]string{"c.yaml": test.catalog})
			test.options.Source.Offline = true
			same(t, "error", openError(t, "catalog:c.yaml", test.options), test.want)
		})
	}
}

func TestCatalogImage(t *testing.T) {
	host := sourcetest.Serve(t, nil)
	labels := map[string]string{olm.BundlePackage: "etcd"}
	img := sourcetest.Image(t, labels, sourcetest.Tar(t, goodFiles))
	sourcetest.Push(t, host+"/etcd/bundle:v1", img)
	inDir(t, map[string]string{"catalog/c.yaml": `
schema: olm.package
name: etcd
defaultChannel: alpha
---
schema: olm.channel
package: etcd
name: alpha
entries: [{name: etcd.v1, replaces: etcd.v0}]
---
schema: olm.bundle
package: etcd
name: etcd.v1
image: ` + host + `/etcd/bundle:v1
properties:
- type: olm.csv.metadata
  value: {}
- type: olm.package
  value: {packageName: etcd, version: 1.0.0}
`})
	s := open(t, "catalog:catalog", plain(host))
	same(t, "files", contents(t, s.FS), goodFiles)
	same(t, "kind", s.Kind, "catalog")
	same(t, "digest", s.Digest, sourcetest.Digest(t, img))
	same(t, "labels", s.Labels, labels)
	same(t, "replaces", s.Entry.Replaces, "etcd.v0")
	same(t, "properties", properties(t, s), `[{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0"}}]`)
}
