package print_test

import (
	"bytes"
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/print"
)

var update = flag.Bool("update", false, "write the golden files of the formats anew")

var rules = []findings.Rule{
	{
		ID:   "group",
		Text: "what OLM says of a group",
		Help: "OLM does not install an operator without one. Source: OLM, operator.go.",
	},
	{ID: "unused", Text: "nothing"},
}

// list has each level, an object, a hint, and text that a format could trip over.
func list() []findings.Finding {
	return []findings.Finding{
		{
			Rule:    "group",
			Level:   findings.Error,
			File:    "a/x.yaml",
			Line:    3,
			Object:  "OperatorGroup a/b",
			Message: "csv in namespace with no operatorgroups",
			Hint:    "add an OperatorGroup",
		},
		{
			Rule:    "group",
			Level:   findings.Error,
			File:    "a/x.yaml",
			Line:    9,
			Object:  "OperatorGroup a/b",
			Message: "csv in namespace with no operatorgroups",
			Hint:    "add an OperatorGroup",
		},
		{
			Rule:    "group",
			Level:   findings.Warning,
			File:    "a/x.yaml",
			Field:   "spec",
			Message: "a|b <script> `c` *d* [e](https://f.example) @org/team \x1b[31m \n| z |",
		},
		{Rule: "mine", Level: findings.Note, Message: "about the whole"},
		{Source: "oci://r/i", Rule: "group", Level: findings.Note, File: "x", Message: "m", Path: "oci://r/i/x"},
	}
}

func TestFormats(t *testing.T) {
	for _, format := range print.Formats {
		t.Run(string(format), func(t *testing.T) {
			var got bytes.Buffer
			if err := print.Report(&got, print.List{Rules: rules, Findings: list()}, format); err != nil {
				t.Fatal(err)
			}
			golden.CheckFile(t, filepath.Join("testdata", "report."+string(format)), got.Bytes(), *update)
		})
	}
}

// No findings are empty lists, not null.
func TestFormatsOfNothing(t *testing.T) {
	for format, want := range map[findings.Format]string{
		findings.Text: "",
		findings.JSON: "{\n  \"apiVersion\": \"olmgen.dev/v1alpha1\",\n  \"kind\": \"FindingReport\",\n" +
			"  \"findings\": [],\n  \"errors\": 0,\n  \"warnings\": 0\n}\n",
		findings.Markdown: "No findings.\n",
	} {
		var got bytes.Buffer
		if err := print.Report(&got, print.List{Rules: nil, Findings: nil}, format); err != nil || got.String() != want {
			t.Errorf("%s: %q, %v", format, got.String(), err)
		}
	}
	var sarif bytes.Buffer
	if err := print.Report(&sarif, print.List{Rules: nil, Findings: nil}, findings.SARIF); err != nil || strings.Contains(sarif.String(), "null") {
		t.Errorf("sarif: a list is null: %s, %v", sarif.String(), err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestFormatErrors(t *testing.T) {
	if err := print.Report(&bytes.Buffer{}, print.List{Rules: nil, Findings: nil}, "xml"); err == nil {
		t.Error("xml is a format")
	}
	broken := errors.New("broken")
	for _, format := range print.Formats {
		if err := print.Report(brokenWriter{broken}, print.List{Rules: rules, Findings: list()}, format); !errors.Is(err, broken) {
			t.Errorf("%s: the writer's error is lost: %v", format, err)
		}
	}
}
