package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/rules/policy"
	"github.com/olmgen/olmgen/golden"
)

// TestPage keeps docs/reference/lint-rules.md equal to the rules that exist; make docs writes it. The policy in docs/lint.md
// is one.
func TestPage(t *testing.T) {
	docs := filepath.Join("../../../..", "docs")
	page := "# Rules of olmgen lint\n\n[olmgen lint](../lint.md) explains policies and exceptions.\n\n" + rulesPage(policy.BuiltinRules())
	golden.CheckFile(t, filepath.Join(docs, "reference", "lint-rules.md"), []byte(page), *update)
	lint, err := os.ReadFile(filepath.Join(docs, "lint.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(lint), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := policy.Parse("docs/lint.md", []byte(example)); err != nil {
		t.Errorf("the policy on the page: %v", err)
	}
}

func rulesPage(rules []policy.Rule) string {
	var b strings.Builder
	b.WriteString("| Rule | Level | What has to be |\n| --- | --- | --- |\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Level, r.Text)
	}
	for _, r := range rules {
		fmt.Fprintf(&b, "\n### %s\n\n%s: %s.\n", r.ID, strings.ToUpper(string(r.Level[:1]))+string(r.Level[1:]), r.Text)
		if r.Quote != "" {
			fmt.Fprintf(&b, "\n> %s\n", r.Quote)
		}
		if r.Help != "" {
			fmt.Fprintf(&b, "\n%s\n", r.Help)
		}
	}
	return b.String()
}

// Each rule says what it is about, those of the record by its own words.
func TestRulesAreExplained(t *testing.T) {
	for _, r := range policy.BuiltinRules() {
		if r.Text == "" || strings.ContainsAny(r.Text, "\n|") || strings.HasSuffix(r.Text, ".") {
			t.Errorf("%s: %q", r.ID, r.Text)
		}
		if strings.HasPrefix(r.ID, "of-") == (r.Quote == "") {
			t.Errorf("%s: a sentence of the record belongs to its rules, and to no other: %q", r.ID, r.Quote)
		}
	}
}
