// Package imagelist prints the container images of bundles.
package imagelist

import (
	"bytes"
	"fmt"
	"io"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
)

// Formats are the formats of Print. Text has the images that a cluster pulls, sorted and without duplicates, one per
// line. The others have every place.
var Formats = []findings.Format{findings.Text, findings.Tabular, findings.JSON, findings.YAML, findings.Markdown}

// Print writes the images. It fails if the format is unknown, or with the error of w.
func Print(w io.Writer, format findings.Format, list []images.Image) error {
	var b bytes.Buffer
	switch format {
	case findings.Text:
		for _, name := range images.Names(list) {
			fmt.Fprintln(&b, text.Printable(name))
		}
	case findings.Tabular:
		return table(list).Print(w, findings.Text)
	case findings.Markdown:
		return table(list).Print(w, findings.Markdown)
	case findings.JSON, findings.YAML:
		if err := structured(&b, format, list); err != nil {
			return err
		}
	default:
		return text.Unknown("format", format, Formats)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// table returns the images as a document that has one table.
func table(list []images.Image) *findings.Document {
	t := findings.Table{Head: true, Columns: []findings.Column{{Title: "Image", Align: true}}}
	for _, title := range []string{"Pinned", "Kind", "Name", "Where"} {
		t.Columns = append(t.Columns, findings.Column{Title: title, Align: true, Before: "   "})
	}
	for _, i := range list {
		row := findings.Cells(i.Reference(), yes(i.Pinned), string(i.Kind), i.Name, i.At())
		for _, code := range []int{0, 3, 4} {
			row[code].Style = findings.Code
		}
		t.Rows = append(t.Rows, row)
	}
	return &findings.Document{Kind: "Images", Sections: []findings.Section{{Tables: []findings.Table{t}}}}
}

func structured(b *bytes.Buffer, format findings.Format, list []images.Image) error {
	out := struct {
		Images []images.Image `json:"images"`
	}{list}
	if list == nil {
		out.Images = []images.Image{}
	}
	if format == findings.YAML {
		v, err := manifest.Typed(out)
		if err != nil {
			return err
		}
		b.Write(manifest.Encode(v))
		return nil
	}
	return findings.WriteJSON(b, out)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
