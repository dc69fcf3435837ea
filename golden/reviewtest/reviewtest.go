// Package reviewtest is what tests of several reports need: objects and bundles to report on, hostile text, and checks
// that no text of a stranger leaves its place in a report.
package reviewtest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Objects reads a YAML stream.
func Objects(tb testing.TB, name, text string) []*manifest.Object {
	tb.Helper()
	list, err := read(name, []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func read(name string, data []byte) (list []*manifest.Object, err error) {
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			return nil, err
		}
		list = append(list, objects...)
	}
	return list, nil
}

// Hostile returns the objects that values print to, in files whose name has s in it; nil if they are no YAML, which is
// as good.
func Hostile[T any](tb testing.TB, s string, values []T) []*manifest.Object {
	tb.Helper()
	var list []*manifest.Object
	for _, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		objects, err := read("x"+s[:min(len(s), 255)], data)
		if err != nil {
			return nil
		}
		list = append(list, objects...)
	}
	return list
}

// Bundle reads a bundle's directory; nil if it is refused, which is not what these tests are about.
func Bundle(tb testing.TB, dir string) *bundle.Bundle {
	tb.Helper()
	src, err := source.Open(tb.Context(), dir, source.Options{})
	if err != nil {
		return nil
	}
	defer src.Close()
	b, err := bundle.Read(src.FS, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		return nil
	}
	return b
}

// Texts could break a format. The last one is long.
var Texts = []string{
	"x", "a|b", "`code`", "**d**", "*b* _i_ ~s~ #1", "~~s~~", "<script>alert(1)</script>", "</details></style>",
	"</details><h1>", "[e](https://e.example)", "![i](https://e.example/i.png)", "@org/team", "\x1b[31mred\x1b[0m",
	"line\nbreak\r\n| z |", "\u202emirror\u202c", "\u0085\u2028", "\u2028", "a\\|b", "\\|", "\\", "a\tb",
	"\"><img src=x onerror=1>", "\" onload=x=\"",
	"{{.}}", "{{template \"body\"}}", "&lt;b&gt;", "\x00", "\ufeff", "', '", "]]>", "-->", "$(x)", "éà",
	strings.Repeat("long", 1<<18),
}

var (
	tag      = regexp.MustCompile(`</?([a-zA-Z!][a-zA-Z0-9]*)`)
	cellEdge = regexp.MustCompile(`(^|[^\\])((\\\\)*)\|`)
	htmlTags = " !doctype html head meta title style body header main h1 h2 p div label input span button section a " +
		"fieldset legend nav ul li table thead tr th tbody td code small strong details summary script "
	handler = regexp.MustCompile(`<[^>]*\son[a-z]+=[^>]*>`)
	value   = regexp.MustCompile(`="[^"]*"`) // of an attribute
)

// CheckFormat looks for text that got out of its place in a report with hostile text.
func CheckFormat(t *testing.T, format, text string) {
	t.Helper()
	if format == "json" || format == "sarif" {
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s: not JSON", format)
		}
	}
	if format == "json" {
		return
	}
	unprintable := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if i := strings.IndexFunc(text, unprintable); i >= 0 {
		t.Fatalf("%s: not printable at %d: %q", format, i, text[i:min(i+20, len(text))])
	}
	if len(text) > 1<<17 {
		t.Fatalf("%s: %d bytes", format, len(text))
	}
	switch format {
	case "html":
		checkHTML(t, text)
	case "markdown":
		checkMarkdown(t, text)
	}
}

func checkHTML(t *testing.T, text string) {
	t.Helper()
	for _, m := range tag.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(htmlTags, " "+strings.ToLower(m[1])+" ") {
			t.Fatalf("html: a tag that is not the page's: %s", m[0])
		}
	}
	if strings.Count(text, "<style>") != 1 || strings.Count(text, "<script") != 1 ||
		handler.MatchString(value.ReplaceAllString(text, "=")) || strings.Contains(text, "href=\"http") {
		t.Fatal("html: a style, a handler or a link that is not the page's")
	}
}

func checkMarkdown(t *testing.T, text string) {
	t.Helper()
	columns := 0
	for line := range strings.SplitSeq(text, "\n") {
		for _, m := range tag.FindAllStringSubmatch(line, -1) {
			if m[1] != "details" && m[1] != "summary" {
				t.Fatalf("markdown: a tag: %s", line)
			}
		}
		if strings.Contains(line, "@org") || strings.Contains(line, "https://e.example") {
			t.Fatalf("markdown: a mention or a link: %s", line)
		}
		switch edges := len(cellEdge.FindAllString(line, -1)); {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = edges
		case edges != columns:
			t.Fatalf("markdown: %d cells in place of %d: %.300s", edges, columns, line)
		}
	}
}
