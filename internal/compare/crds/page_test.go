package crds_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/compare/crds"
)

var update = flag.Bool("update", false, "write docs/reference/crd-rules.md")

// TestPage keeps docs/reference/crd-rules.md equal to the rules that exist; make docs writes it. The file in docs/crds.md is
// one of --crd-rules.
func TestPage(t *testing.T) {
	docs := filepath.Join("../../..", "docs")
	var b strings.Builder
	b.WriteString("# Rules about changes of CRDs\n\n[CRDs](../crds.md) explains them.\n\n| rule | severity | found by | what it finds |\n| --- | --- | --- | --- |\n")
	for _, r := range crds.BuiltinRules() {
		by := "olmgen"
		if r.Crdify != "" {
			by = "crdify: `" + r.Crdify + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, by, r.Text)
	}
	golden.CheckFile(t, filepath.Join(docs, "reference", "crd-rules.md"), []byte(b.String()), *update)
	page, err := os.ReadFile(filepath.Join(docs, "crds.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := crds.ParseRules("docs/crds.md", []byte(example)); err != nil {
		t.Errorf("the file on the page: %v", err)
	}
}
