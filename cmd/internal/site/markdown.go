package site

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"html/template"
	"image"
	_ "image/gif" // image.DecodeConfig knows the format
	_ "image/jpeg"
	_ "image/png"
	"net/url"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/olmgen/olmgen/internal/document"
)

// maxDescription is how much of a description is shown. The largest public one has 60 kB.
const maxDescription = 128 << 10

// maxMarks is how many marks of emphasis, links and quotations a description may have. goldmark needs time by their
// square. With more, a description is shown as text; those of 215 public bundles have 208 at most.
const maxMarks = 10_000

var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Strikethrough,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(plainPage{}, 100))))
})

// plainPage makes the tree of a description one that does nothing but show text and links: it removes HTML, unwraps
// images and links that lead elsewhere than to the web, and puts the headings below those of the page, without a jump
// of levels. goldmark escapes all text. FuzzDescription has a sanitizer look for elements that are not of the tree.
type plainPage struct{}

func (plainPage) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var unwrapped, removed []ast.Node
	var addresses []*ast.AutoLink
	var above []int // the levels of the headings above one
	// The function returns no error.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			for len(above) > 0 && above[len(above)-1] >= n.Level {
				above = above[:len(above)-1]
			}
			above = append(above, n.Level)
			n.Level = min(2+len(above), 6)
		case *ast.HTMLBlock, *ast.RawHTML:
			removed = append(removed, n)
		case *ast.FencedCodeBlock:
			n.Info = nil // it would become a class
		case *ast.Image:
			unwrapped = append(unwrapped, n)
		case *ast.Link:
			n.Title = nil
			if n.Destination = webAddress(util.URLEscape(n.Destination, true)); n.Destination == nil {
				unwrapped = append(unwrapped, n)
			}
			n.SetAttributeString("rel", rel)
		case *ast.AutoLink:
			addresses = append(addresses, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range addresses {
		link := plainLink(n, reader.Source())
		n.Parent().ReplaceChild(n.Parent(), n, link)
	}
	for _, n := range unwrapped {
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, child)
		}
	}
	for _, n := range append(unwrapped, removed...) {
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

// plainLink returns an address in a text as a link, or as text if it may not be followed.
func plainLink(n *ast.AutoLink, source []byte) ast.Node {
	label := ast.NewString(n.Label(source))
	label.SetRaw(true) // a backslash is one
	to := n.URL(source)
	if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(to), []byte("mailto:")) {
		to = append([]byte("mailto:"), to...)
	}
	link := ast.NewLink()
	if link.Destination = webAddress(util.URLEscape(to, false)); link.Destination == nil {
		return label
	}
	link.SetAttributeString("rel", rel)
	link.AppendChild(link, label)
	return link
}

var rel = []byte("nofollow noreferrer")

func webAddress(to []byte) []byte {
	u, err := url.Parse(string(to))
	if err != nil {
		return nil
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return []byte(u.String())
	}
	return nil
}

// description returns the Markdown of a stranger as HTML that does nothing but show text and links.
func description(s string) string {
	cut := len(s) > maxDescription
	s = s[:min(len(s), maxDescription)]
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
	marks := 0 // characters that can begin emphasis, a link, an image or a quotation
	for _, c := range "*_~[>|" {
		marks += strings.Count(s, string(c))
	}
	if marks > maxMarks {
		b.WriteString("<p>" + template.HTMLEscapeString(s) + "</p>")
	} else if err := markdown().Convert([]byte(s), &b); err != nil {
		return "<p>" + template.HTMLEscapeString(s) + "</p>" // a Buffer does not fail
	}
	if cut {
		b.WriteString("<p>…</p>")
	}
	return b.String()
}

// Limits of icons. One that is larger is left out: it would make the page heavy.
const (
	maxIcon      = 96 << 10
	maxIndexIcon = 4 << 10
	maxPixels    = 4096 // on a side
)

// icon returns the icon of the package: that of its head, or of the catalog. Nil: there is none that a page may show.
func (m *making) icon(ctx context.Context) *document.Image {
	if m.head != nil && m.head.CSV != nil {
		for _, i := range m.head.CSV.Spec.Icon {
			if data, err := base64.StdEncoding.DecodeString(i.Data); err == nil {
				if found := safeImage(data); found != nil {
					return found
				}
			}
		}
	}
	// What cannot be read again is an icon that is not there.
	if i, err := m.pkg.Icon(ctx); err == nil && i != nil {
		return safeImage(i.Data)
	}
	return nil
}

// safeImage returns a PNG, JPEG or GIF of moderate size, or an SVG, whatever a stranger calls it.
func safeImage(data []byte) *document.Image {
	if len(data) == 0 || len(data) > maxIcon {
		return nil
	}
	if config, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		if config.Width > maxPixels || config.Height > maxPixels {
			return nil
		}
		return &document.Image{MediaType: "image/" + format, Data: data}
	}
	if isSVG(data) {
		return &document.Image{MediaType: "image/svg+xml", Data: data}
	}
	return nil
}

// isSVG reports whether data is one SVG document without entities of its own, which could grow without limit.
func isSVG(data []byte) bool {
	if bytes.Contains(data, []byte("<!ENTITY")) {
		return false
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local == "svg"
		}
	}
}
