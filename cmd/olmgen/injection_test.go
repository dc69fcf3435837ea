package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// hostileText would do something in each place that olmgen writes text to: a terminal (colors, the title, the direction of
// text, a line that looks like olmgen's own), a workflow log, YAML, Markdown, HTML, a path, a template of Helm.
const hostileText = "INJ\x1b[31mred\x1b]0;t\x07\u202egnp\u2066\u0085\u2028\r\nolmgen: all is well\n::error::INJ\n---\nkind: Injected\n...\n# INJHEAD\n" +
	"<injected onload=\"x()\"><script>x()</script>\n[a](javascript:x()) ![a](https://injected.example/x.png) | x | `\n```\n\n<injected>\n" +
	"{{ .Values.injected }} ${injected} ../../../injected %0A \" ' ; end\n"

// places are where a bundle holds text of its author: what is replaced in which file.
var places = []struct {
	name, file string
	old        string // a pattern; its first group stays, the rest of the match is replaced
}{
	{"name of the CSV", "*.clusterserviceversion.yaml", `(?m)(^  name: )memcached-operator\.v0\.0\.[12]$`},
	{"display name", "*.clusterserviceversion.yaml", `(?m)(^  displayName: ).*$`},
	{"description", "*.clusterserviceversion.yaml", `(?m)(^  description: )\|-\n(?:    .*\n|\n)+`},
	{"annotation", "*.clusterserviceversion.yaml", `(    categories: ).*`},
	{"suggested namespace", "*.clusterserviceversion.yaml", `(    operatorframework.io/suggested-namespace: ).*`},
	{"API", "*.clusterserviceversion.yaml", `(    - description: )Memcached is.*`},
	{"kind", "*.clusterserviceversion.yaml", `(      kind: )Memcached`},
	{"verb", "*.clusterserviceversion.yaml", `(          - )create`},
	{"API group", "*.clusterserviceversion.yaml", `(          - )apps`},
	{"service account", "*.clusterserviceversion.yaml", `(        serviceAccountName: )memcached-operator-controller-manager`},
	{"argument", "*.clusterserviceversion.yaml", `(                - )--metrics-bind-address=:8443`},
	{"image", "*.clusterserviceversion.yaml", `(                image: ).*`},
	{"deployment", "*.clusterserviceversion.yaml", `(?m)(^      - (?:label:\n(?:        .*\n)*        )?name: ).*$`},
	{"version", "*.clusterserviceversion.yaml", `(?m)(^  version: ).*$`},
	{"provider", "*.clusterserviceversion.yaml", `(?m)(^    name: ).*$`},
	{"name of an object", "*_service.yaml", `(?m)(^  name: ).*$`},
	{"name of a role", "*_clusterrole.yaml", `(?m)(^  name: ).*$`},
	{"kind of an object", "*_service.yaml", `(?m)(^kind: ).*$`},
	{"namespace of an object", "*_service.yaml", `(?m)(^metadata:\n)`},
	{"description of a CRD", "*memcacheds.yaml", `(description: )(?:[^|\n>].*)`},
	{"package", "annotations.yaml", `(operators.operatorframework.io.bundle.package.v1: ).*`},
	{"channel", "annotations.yaml", `(operators.operatorframework.io.bundle.channels.v1: ).*`},
}

// hostileCommands are the commands and formats that print or write what is in a bundle.
var hostileCommands = []string{
	"render h -n ops", "render h -n ops --profile olmv1", "render h -n ops --profile descoped --bind-namespaces a",
	"render h -n ops --profile subscription --catalog-image example.com/c:v1", "render h -n ops -o out/flat", "render h -n ops -o out/kind --layout by-kind",
	"render h -n ops -o out/catalog --layout gitops-catalog", "render h -n ops -o out/scope --layout cluster-scope", "render h -n ops -o out/helm --layout helm",
	"render h -n ops -o out/flat --check", "render h -o out/none --format json", "init h",
	"diff g h -n ops", "diff g h -n ops --format markdown", "diff g h -n ops --format json", "diff g h -n ops --format sarif", "diff g h -n ops --format html",
	"permissions h -n ops", "permissions h -n ops --format markdown", "permissions h -n ops --format json", "permissions h -n ops --format sarif", "permissions h -n ops --format html",
	"history both", "history both --format markdown", "history both --format json", "history both --format svg",
	"graph h",
	"check h/manifests -n ops", "check h/manifests -n ops --format json", "check h/manifests -n ops --format markdown", "check h/manifests -n ops --format sarif",
	"lint h --policy operate-first", "lint h --policy operate-first --format json", "lint h --policy operate-first --format markdown", "lint h --policy operate-first --format sarif",
	"validate h", "validate h --format json", "validate h --format markdown", "validate h --format sarif",
	"images h", "images h --format table", "images h --format json", "images h --format markdown", "images h --format imagedigestmirrorset --mirror example.com",
	"installer-rbac h --installer ci/deployer", "catalog audit h", "catalog audit h --format json", "catalog audit h --format csv", "catalog audit h --format sarif",
	"catalog site h -o out/site",
}

// TestInjection puts hostile text into each place of a bundle and runs every command: whatever it prints keeps its form,
// and what it writes stays in its directory.
func TestInjection(t *testing.T) {
	fuzztest.Slow(t)
	quoted, err := json.Marshal(hostileText)
	must(t, err)
	good, older := example(t, "bundle"), example(t, "bundle-v0.1.0")
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			must(t, os.CopyFS("g", os.DirFS(older)))
			must(t, os.CopyFS("h", os.DirFS(good)))
			replaced := 0
			must(t, filepath.WalkDir("h", func(path string, e fs.DirEntry, err error) error {
				if ok, _ := filepath.Match(p.file, filepath.Base(path)); err != nil || e.IsDir() || !ok {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				with := "${1}" + strings.ReplaceAll(string(quoted), "$", "$$")
				if strings.HasSuffix(p.old, `\n)`) {
					with = "${1}  namespace: " + strings.ReplaceAll(string(quoted), "$", "$$") + "\n"
				}
				if strings.HasSuffix(p.old, `)+`) {
					with += "\n"
				}
				changed := regexp.MustCompile(p.old).ReplaceAllString(string(data), with)
				if changed != string(data) {
					replaced++
				}
				return os.WriteFile(path, []byte(changed), 0o644)
			}))
			if replaced == 0 {
				t.Fatal("nothing was replaced")
			}
			must(t, os.CopyFS("both/g", os.DirFS("g")))
			must(t, os.CopyFS("both/h", os.DirFS("h")))
			must(t, os.Mkdir("out", 0o755))
			printed := 0
			for _, line := range hostileCommands {
				var stdout, stderr bytes.Buffer
				code := run(strings.Fields(line), strings.NewReader(""), &stdout, &stderr)
				if code == exitUsage {
					t.Fatalf("%s: %s", line, stderr.String())
				}
				checkText(t, line+": stderr", stderr.Bytes())
				checkOutput(t, line, stdout.Bytes())
				if code != exitFailed {
					printed++
				}
			}
			checkFiles(t)
			t.Logf("%d of %d commands took it", printed, len(hostileCommands))
		})
	}
}

// checkOutput checks what a command printed by its format.
func checkOutput(t *testing.T, line string, data []byte) {
	t.Helper()
	_, format, _ := strings.Cut(line, "--format ")
	switch format, _, _ := strings.Cut(format, " "); {
	case len(data) == 0:
	case format == "json", format == "sarif", strings.Contains(line, "--format json"):
		if !json.Valid(data) {
			t.Errorf("%s: no JSON", line)
		}
		checkControl(t, line, data)
	case format == "markdown":
		checkMarkdown(t, line, data)
	case format == "html", format == "svg":
		checkHTML(t, line, data)
	case format == "csv":
		if _, err := csv.NewReader(bytes.NewReader(data)).ReadAll(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	case strings.HasPrefix(line, "render") && !strings.Contains(line, "--check"), strings.HasPrefix(line, "installer"), strings.HasPrefix(line, "init"), format == "yaml", format == "imagedigestmirrorset":
		checkYAML(t, line, data)
	default:
		checkText(t, line, data)
	}
}

// checkCharacters reports characters that control a terminal or the direction of text.
func checkCharacters(t *testing.T, what string, data []byte) {
	t.Helper()
	if !utf8.Valid(data) {
		t.Errorf("%s: no UTF-8", what)
	}
	for i, r := range string(data) {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			t.Errorf("%s: %q in %q", what, r, data[max(0, i-60):min(len(data), i+60)])
			return
		}
	}
}

// checkControl reports characters that control a terminal. Data for programs keeps all others, as kubectl prints them.
func checkControl(t *testing.T, what string, data []byte) {
	t.Helper()
	for i, r := range string(data) {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			t.Errorf("%s: %q in %q", what, r, data[max(0, i-60):min(len(data), i+60)])
			return
		}
	}
}

// checkText checks text for a person.
func checkText(t *testing.T, what string, data []byte) {
	t.Helper()
	checkCharacters(t, what, data)
	for l := range strings.Lines(string(data)) {
		for _, p := range []string{"olmgen: all is well", "::error::INJ", "kind: Injected"} {
			if strings.HasPrefix(l, p) {
				t.Errorf("%s: the bundle wrote the line %q", what, l)
			}
		}
	}
}

func checkYAML(t *testing.T, what string, data []byte) {
	t.Helper()
	checkControl(t, what, data)
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc map[string]any
		if err := d.Decode(&doc); err != nil {
			if err.Error() != "EOF" {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		if doc["kind"] == "Injected" {
			t.Errorf("%s: an object that the bundle injected", what)
		}
	}
}

func checkMarkdown(t *testing.T, what string, data []byte) {
	t.Helper()
	checkCharacters(t, what, data)
	var page bytes.Buffer
	must(t, goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(gmhtml.WithUnsafe())).Convert(data, &page))
	checkHTML(t, what, page.Bytes())
}

// checkHTML reports elements, attributes and links that are the bundle's.
func checkHTML(t *testing.T, what string, data []byte) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(data))
	must(t, err)
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent != nil && n.Parent.Data == "script" && strings.Contains(n.Data, "x()") {
			t.Errorf("%s: a script of the bundle: %.200q", what, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "injected" {
			t.Errorf("%s: an element of the bundle", what)
		}
		if !strings.HasPrefix(what, "out/site/") && // which shows the Markdown of descriptions
			strings.HasPrefix(n.Data, "h") && len(n.Data) == 2 && n.FirstChild != nil && strings.HasPrefix(n.FirstChild.Data, "INJHEAD") {
			t.Errorf("%s: a heading of the bundle", what)
		}
		for _, a := range n.Attr {
			value := strings.ToLower(a.Val)
			if a.Key == "onload" || strings.HasPrefix(value, "javascript:") || a.Key == "src" && strings.Contains(value, "injected") {
				t.Errorf("%s: <%s %s=%q>", what, n.Data, a.Key, a.Val)
			}
		}
	}
}

// reserved are names that Windows keeps for devices.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// checkFiles checks the names and the content of what was written, and that it is below out.
func checkFiles(t *testing.T) {
	t.Helper()
	must(t, filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if strings.Contains(e.Name(), "injected") {
			t.Errorf("%s was written", path)
		}
		return err
	}))
	lower := map[string]string{}
	must(t, filepath.WalkDir("out", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "out" {
			return err
		}
		checkCharacters(t, "name of a file", []byte(path))
		if strings.ContainsAny(e.Name(), `\:*?"<>|`+"\n\t") || reserved.MatchString(e.Name()) || len(e.Name()) > 255 || strings.HasSuffix(e.Name(), ".") || strings.HasSuffix(e.Name(), " ") {
			t.Errorf("name of a file: %q", path)
		}
		if other := lower[strings.ToLower(path)]; other != "" {
			t.Errorf("%s and %s differ by case", path, other)
		}
		lower[strings.ToLower(path)] = path
		if e.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		switch filepath.Ext(path) {
		case ".html", ".svg":
			checkHTML(t, path, data)
		case ".md":
			checkMarkdown(t, path, data)
		case ".json":
			if !json.Valid(data) {
				t.Errorf("%s: no JSON", path)
			}
		case ".yaml":
			if !strings.Contains(path, "/helm/templates/") && !strings.Contains(path, "/helm/crds/") {
				checkYAML(t, path, data)
			}
		}
		return err
	}))
}
