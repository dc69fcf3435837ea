package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
)

// Format is an output format.
type Format string

// The formats.
const (
	FormatText     Format = "text"     // the images that a cluster pulls, sorted, one per line
	FormatTable    Format = "table"    // every place
	FormatJSON     Format = "json"     // every place
	FormatYAML     Format = "yaml"     // every place
	FormatMarkdown Format = "markdown" // every place
)

// Formats lists all formats.
var Formats = []Format{FormatText, FormatTable, FormatJSON, FormatYAML, FormatMarkdown}

// Print writes the images. It fails if the format is unknown, or with the error of w.
func Print(w io.Writer, format Format, list []Image) error {
	var b bytes.Buffer
	switch format {
	case FormatText:
		for _, name := range Names(list) {
			fmt.Fprintln(&b, text.Printable(name))
		}
	case FormatTable:
		table(&b, list)
	case FormatJSON, FormatYAML:
		if err := structured(&b, format, list); err != nil {
			return err
		}
	case FormatMarkdown:
		markdown(&b, list)
	default:
		return text.Unknown("format", format, Formats)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func table(b *bytes.Buffer, list []Image) {
	w := tabwriter.NewWriter(b, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "IMAGE\tPINNED\tKIND\tNAME\tWHERE")
	for _, i := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n",
			text.Printable(i.text()), yes(i.Pinned), i.Kind, text.Printable(i.Name), text.Printable(i.place()))
	}
	w.Flush() // into memory
}

func markdown(b *bytes.Buffer, list []Image) {
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(text.Printable(s)) + "`"
	}
	b.WriteString("| image | pinned | kind | name | where |\n|---|---|---|---|---|\n")
	for _, i := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n",
			code(i.text()), yes(i.Pinned), i.Kind, code(i.Name), code(i.place()))
	}
}

func structured(b *bytes.Buffer, format Format, list []Image) error {
	out := struct {
		Images []Image `json:"images"`
	}{list}
	if list == nil {
		out.Images = []Image{}
	}
	if format == FormatYAML {
		v, err := manifest.Typed(out)
		if err != nil {
			return err
		}
		b.Write(manifest.Encode(v))
		return nil
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// place returns the source, file, line and field that name the image.
func (i Image) place() string {
	at := i.Source
	if i.File != "" {
		file := path.Join(i.Source, i.File)
		if strings.Contains(i.Source, "://") { // an image is not a path
			file = i.Source + "/" + i.File
		}
		at = fmt.Sprintf("%s:%d", file, i.Line)
	}
	if i.Field != "" {
		at += " " + i.Field
	}
	return at
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
