package crds_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/compare/crds"
	"github.com/olmgen/olmgen/golden"
)

var update = flag.Bool("update", false, "write the rules on docs/crds.md")

const (
	rulesBegin = "<!-- rules: written by make docs -->\n"
	rulesEnd   = "<!-- end of rules -->\n"
)

// TestPage keeps the rules in docs/crds.md equal to those that exist; make docs writes them.
func TestPage(t *testing.T) {
	name := filepath.Join("../..", "docs", "crds.md")
	var b strings.Builder
	b.WriteString("| rule | severity | found by | what it finds |\n| --- | --- | --- | --- |\n")
	for _, r := range crds.BuiltinRules() {
		by := "olmgen"
		if r.Crdify != "" {
			by = "crdify: `" + r.Crdify + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, by, r.Text)
	}
	before := golden.CheckPart(t, name, rulesBegin, rulesEnd, b.String(), *update)
	_, example, _ := strings.Cut(before, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := crds.ParseRules("docs/crds.md", []byte(example)); err != nil {
		t.Errorf("the file on the page: %v", err)
	}
}
