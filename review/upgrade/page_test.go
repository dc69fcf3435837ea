package upgrade_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/review/upgrade"
)

const (
	pageBegin = "<!-- triggers: written by make docs -->\n"
	pageEnd   = "<!-- end of triggers -->\n"
)

// TestPage keeps the list in docs/review.md equal to the triggers; make docs writes it.
func TestPage(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "review.md")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), pageBegin)
	_, after, ok2 := strings.Cut(rest, pageEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the list", name)
	}
	var b strings.Builder
	fmt.Fprint(&b, "| `--fail-on` | What it is about |\n| --- | --- |\n")
	for _, trigger := range upgrade.Triggers {
		fmt.Fprintf(&b, "| `%s` | %s |\n", trigger.Trigger, trigger.Text)
	}
	golden.CheckFile(t, name, []byte(before+pageBegin+b.String()+pageEnd+after), *update)
	for _, rule := range []string{upgrade.RuleAPIRequired, upgrade.RuleInstallMode, upgrade.RuleCRDOwner, upgrade.RuleUpgradePath} {
		if !strings.Contains(string(data), "`"+rule+"`") {
			t.Errorf("the page does not explain the rule %s", rule)
		}
	}
}
