package compare_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/golden"
)

const (
	pageBegin = "<!-- triggers: written by make docs -->\n"
	pageEnd   = "<!-- end of triggers -->\n"
)

// TestPage keeps the list in docs/review.md equal to the triggers; make docs writes it.
func TestPage(t *testing.T) {
	name := filepath.Join("..", "docs", "review.md")
	var b strings.Builder
	fmt.Fprint(&b, "| `--fail-on` | What it is about |\n| --- | --- |\n")
	for _, trigger := range compare.Triggers {
		fmt.Fprintf(&b, "| `%s` | %s |\n", trigger.Trigger, trigger.Text)
	}
	before := golden.CheckPart(t, name, pageBegin, pageEnd, b.String(), *update)
	for _, rule := range []string{compare.RuleAPIRequired, compare.RuleInstallMode, compare.RuleCRDOwner, compare.RuleUpgradePath} {
		if !strings.Contains(before, "`"+rule+"`") {
			t.Errorf("the page does not explain the rule %s", rule)
		}
	}
}
