// Package imagelist prints the container images of bundles.
package imagelist

import (
	"fmt"
	"io"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/print"
)

// List is the images of bundles as a report.
type List []images.Image

// Formats has as text the images that a cluster pulls, sorted, each once. The other formats have every place.
func (list List) Formats() map[findings.Format]func(io.Writer) error {
	return map[findings.Format]func(io.Writer) error{
		findings.Text: func(w io.Writer) (err error) {
			for _, name := range images.Names(list) {
				_, err = fmt.Fprintln(w, text.Printable(name))
			}
			return err
		},
		findings.Tabular: func(w io.Writer) error { return print.Document(w, list.Document(), findings.Text) },
	}
}

// Document returns a table of every place.
func (list List) Document() *document.Document {
	t := document.Table{Head: true, Columns: []document.Column{{Title: "Image", Align: true}}}
	for _, title := range []string{"Pinned", "Kind", "Name", "Where"} {
		t.Columns = append(t.Columns, document.Column{Title: title, Align: true, Before: "   "})
	}
	for _, i := range list {
		kind := string(i.Kind)
		if i.Guess {
			kind += " (guess)"
		}
		row := document.Cells(i.Reference(), yes(i.Pinned), kind, i.Name, i.At())
		for _, code := range []int{0, 3, 4} {
			row[code].Style = document.Code
		}
		t.Rows = append(t.Rows, row)
	}
	return &document.Document{Kind: "Images", Sections: []document.Section{{Tables: []document.Table{t}}}}
}

// JSONKind returns the kind of the report.
func (List) JSONKind() string { return "ImageReport" }

// JSON returns the images.
func (list List) JSON() any {
	return struct {
		Images []images.Image `json:"images"`
	}{append([]images.Image{}, list...)}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
