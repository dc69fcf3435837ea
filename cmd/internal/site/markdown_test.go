package site

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/manifest"
)

var hostileText = []string{
	"# a\n### b\n## c\n", "<script>alert(1)</script>", "a <b onclick=x>b</b> c", "[a](javascript:alert(1))", "[a](../x \"t\")",
	"[a](https://example.com/?a=b&c=d \"t\")", "![alt **b**](https://example.com/x.png \"t\")", "[![p](x.png)](https://example.com)",
	"<https://example.com/x> <ftp://example.com> <a@example.com> <vbscript:x>", "www.example.com and https://example.com/a_b.",
	"```go onload=x\n</code></pre><script>\n```", "~~a~~", "7. a\n8. b\n", "- a\n\n  b\n", "a&lt;script&gt;&#60;b&#62;", "<div>\n\n# h\n\n</div>",
	"[a](HTTP://EXAMPLE.com/%zz) [b](https://[::1)", "[x]: javascript:alert(1)\n\n[x] [y][x]", "> a\n\n---\n\n`<b>`", "![a <b>](x)",
	"[<b>a</b> ![i](i)](data:text/html,x)", "a\\\nb  \nc", "<!-- a --> b <?php ?> <![CDATA[x]]>", "http://a\u202eb", "[a](<https://e.com/ b>)",
	"| a | b |\n|:--|--:|\n| <i>1</i> | [x](javascript:y) |\n| `|` | 2 |",
}

// FuzzDescription has a sanitizer, with a list of what a description may have, look for more than that.
func FuzzDescription(f *testing.F) {
	for _, s := range hostileText {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fuzztest.Limit(t, len(s))
		sanitized(t, s)
	})
}

func sanitized(t *testing.T, s string) {
	t.Helper()
	got := description(s)
	if a, b := tokens(got), tokens(allowed().Sanitize(got)); !slices.Equal(a, b) {
		t.Errorf("%q: the sanitizer changes %q to %q", s, a, b)
	}
}

// The descriptions of real operators are shown in full.
func TestDescriptionCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpustest.Root(t), "bundles", "*", "*", "manifests", "*clusterserviceversion*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	n := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := manifest.ReadFile(name, data, manifest.Limits{})
		if err != nil {
			continue
		}
		value, err := docs[0].Value()
		if err != nil {
			continue
		}
		var csv struct{ Spec struct{ Description string } }
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &csv); err != nil {
			continue
		}
		sanitized(t, csv.Spec.Description)
		n++
	}
	if n < len(files)/2 {
		t.Errorf("only %d descriptions of %d files", n, len(files))
	}
}

func allowed() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4",
		"h5", "h6", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^\d{1,9}$`)).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}

// tokens returns the elements, attributes and texts of HTML: what a browser sees.
func tokens(s string) (list []string) {
	z := html.NewTokenizer(strings.NewReader(s))
	var text bytes.Buffer
	for {
		kind := z.Next()
		if kind == html.TextToken {
			text.WriteString(z.Token().Data)
			continue
		}
		if text.Len() > 0 {
			list = append(list, text.String())
			text.Reset()
		}
		if kind == html.ErrorToken {
			return list
		}
		tok := z.Token()
		line := tok.Type.String() + " " + tok.Data
		for _, a := range tok.Attr {
			line += " " + a.Key + "=" + a.Val
		}
		list = append(list, line)
	}
}
