package webpage

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
)

// hostile are texts that would be something else than text if they were not escaped.
var hostile = []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</style><b>", "</title><b>",
	"javascript:alert(1)", "{{.}}", "a\x00b\x1b[31m", "\u202eevil\u2066", "' onclick='x", "<!--", "]]>", "\r\n\t",
	strings.Repeat("long", 1000)}

func pageOf(s string) Page {
	return Page{Kind: s, Title: s, Lead: s, Sections: []Section{
		{Text: []string{s}, Tables: []Table{{Columns: []string{s, "b"}, Rows: [][]Cell{
			{{Text: s, Note: s, Style: Strong}, {Text: s, Style: Code, Order: 2}}, {{Text: s, Note: s, Style: Strong}},
		}}}},
		{Title: s, Tables: []Table{{Title: s, Closed: true, Columns: []string{s}, Rows: [][]Cell{{{Text: s}}}}}},
	}}
}

func write(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
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

// TestIDs holds that ids are unique, that links lead to them, and that a line keeps its id when others come and go.
func TestIDs(t *testing.T) {
	ids := func(p Page) (ids map[string]bool) {
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
	*rows = append([][]Cell{{{Text: "new"}}}, *rows...)
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
