package site

import (
	"bytes"
	"html/template"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxDescription is how much of a description is shown. The largest public one has 60 kB.
const maxDescription = 128 << 10

var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(belowHeadings{}, 100))))
})

// belowHeadings puts the headings of a description below those of its page, without a jump of levels, and replaces
// images by their text: a page loads nothing.
type belowHeadings struct{}

func (belowHeadings) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var pictures []*ast.Image
	var above []int // the levels of the headings above one
	// The function returns no error.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if entering {
				for len(above) > 0 && above[len(above)-1] >= n.Level {
					above = above[:len(above)-1]
				}
				above = append(above, n.Level)
				n.Level = min(2+len(above), 6)
			}
		case *ast.Image:
			if entering {
				pictures = append(pictures, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, p := range pictures {
		parent := p.Parent()
		for child := p.FirstChild(); child != nil; child = p.FirstChild() {
			parent.InsertBefore(parent, p, child)
		}
		parent.RemoveChild(parent, p)
	}
}

var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4",
		"h5", "h6")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^\d{1,6}$`)).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
})

// description returns the Markdown of a stranger as HTML that does nothing but show text and links.
func description(s string) template.HTML {
	cut := false
	if len(s) > maxDescription {
		s, cut = s[:maxDescription], true
	}
	for len(s) > 0 && !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	var b bytes.Buffer
	if err := markdown().Convert([]byte(s), &b); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(s) + "</p>") // a Buffer does not fail
	}
	out := policy().SanitizeBytes(b.Bytes())
	if cut {
		out = append(out, "<p>…</p>"...)
	}
	return template.HTML(out)
}
