package print

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/document"
)

// hostile are texts that would be something else than text if they were not escaped.
var hostile = []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</style><b>", "</title><b>",
	"javascript:alert(1)", "{{.}}", "a\x00b\x1b[31m", "\u202eevil\u2066", "' onclick='x", "<!--", "]]>", "\r\n\t",
	strings.Repeat("long", 1000)}

func pageOf(s string) *document.Document {
	return &document.Document{Kind: s, Title: s, Lead: s, Sections: []document.Section{
		{Facts: []document.Fact{{Name: s, Text: s}}, Text: []string{s}, Tables: []document.Table{{Columns: document.Columns(s, "b"), Rows: [][]document.Cell{
			{{Text: s, Note: s, Style: document.Strong}, {Text: s, Style: document.Code, Order: 2, Chips: []document.Chip{{Text: s, Style: document.Style(findings.Error)}}}}, {{Text: s, Note: s, Style: document.Strong}, {}},
		}}}},
		{Title: s, Tables: []document.Table{{Title: s, Closed: true, Columns: document.Columns(s), Rows: [][]document.Cell{{{Text: s}}}}}},
	}}
}

func write(t *testing.T, d *document.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Document(&b, d, findings.HTML); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostile parses pages of hostile text: they have the elements and attributes of a page of harmless text.
func TestHostile(t *testing.T) {
	shape := func(text string) (out []string) {
		for n := range parse(t, text).Descendants() {
			if n.Type == html.CommentNode || n.Type == html.ElementNode {
				line := n.Data
				for _, a := range n.Attr {
					line += " " + a.Key
				}
				out = append(out, line)
			}
		}
		return out
	}
	want := strings.Join(shape(write(t, pageOf("x"))), "\n")
	for _, s := range hostile {
		page := write(t, pageOf(s))
		got := strings.ReplaceAll(strings.Join(shape(page), "\n"), "td role class", "td role")
		if got != want {
			t.Errorf("%.60q changes the page:\n%s", s, got)
		}
		if i := strings.IndexFunc(page, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%.60q: not printable at %d", s, i)
		}
	}
}

func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// TestPolicy holds that the policy allows the style and the script of the page, that nothing else is there that it
// would have to allow, and that the page refers to nothing outside of it.
func TestPolicy(t *testing.T) {
	var policy string
	inline := map[string]string{}
	for n := range parse(t, write(t, pageOf("x"))).Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "meta" && attribute(n, "http-equiv") == "Content-Security-Policy" {
			policy = attribute(n, "content")
		}
		if n.Data == "style" || n.Data == "script" {
			if inline[n.Data] != "" {
				t.Errorf("two elements %s", n.Data)
			}
			inline[n.Data] = n.FirstChild.Data
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src":
				t.Errorf("<%s %s>", n.Data, a.Key)
			case a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
				t.Errorf("a link to %s", a.Val)
			}
		}
	}
	want := "default-src 'none'; style-src 'sha256-" + hash(inline["style"]) + "'; script-src 'sha256-" +
		hash(inline["script"]) + "'; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("the policy is %s, want %s", policy, want)
	}
	for _, outside := range []string{"url(", "@import", "fetch(", "http"} {
		if strings.Contains(styleText+scriptText, outside) {
			t.Errorf("style or script has %s", outside)
		}
	}
}

// TestSeverities holds that rows are counted by severity, that each count is a filter which the style applies, and that a section without
// error and warning is folded at first on a page of more than 30 lines.
func TestSeverities(t *testing.T) {
	columns := []document.Column{{Title: "Severity"}, {Title: "At", Place: true}}
	row := func(s findings.Severity, word, at string) []document.Cell {
		return []document.Cell{{Text: word, Severity: s}, {Text: at, Style: document.Code}}
	}
	p := &document.Document{Sections: []document.Section{
		{Tables: []document.Table{{Columns: columns, Rows: [][]document.Cell{row(findings.Error, "error", "a.yaml:1")}}}},
		{Title: "Bad", Tables: []document.Table{{Columns: columns, Rows: [][]document.Cell{row(findings.Error, "error", "dir/a.yaml:1,2"), row(findings.Note, "info", "b")}}}},
		{Title: "Harmless", Tables: []document.Table{{Title: "x", Columns: columns, Rows: [][]document.Cell{row(findings.Note, "info", "b.yaml:77")}}}},
		{Title: "Without", Tables: []document.Table{{Columns: document.Columns("Text"), Rows: [][]document.Cell{{{Text: "x"}}}}}},
	}}
	few := write(t, p)
	if open := `<details class="part" open><summary><h2>Harmless</h2>`; !strings.Contains(few, open) {
		t.Error("a page with few lines is folded")
	}
	for range 30 {
		p.Sections[3].Tables[0].Rows = append(p.Sections[3].Tables[0].Rows, []document.Cell{{Text: "x"}})
	}
	page := write(t, p)
	for _, want := range []string{"<span>all 34 lines</span>", `id="is-error" data-tag="is-error"><span class="error">1 error</span>`,
		`<span class="note">2 info</span>`, `<details class="part" open><summary><h2>Bad</h2>`, `<details class="part"><summary><h2>Harmless</h2>`,
		`<h2>Without&nbsp;`, `<code>dir/<span class="line">a.yaml:1,2</span></code>`, `<code><span class="line">b.yaml:77</span></code>`,
		`<code>b</code>`, `class="is-error"`, `class="is-note"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	for _, s := range findings.Severities[:3] {
		if rule := "body:has(#is-" + string(s) + ":checked) section:not(.overview, :has(.is-" + string(s) + "))"; !strings.Contains(page, rule) {
			t.Errorf("the style does not have %s", rule)
		}
	}
	p.Sections = p.Sections[2:3]
	if strings.Contains(write(t, p), "<fieldset") {
		t.Error("a filter that changes nothing is on the page")
	}
}

// TestPlaces holds that a line number stays with its file, and that only names of files too long for a phone are broken.
func TestPlaces(t *testing.T) {
	long := strings.Repeat("long", 20)
	for s, want := range map[string][2]string{"": {"", ""}, "a.yaml:7": {"", "a.yaml:7"}, "a/b/c.yaml:7,8": {"a/b/", "c.yaml:7,8"},
		long + ":7": {long, ":7"}, "Role x/y": {"Role x/y", ""}, "image:tag": {"image:tag", ""}, "x at a.yaml:9": {"x at ", "a.yaml:9"}} {
		if head, tail := splitPlace(s); head != want[0] || tail != want[1] {
			t.Errorf("%q: %q, %q", s, head, tail)
		}
	}
}

// TestIDs holds that ids are unique, that links lead to them, and that a line keeps its id when others come and go.
func TestIDs(t *testing.T) {
	ids := func(p *document.Document) (ids map[string]bool) {
		ids = map[string]bool{}
		root := parse(t, write(t, p))
		for n := range root.Descendants() {
			if id := attribute(n, "id"); id != "" {
				if ids[id] {
					t.Errorf("the id %s is there twice", id)
				}
				ids[id] = true
			}
		}
		for n := range root.Descendants() {
			if href := attribute(n, "href"); href != "" && !ids[href[1:]] {
				t.Errorf("%s leads nowhere", href)
			}
		}
		return ids
	}
	p := pageOf("x")
	before := ids(p)
	rows := &p.Sections[0].Tables[0].Rows
	*rows = append([][]document.Cell{{{Text: "new"}, {}}}, *rows...)
	after := ids(p)
	for id := range before {
		if !after[id] {
			t.Errorf("the id %s is gone", id)
		}
	}
	if len(after) != len(before)+1 {
		t.Errorf("%d ids, want %d", len(after), len(before)+1)
	}
	if first := write(t, p); first != write(t, p) {
		t.Error("the same page has other bytes")
	}
}

// TestParts holds that a page has its contents, facts, chips, a time line and a logo as it should.
func TestParts(t *testing.T) {
	table := document.Table{Time: true, Columns: document.Columns("Version"), Rows: [][]document.Cell{{{Text: "1.0.0", Chips: []document.Chip{{Text: "Secrets", Style: document.Style(findings.Warning)}}}}}}
	p := &document.Document{Title: "x", Sections: []document.Section{{Facts: []document.Fact{{Name: "Provider", Text: "a < b"}}}, {ID: "a", Title: "A"}, {ID: "b", Title: "B"},
		{ID: "c", Title: "C", Beside: true, Tables: []document.Table{table}}}}
	plain := write(t, p)
	for _, want := range []string{`<dl class="facts"><div><dt>Provider</dt><dd>a &lt; b</dd></div></dl>`, `<nav class="contents" aria-label="Contents">`,
		`<li><a href="#b">B</a></li>`, `class="timeline"`, `<span class="chip warning">Secrets</span>`, `<div class="beside">`} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(plain, "img-src") || strings.Contains(plain, "<img") {
		t.Error("a page without images allows some")
	}
	p.Logo = &document.Image{MediaType: "image/png", Data: []byte("x")}
	for _, want := range []string{"img-src data:; base-uri", `<img class="logo" src="data:image/png;base64,eA==" alt="" width="64" height="64">`} {
		if !strings.Contains(write(t, p), want) {
			t.Errorf("no %s", want)
		}
	}
	p.Sections = p.Sections[:3]
	if strings.Contains(write(t, p), "<nav") {
		t.Error("two sections need no contents")
	}
}
