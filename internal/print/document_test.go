package print_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/base/picture"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/print"
)

// document has each part of a document, and text that a format could trip over.
func sample() *document.Document {
	columns := []document.Column{{Title: "Change"}, {Title: "Severity", Width: 7, Before: " "},
		{Title: "Where", Align: true}, {Title: "What"}, {Title: "Empty"},
		{Title: "At", Style: document.Code, Aside: true, Place: true}, {Title: "Why", Aside: true}, {Title: "Hint", Below: 4}}
	added := document.Cell{Text: "added", Sign: "+", Style: document.Added}
	return &document.Document{
		Kind: "Upgrade", Title: "a -> b", Lead: "1 error",
		Sections: []document.Section{
			{
				Tables: []document.Table{{Columns: []document.Column{{Title: "Section", Width: 8}, {Title: "Answer"}},
					Rows: [][]document.Cell{{{Text: "Objects", Section: "objects"}, {Text: "one", Note: "or two"}}}}},
				Remarks: []document.Remark{{Label: "not", Text: "three"}},
				Picture: &picture.SVG{Title: "drawn", Class: "drawn", Style: ".drawn .x{}\n"},
			},
			{
				ID: "objects", Title: "Objects: 1 error",
				Tables: []document.Table{
					{Title: "Secret a/b", Columns: columns, Rows: [][]document.Cell{
						{added, document.SeverityCell(findings.Error), {Text: "cluster"}, {Text: "<b>|*x*"}, {}, {Text: "f.yaml:1"}, {Text: "it is"}, {Text: "mend it"}},
						{added, document.SeverityCell(findings.Info), {Text: "ns"}, {Text: "y\x1b[31m"}, {}, {}, {Text: "it is not"}, {}},
					}},
					{Title: "Secret c", Columns: columns, Indent: 2, Rows: [][]document.Cell{
						{added, document.SeverityCell(findings.Warning), {}, {Text: "z"}, {}, {}, {}, {Text: "look"}},
					}},
				},
			},
			{Title: "Heads", Tables: []document.Table{{Head: true, Rows: [][]document.Cell{document.Cells("a", "", "b")},
				Columns: []document.Column{{Title: "Name", Align: true}, {Title: "Kind", Align: true}, {Title: "At"}}}}},
			{Title: "For text", Formats: []findings.Format{findings.Text}},
		},
		Notes: []document.Remark{{Label: "note", Text: "something"}, {Label: "note", Text: "more"}},
	}
}

type report struct{}

func (report) Document() *document.Document { return sample() }

func TestDocument(t *testing.T) {
	for _, format := range []findings.Format{findings.Text, findings.Markdown} {
		var got bytes.Buffer
		if err := print.Document(&got, sample(), format); err != nil {
			t.Fatal(err)
		}
		golden.CheckFile(t, filepath.Join("testdata", "document."+string(format)), got.Bytes(), *update)
	}
	var page strings.Builder
	if err := print.Document(&page, sample(), findings.HTML); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;b&gt;|*x*", "Upgrade", `href="#objects"`, "Note: something."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	for _, want := range []string{`<span class="line">f.yaml:1</span>`, "<span>all 4 lines</span>", "1 error</span>", "1 warning</span>",
		"1 info</span>", `<svg xmlns="http://www.w3.org/2000/svg" class="drawn"`, ".drawn .x{}"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	// Secret c has nothing in the columns Where, At and Why.
	_, second, _ := strings.Cut(page.String(), "Secret c")
	second, _, _ = strings.Cut(second, "</table>")
	for _, not := range []string{"Where", ">At<", ">Why<", "<style"} {
		if strings.Contains(second, not) {
			t.Errorf("the second table has %q", not)
		}
	}
	for _, not := range []string{"For text", "Empty", "<b>"} {
		if strings.Contains(page.String(), not) {
			t.Errorf("the page has %q", not)
		}
	}
}

// An empty document is nothing but its title in each format.
func TestEmptyDocument(t *testing.T) {
	for format, want := range map[findings.Format]string{findings.Text: "t\n", findings.Markdown: "**t**\n"} {
		var got strings.Builder
		if err := print.Document(&got, &document.Document{Title: "t"}, format); err != nil || got.String() != want {
			t.Errorf("%s: %q, %v, want %q", format, got.String(), err, want)
		}
	}
}

func TestDocumentErrors(t *testing.T) {
	if err := print.Report(&bytes.Buffer{}, report{}, findings.SARIF); err == nil {
		t.Error("SARIF is a format of documents")
	}
	broken := errors.New("broken")
	for _, format := range []findings.Format{findings.Text, findings.Markdown, findings.HTML, findings.JSON} {
		if err := print.Report(brokenWriter{broken}, report{}, format); !errors.Is(err, broken) {
			t.Errorf("%s: the writer's error is lost: %v", format, err)
		}
	}
}

// Markdown is short enough for a comment, whichever section is large, and counts what it leaves out.
func TestDocumentIsCut(t *testing.T) {
	d := sample()
	table := &d.Sections[1].Tables[0]
	rows := table.Rows
	for range 3000 {
		table.Rows = append(table.Rows, rows...)
	}
	for range 100 {
		d.Notes = append(d.Notes, document.Remark{Text: "note"})
	}
	var got strings.Builder
	if err := print.Document(&got, d, findings.Markdown); err != nil {
		t.Fatal(err)
	}
	if n := got.Len(); n > 65536 || n < 50000 {
		t.Errorf("%d bytes", n)
	}
	for _, want := range []string{" more\n\n</details>", "Notes: and 92 more."} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("the text does not have %q", want)
		}
	}
}

// A cell that is code cannot leave its backticks or its column.
func TestMarkdownCode(t *testing.T) {
	d := document.Document{Sections: []document.Section{{Tables: []document.Table{{
		Columns: []document.Column{{Title: "Image"}, {Title: "Name"}},
		Rows:    [][]document.Cell{{{Text: "a`|@b\n<i>", Style: document.Code}, {Text: "x"}}, {{Style: document.Code}, {Text: "y"}}},
	}}}}}
	var got strings.Builder
	if err := print.Document(&got, &d, findings.Markdown); err != nil {
		t.Fatal(err)
	}
	want := "| Image | Name |\n| --- | --- |\n| `a'\\|@b\uFFFD<i>` | x |\n|  | y |\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// narrow is a terminal.
type narrow struct {
	bytes.Buffer
	columns int
}

func (n *narrow) Columns() int { return n.columns }

func TestFold(t *testing.T) {
	const many = "file.yaml:1001,1002,1003,1004,1005,1006,1007 of it"
	long := strings.Repeat("name-", 10)
	for _, c := range []struct {
		name    string
		columns int
		text    string
		want    string
	}{
		{"a line that fits", 40, strings.Repeat("x", 36), "a: " + strings.Repeat("x", 36) + "\n"},
		{"a blank", 40, "12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345",
			"a: 12345 12345 12345 12345 12345 12345\n    12345 12345 12345 12345 12345 12345\n"},
		{"a comma, where a line has no blank", 40, many,
			"a: file.yaml:1001,1002,1003,1004,1005,\n    1006,1007 of it\n"},
		{"a name that is too long, whole", 40, long + " and the rest, which has lines of its own",
			"a: " + long + "\n    and the rest, which has lines of its\n    own\n"},
		{"a terminal that is too narrow", 3, strings.Repeat("12 ", 20),
			"a:" + strings.Repeat(" 12", 12) + "\n    " + strings.TrimSpace(strings.Repeat("12 ", 8)) + "\n"},
		{"no terminal, above the sections", 0, strings.Repeat("12345678 ", 20), "a:" + strings.Repeat(" 12345678", 10) + "\n    " +
			strings.TrimSpace(strings.Repeat("12345678 ", 10)) + "\n"},
	} {
		for _, fold := range []bool{false, true} {
			got := narrow{columns: c.columns}
			d := &document.Document{Title: "a", Lead: c.text, Fold: fold, Screen: true}
			want := c.want
			if !fold {
				want = "a: " + strings.TrimSpace(c.text) + "\n"
			}
			if err := print.Document(&got, d, findings.Text); err != nil || got.String() != want {
				t.Errorf("%s, fold %v: %v\n%s\nwant\n%s", c.name, fold, err, got.String(), want)
			}
		}
	}
}

// above is a report with another below it.
type above struct{}

func (above) Document() *document.Document { return &document.Document{Title: "a", Fold: true} }

func (above) Following(findings.Format) []any { return []any{below{}} }

type below struct{}

func (below) Document() *document.Document {
	return &document.Document{Title: "b", Lead: strings.Repeat("12345678 ", 10), Fold: true}
}

func TestFoldFollowing(t *testing.T) {
	got := narrow{columns: 60}
	want := "a\n\nb:" + strings.Repeat(" 12345678", 6) + "\n   " + strings.Repeat(" 12345678", 4) + "\n"
	if err := print.Report(&got, above{}, findings.Text); err != nil || got.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got.String(), want)
	}
}
