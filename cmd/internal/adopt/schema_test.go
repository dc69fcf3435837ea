package adopt_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/schematest"
)

var schema = schematest.Schema{
	Type: reflect.TypeFor[adopt.Report](), ID: "https://olmgen.dev/schemas/adoptverification-v1alpha1.json",
	Title: "olmgen adopt --verify --format json", Kind: "VerificationReport",
	Enums: map[reflect.Type]any{
		reflect.TypeFor[adopt.Verdict]():     adopt.Verdicts,
		reflect.TypeFor[findings.Severity](): []findings.Severity{findings.Error, findings.Warning, findings.Note},
	},
	Description: map[string]string{
		"Report.objects":     "Every object that is rendered, or that has OLM's marks in the cluster, sorted by name",
		"Summary.findings":   "What is worth knowing about them",
		"Compared.object":    "Kind namespace/name",
		"Compared.verdict":   "How the object of the cluster and the rendered one compare",
		"Compared.reason":    "Why they differ, as far as the dump tells",
		"Compared.changes":   "The fields that differ",
		"Compared.restarts":  "Fields that restart pods if the rendered object is applied",
		"Compared.loses":     "Rights that somebody loses if the rendered object is applied",
		"Compared.immutable": "Fields that the API server refuses to change",
		"Change.field":       "A path, with the key of an item of a list in brackets",
		"Change.cluster":     "The value in the cluster, as JSON. Missing if the field is not there",
		"Change.rendered":    "The rendered value, as JSON. Missing if the field is not rendered",
		"Change.applied":     "True if server-side apply changes the field. What only the cluster has stays",
		"Change.by":          "Who wrote the field, if the dump has managedFields",
		"Finding.source":     "Not used",
		"Finding.rule":       "Such as restart, right, immutable, differs or left-in-cluster",
		"Finding.file":       "The file of the dump",
		"Finding.line":       "In that file",
		"Finding.object":     "Kind namespace/name",
		"Finding.field":      "The path of the change",
		"Finding.message":    "One line",
		"Finding.hint":       "What to do",
	},
}

// The schema is that of the types, and a report with every verdict conforms to it.
func TestSchema(t *testing.T) {
	want, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want, *update)
	s, _ := adopted(t, "gates-multi.yaml", adopt.Options{})
	var rendered []map[string]any
	for _, o := range s.Dump.Objects {
		value := o.Value()
		switch {
		case o.Kind == "Deployment":
			template := value["spec"].(map[string]any)["template"].(map[string]any)
			template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "another"
			delete(value["spec"].(map[string]any), "strategy")
		case o.Kind == "ServiceAccount" && o.Name == "gatekeeper":
			value["metadata"].(map[string]any)["name"] = "another"
		case o.Kind == "Role":
			value["rules"] = []any{}
		case strings.HasPrefix(o.Kind, "ClusterRole"):
			continue // only in the cluster
		}
		rendered = append(rendered, value)
	}
	v := s.Verify(rendered)
	for _, verdict := range adopt.Verdicts {
		if v.Count(verdict) == 0 && verdict != adopt.Filled {
			t.Errorf("no object is %s", verdict)
		}
	}
	var out bytes.Buffer
	if err := v.Print(&out, findings.JSON, v.Findings(), false); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Check(adopt.Schema, out.Bytes()); err != nil {
		t.Error(err)
	}
	for _, field := range []string{`"restarts"`, `"loses"`, `"changes"`, `"hint"`, `"line"`} {
		if !bytes.Contains(out.Bytes(), []byte(field)) {
			t.Errorf("the report has no %s", field)
		}
	}
	for old, bad := range map[string]string{`"verdict": "differs"`: `"verdict": "unlike"`, `"applied"`: `"apply"`} {
		if schematest.Check(adopt.Schema, bytes.Replace(out.Bytes(), []byte(old), []byte(bad), 1)) == nil {
			t.Errorf("%s is no problem", bad)
		}
	}
}
