package site_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/site"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/output"
)

const examples = "../../../examples/memcached-operator"

func render(t *testing.T, workers int, refs ...string) *site.Site {
	t.Helper()
	set, err := audit.Load(context.Background(), refs, audit.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Render(context.Background(), set, "Operators")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func file(t *testing.T, s *site.Site, name string) string {
	t.Helper()
	for _, f := range s.Files {
		if f.Path == name {
			return string(f.Data)
		}
	}
	t.Fatalf("no file %s", name)
	return ""
}

// element is an element of a page with its attributes.
type element struct {
	name       string
	attributes map[string]string
}

func elements(t *testing.T, text string) (out []element) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			e := element{n.Data, map[string]string{}}
			for _, a := range n.Attr {
				e.attributes[a.Key] = a.Val
			}
			out = append(out, e)
		}
	}
	return out
}

var imageData = regexp.MustCompile(`^data:image/(png|jpeg|gif|svg\+xml);base64,[A-Za-z0-9+/=]+$`)

// safe holds what a page may have: no element or attribute that loads or runs something.
func safe(t *testing.T, name, text string) {
	t.Helper()
	scripts := 0
	for _, e := range elements(t, text) {
		switch e.name {
		case "script":
			scripts++
		case "img":
			if !imageData.MatchString(e.attributes["src"]) {
				t.Errorf("%s: <img src=%.100q>", name, e.attributes["src"])
			}
			continue
		case "iframe", "object", "embed", "form", "link", "base", "video", "audio", "image", "use", "foreignObject", "source":
			t.Errorf("%s: <%s>", name, e.name)
		}
		for key, value := range e.attributes {
			switch {
			case strings.HasPrefix(key, "on"), key == "src", key == "style", key == "srcset", key == "xlink:href", key == "srcdoc":
				t.Errorf("%s: <%s %s=%q>", name, e.name, key, value)
			case key == "href" && e.name == "a":
				u, err := url.Parse(value)
				if err != nil || !slices.Contains([]string{"", "http", "https", "mailto"}, u.Scheme) || u.Scheme == "" && u.Host != "" {
					t.Errorf("%s: a link to %q", name, value)
				}
				if u.Scheme != "" && !strings.Contains(e.attributes["rel"], "noreferrer") {
					t.Errorf("%s: the link to %s tells where it is from", name, value)
				}
			}
		}
	}
	if scripts != 1 {
		t.Errorf("%s: %d scripts", name, scripts)
	}
	policy := "default-src 'none'; style-src 'sha256-"
	if !strings.Contains(html.UnescapeString(text), policy) {
		t.Errorf("%s: no policy", name)
	}
}

// links holds that every relative link and fragment of a site leads somewhere.
func links(t *testing.T, s *site.Site) {
	t.Helper()
	ids := map[string]map[string]bool{}
	for _, f := range s.Files {
		ids[f.Path] = map[string]bool{}
		if path.Ext(f.Path) != ".html" {
			continue
		}
		for _, e := range elements(t, string(f.Data)) {
			if id := e.attributes["id"]; id != "" {
				if ids[f.Path][id] {
					t.Errorf("%s: the id %s is there twice", f.Path, id)
				}
				ids[f.Path][id] = true
			}
		}
	}
	found := 0
	for _, f := range s.Files {
		if path.Ext(f.Path) != ".html" {
			continue
		}
		safe(t, f.Path, string(f.Data))
		for _, e := range elements(t, string(f.Data)) {
			href, ok := e.attributes["href"]
			u, err := url.Parse(href)
			if !ok || err != nil || u.Scheme != "" {
				continue
			}
			found++
			to := f.Path
			if u.Path != "" {
				to = path.Join(path.Dir(f.Path), u.Path)
			}
			if ids[to] == nil || u.Fragment != "" && !ids[to][u.Fragment] {
				t.Errorf("%s: the link %s leads nowhere", f.Path, href)
			}
		}
	}
	if found == 0 {
		t.Error("no links")
	}
}

// A package with two releases has all pages, and they say what matters.
func TestPackage(t *testing.T) {
	s := render(t, 1, examples)
	links(t, s)
	page := file(t, s, "packages/memcached-operator/index.html")
	for _, want := range []string{"runs in pods of the cluster", "olmgen render ", "Update graph", "since 0.0.1", "<svg", "All packages",
		`<dl class="facts"><div><dt>Package</dt><dd>memcached-operator</dd></div>`, `class="timeline"`, `<div class="beside">`,
		`<nav class="contents" aria-label="Contents">`, `<li><a href="#releases">Releases</a></li>`, `<span class="chip warning">pods</span>`,
		"olmgen render " + examples + "/bundle-v0.1.0 ", `<b class="chip warning">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the package has no %q", want)
		}
	}
	if drawn, explained := strings.Contains(page, `<span class="chip note">`), strings.Contains(page, `<b class="chip note">`); drawn != explained {
		t.Errorf("a page with note %t explains it %t", drawn, explained)
	}
	file(t, s, "packages/memcached-operator/permissions.html")
	file(t, s, "packages/memcached-operator/diff/0.0.1_0.1.0.html")
	if index := file(t, s, "index.html"); !strings.Contains(index, `<a href="packages/memcached-operator/index.html">`) {
		t.Errorf("the index has no link:\n%s", index)
	}
}

// hostile are names and texts that break pages that do not escape them.
var hostile = []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, `../../../etc/passwd`,
	`</style></svg>`, "{{.}}", "con", "..", "A/B", "x' onclick='y", "\u202eevil", strings.Repeat("long", 100), "<!--", "index.html", "ÄÖ", "a--b"}

const markdown = "# Title\n\n<script>alert(1)</script>\n\n![pic](https://example.com/x.png) [bad](javascript:alert(1)) [rel](../x) " +
	"[good](https://example.com/) <img src=x onerror=y> <https://example.com/auto>\n\n[x]: data:text/html,x\n[x] <a href='vbscript:x' style='x'>y</a>\n" +
	"```html\n</pre></code><script>\n```\n<svg onload=x><style>*{}</style>"

func catalogOf(names ...string) string {
	var b strings.Builder
	quote := func(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }
	for _, n := range names {
		q := quote(n)
		fmt.Fprintf(&b, "---\nschema: olm.package\nname: %s\ndefaultChannel: %s\n---\nschema: olm.channel\npackage: %[1]s\nname: %[2]s\n"+
			"entries:\n- {name: %[2]s, skipRange: %[2]s}\n---\nschema: olm.bundle\npackage: %[1]s\nname: %[2]s\nimage: %[2]s\nproperties:\n"+
			"- {type: olm.package, value: {packageName: %[1]s, version: 1.0.0}}\n- type: olm.csv.metadata\n  value: {displayName: %[2]s, "+
			"description: %[3]s, provider: {name: %[2]s}, installModes: [{type: %[2]s, supported: true}], crdDescriptions: {owned: "+
			"[{name: %[2]s, kind: %[2]s, version: %[2]s}]}}\n---\nschema: olm.deprecations\npackage: %[1]s\nentries:\n"+
			"- {reference: {schema: olm.bundle, name: %[2]s}, message: %[2]s}\n", q, q, quote(strings.ReplaceAll(markdown, "\n", `\n`)))
	}
	return strings.ReplaceAll(b.String(), `\\n`, `\n`)
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// Hostile names and descriptions stay text, and become paths that every system allows.
func TestHostile(t *testing.T) {
	s := render(t, 2, write(t, catalogOf(hostile...)))
	if len(s.Sources) != len(hostile) {
		t.Errorf("%d packages, want %d", len(s.Sources), len(hostile))
	}
	links(t, s)
	if _, err := output.Write(filepath.Join(t.TempDir(), "site"), s.Files, output.WriteOptions{Sources: s.Sources}); err != nil {
		t.Error(err)
	}
	for _, f := range s.Files {
		if len(f.Path) > 120 || strings.Trim(f.Path, "abcdefghijklmnopqrstuvwxyz0123456789./-_") != "" {
			t.Errorf("the path %s", f.Path)
		}
	}
}

// A description keeps its text, lists and good links, below the headings of the page.
func TestDescription(t *testing.T) {
	s := render(t, 1, write(t, catalogOf("p")))
	page := file(t, s, "packages/p/index.html")
	if strings.Contains(page+file(t, s, "index.html"), `class="legend"`) {
		t.Error("a legend without anything to explain")
	}
	for _, want := range []string{"<h3>Title</h3>", "pic", `href="https://example.com/"`, "&lt;/pre&gt;&lt;/code&gt;&lt;script&gt;", `href="https://example.com/auto"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, bad := range []string{"x.png", "javascript:", "vbscript:", "onload", "alert(1)", `href="../x"`} {
		if strings.Contains(page, bad) {
			t.Errorf("%s", bad)
		}
	}
}

// TestSize holds that the index of 300 packages, with all that a browser loads for it, stays under 200 kB.
func TestSize(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "---\nschema: olm.package\nname: %[1]s\ndefaultChannel: stable\nicon: {base64data: %[2]s, mediatype: image/png}\n---\n"+
			"schema: olm.channel\npackage: %[1]s\nname: stable\nentries:\n- name: %[1]s.v1.0.0\n---\nschema: olm.bundle\npackage: %[1]s\n"+
			"name: %[1]s.v1.0.0\nimage: quay.io/example/%[1]s:1.0.0\nproperties:\n- {type: olm.package, value: {packageName: %[1]s, version: 1.0.0}}\n"+
			"- type: olm.bundle.object\n  value:\n    data: %[3]s\n", fmt.Sprintf("operator-with-a-name-%03d", i),
			base64.StdEncoding.EncodeToString(noise(t, 1000)), base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf(dangerousCSV, i))))
	}
	s := render(t, 2, write(t, b.String()))
	index := file(t, s, "index.html")
	if len(index) > 200_000 {
		t.Errorf("the index has %d bytes", len(index))
	}
	for _, e := range elements(t, index) {
		if src := e.attributes["src"]; e.name == "link" || e.name == "script" && src != "" || src != "" && !strings.HasPrefix(src, "data:") {
			t.Errorf("the index loads %s %v", e.name, e.attributes)
		}
	}
	if n := strings.Count(index, "data-words="); n != 300 {
		t.Errorf("the search has words of %d packages", n)
	}
	if n := strings.Count(index, "<img "); n != 6 {
		t.Errorf("the index has %d icons", n)
	}
	if !strings.Contains(index, "300 packages in 300 releases.") || !strings.Contains(index, "<b class=error>everything</b>") {
		t.Error("no totals, or no chips")
	}
}

// TestLargePages holds that the pages of an operator with many rules stay under 200 kB, have each of its rules once, and lead to each other.
func TestLargePages(t *testing.T) {
	const name, rules = "operator-with-a-name-001", 2000
	csv := func(version string, from int) string {
		var granted []string
		for i := range rules {
			granted = append(granted, fmt.Sprintf(`{"apiGroups": ["group-%04d.example.com"], "resources": ["secrets", "things"], "verbs": ["get", "list"]}`, from+i))
		}
		all := `{"serviceAccountName": "a", "rules": [` + strings.Join(granted, ", ") + `]}, {"serviceAccountName": "b", "rules": [` + granted[0] + `]}`
		text := strings.ReplaceAll(fmt.Sprintf(dangerousCSV, 1), "1.0.0", version)
		return regexp.MustCompile(`(?s)\{"serviceAccountName": "a", "rules": .*?\}\]\}`).ReplaceAllLiteralString(text, all)
	}
	catalog := fmt.Sprintf("schema: olm.package\nname: %[1]s\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: %[1]s\nname: stable\n"+
		"entries:\n- name: %[1]s.v1.0.0\n- {name: %[1]s.v2.0.0, replaces: %[1]s.v1.0.0}\n", name)
	for i, version := range []string{"1.0.0", "2.0.0"} {
		catalog += fmt.Sprintf("---\nschema: olm.bundle\npackage: %[1]s\nname: %[1]s.v%[2]s\nimage: quay.io/example/db:%[2]s\n"+
			"properties:\n- {type: olm.package, value: {packageName: %[1]s, version: %[2]s}}\n- {type: olm.bundle.object, value: {data: %[3]s}}\n",
			name, version, base64.StdEncoding.EncodeToString([]byte(csv(version, i*rules))))
	}
	s := render(t, 1, write(t, catalog))
	links(t, s)
	lines, pages := map[string]int{}, map[string]int{}
	for _, f := range s.Files {
		if path.Ext(f.Path) != ".html" {
			continue
		}
		if len(f.Data) > 200_000 {
			t.Errorf("%s has %d bytes", f.Path, len(f.Data))
		}
		kind, _, _ := strings.Cut(path.Base(f.Path), "_")
		pages[kind]++
		if strings.HasPrefix(kind, "permissions") {
			for _, rule := range regexp.MustCompile(`group-\d{4}\.example\.com: `).FindAllString(string(f.Data), -1) {
				lines[rule]++
			}
		}
	}
	if pages["permissions"]+pages["permissions.html"] < 3 || pages["1.0.0"] < 3 {
		t.Errorf("the pages are not divided: %v", pages)
	}
	if len(lines) != rules {
		t.Errorf("the pages have %d rules", len(lines))
	}
	for rule, n := range lines {
		if want := map[bool]int{true: 2, false: 1}[rule == fmt.Sprintf("group-%04d.example.com: ", rules)]; n != want {
			t.Errorf("%s stands on %d lines", rule, n)
		}
	}
}

// noise returns a PNG that is not small.
func noise(t *testing.T, bytes int) []byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, bytes/10, 10))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range picture.Pix {
		picture.Pix[i] = byte(r.IntN(256))
	}
	var out strings.Builder
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}

const dangerousCSV = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "operator-with-a-name-%03[1]d.v1.0.0",
  "annotations": {"categories": "Database, Big Data", "description": "Stores (and sorts) tables; relational.", "createdAt": "2026-01-02T03:04:05Z"}},
  "spec": {"displayName": "The Operator of Team %03[1]d", "version": "1.0.0", "provider": {"name": "Example Corporation"},
  "description": "# A\n\n| x | y |\n|---|--:|\n| <b>1</b> | 2 |\n", "icon": [{"base64data": "", "mediatype": ""}],
  "keywords": ["postgres", "sql", "relational"], "installModes": [{"type": "AllNamespaces", "supported": true}],
  "customresourcedefinitions": {"owned": []},
  "install": {"strategy": "deployment", "spec": {"clusterPermissions": [{"serviceAccountName": "a", "rules": [{"apiGroups": ["*"], "resources": ["*"],
  "verbs": ["*"]}]}], "deployments": [{"name": "a", "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
  "spec": {"serviceAccountName": "a", "containers": [{"name": "a", "image": "quay.io/a/a:1"}]}}}}]}}}}`

// TestPages holds what an organisation publishes: totals, the most dangerous operators, icons, chips with a legend, and a
// search over what the table does not show.
func TestPages(t *testing.T) {
	const name = "operator-with-a-name-001"
	catalog := func(icon string) string {
		return fmt.Sprintf("---\nschema: olm.package\nname: %[1]s\ndefaultChannel: stable\nicon: {base64data: %[2]s, mediatype: text/html}\n---\n"+
			"schema: olm.channel\npackage: %[1]s\nname: stable\nentries:\n- name: %[1]s.v1.0.0\n---\nschema: olm.bundle\npackage: %[1]s\n"+
			"name: %[1]s.v1.0.0\nimage: quay.io/example/db:1.0.0\nproperties:\n- {type: olm.package, value: {packageName: %[1]s, version: 1.0.0}}\n"+
			"- type: olm.bundle.object\n  value:\n    data: %[3]s\n", name, base64.StdEncoding.EncodeToString([]byte(icon)),
			base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf(dangerousCSV, 1))))
	}
	svg := `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>`
	for icon, kind := range map[string]string{string(noise(t, 100)): "image/png", svg: "image/svg+xml",
		"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>": "", "<html><script>alert(1)</script></html>": "", "": "", "%PDF-1.4": "",
		"<svg>" + strings.Repeat(" ", 100_000) + "</svg>": ""} {
		source := write(t, catalog(icon))
		s := render(t, 1, source)
		links(t, s)
		index, page := file(t, s, "index.html"), file(t, s, "packages/"+name+"/index.html")
		if got := strings.Contains(html.UnescapeString(page), `<img class="logo" src="data:`+cmp.Or(kind, "?")+`;base64,`); got != (kind != "") {
			t.Errorf("%.40q: no logo, or one that must not be there", icon)
		}
		if strings.Contains(page, "alert(") {
			t.Errorf("%.40q is in the page itself", icon)
		}
		for _, want := range []string{"olmgen render oci://quay.io/example/db:1.0.0 ", "<dt>Provider</dt><dd>Example Corporation</dd>", "2026-01-02",
			"<dt>Categories</dt><dd>Database, Big Data</dd>", `<span class="chip error">everything</span>`, "<table>\n<thead>", "<td>1</td>",
			"1 error"} {
			if want != "1 error" && !strings.Contains(page, want) {
				t.Errorf("the page has no %q", want)
			}
		}
		if dir := filepath.Dir(source); strings.Contains(page+index, dir) {
			t.Errorf("the pages have the path %s", dir)
		}
		if bad := regexp.MustCompile(`\b1 (errors|warnings|notes|packages|releases|CRDs)`).FindString(page + index); bad != "" {
			t.Error(bad)
		}
		for _, want := range []string{`<dl class="totals">`, `<a href="#packages" data-filter="ev">may do everything</a>`, `class="legend"`, `<ol class="cards">`, `<b class=error>everything</b>`,
			`data-words="database big data postgres sql relational stores and sorts tables"`, "1 package in 1 release."} {
			if !strings.Contains(index, want) {
				t.Errorf("the index has no %q", want)
			}
		}
	}
}

func TestIncremental(t *testing.T) {
	catalog := write(t, catalogOf("a", "b", "c"))
	dir := filepath.Join(t.TempDir(), "site")
	run := func() output.Result {
		s := render(t, 2, catalog)
		r, err := output.Write(dir, s.Files, output.WriteOptions{Sources: s.Sources})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	run()
	foreign := filepath.Join(dir, "packages", "CNAME")
	if err := os.WriteFile(foreign, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run(); len(r.Added)+len(r.Changed)+len(r.Removed) > 0 {
		t.Errorf("a second run: %+v", r)
	}
	text := strings.ReplaceAll(catalogOf("a", "b", "c"), `packageName: "b", version: 1.0.0`, `packageName: "b", version: 1.0.1`)
	if err := os.WriteFile(catalog, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := run()
	if want := []string{"audit.json", "index.html", "packages/b/index.html", "releases/b.json", "releases/b/b.json"}; !slices.Equal(r.Changed, want) || len(r.Added)+len(r.Removed) > 0 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// Real catalogs and bundles: links resolve, nothing is loaded, twice the same bytes with any number of workers.
func TestCorpus(t *testing.T) {
	refs := slices.Concat(corpustest.Files(t, "catalogs", "*"), corpustest.Files(t, "bundles", "*", "*"), corpustest.Files(t, "packagemanifests", "*"))
	one, many := render(t, 1, refs...), render(t, 5, refs...)
	if len(one.Files) != len(many.Files) {
		t.Fatalf("%d and %d files", len(one.Files), len(many.Files))
	}
	for i, f := range one.Files {
		if g := many.Files[i]; f.Path != g.Path || string(f.Data) != string(g.Data) {
			t.Errorf("%s differs", f.Path)
		}
	}
	links(t, one)
	index := len(file(t, one, "index.html"))
	if per := index / len(one.Sources); corpustest.Whole(t) && per > 620 {
		t.Errorf("the index has %d bytes for each package", per)
	}
	fmt.Printf("site: %d packages, %d files, an index of %d bytes\n", len(one.Sources), len(one.Files), index)
}

// The releases are what a custom datasource of Renovate reads. What OLM does not install anew is deprecated.
func TestReleases(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte(`---
schema: olm.package
name: a
defaultChannel: stable
---
schema: olm.channel
package: a
name: stable
entries:
- {name: a.v1.0.0}
- {name: a.v1.1.0, replaces: a.v1.0.0}
- {name: a.v1.2.0, replaces: a.v1.0.0, skips: [a.v1.1.0]}
- {name: a.v1.10.0, replaces: a.v1.2.0}
---
schema: olm.channel
package: a
name: with space
entries:
- {name: a.v1.1.0}
---
schema: olm.deprecations
package: a
entries:
- {reference: {schema: olm.bundle, name: a.v1.2.0}, message: old}
---
schema: olm.bundle
package: a
name: a.v1.0.0
image: registry.example.com/a:1.0.0
properties:
- {type: olm.package, value: {packageName: a, version: 1.0.0}}
- {type: olm.csv.metadata, value: {annotations: {repository: "https://example.com/a", createdAt: "2026-02-03T04:05:06Z"}}}
---
schema: olm.bundle
package: a
name: a.v1.1.0
image: registry.example.com/a:1.1.0
properties:
- {type: olm.package, value: {packageName: a, version: 1.1.0}}
- {type: olm.csv.metadata, value: {annotations: {repository: "javascript:alert(1)"}}}
---
schema: olm.bundle
package: a
name: a.v1.2.0
image: registry.example.com/a:1.2.0
properties:
- {type: olm.package, value: {packageName: a, version: 1.2.0}}
---
schema: olm.bundle
package: a
name: a.v1.10.0
image: registry.example.com/a:1.10.0
properties:
- {type: olm.package, value: {packageName: a, version: 1.10.0}}
- {type: olm.deprecated, value: {}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := render(t, 1, dir)
	for name, want := range map[string]string{
		"releases/a.json": `{"releases": [{"version": "1.0.0", "releaseTimestamp": "2026-02-03T00:00:00Z", "sourceUrl": "https://example.com/a"}, ` +
			`{"version": "1.1.0"}, {"version": "1.2.0", "isDeprecated": true}, {"version": "1.10.0", "isDeprecated": true}]}`,
		"releases/a/stable.json": `{"releases": [{"version": "1.0.0", "releaseTimestamp": "2026-02-03T00:00:00Z", "sourceUrl": "https://example.com/a"}, ` +
			`{"version": "1.1.0", "isDeprecated": true}, {"version": "1.2.0", "isDeprecated": true}, {"version": "1.10.0", "isDeprecated": true}]}`,
		"releases/a/with-space--xb8b8f25a.json": `{"releases": [{"version": "1.1.0"}]}`,
	} {
		if got := strings.Join(strings.Fields(file(t, s, name)), " "); strings.NewReplacer("{ ", "{", " }", "}", "[ ", "[", " ]", "]").Replace(got) != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
