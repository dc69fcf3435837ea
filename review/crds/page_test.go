package crds_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/review/crds"
)

var update = flag.Bool("update", false, "write the rules on docs/crds.md")

const (
	rulesBegin = "<!-- rules: written by make docs -->\n"
	rulesEnd   = "<!-- end of rules -->\n"
)

// TestPage keeps the rules in docs/crds.md equal to those that exist; make docs writes them.
func TestPage(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "crds.md")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), rulesBegin)
	_, after, ok2 := strings.Cut(rest, rulesEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the rules", name)
	}
	_, example, _ := strings.Cut(before, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := crds.ParseRules("docs/crds.md", []byte(example)); err != nil {
		t.Errorf("the file on the page: %v", err)
	}
	var b strings.Builder
	b.WriteString("| rule | severity | found by | what it finds |\n| --- | --- | --- | --- |\n")
	for _, r := range crds.BuiltinRules() {
		by := "olmgen"
		if r.Crdify != "" {
			by = "crdify: `" + r.Crdify + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, by, r.Text)
	}
	golden.CheckFile(t, name, []byte(before+rulesBegin+b.String()+rulesEnd+after), *update)
}
