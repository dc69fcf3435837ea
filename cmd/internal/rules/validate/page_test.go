package validate_test

import (
	"os"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
)

// docs/validate.md has a line for every rule.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range validate.Rules() {
		if !strings.Contains(string(page), "| `"+r.ID+"` | ") || !strings.Contains(string(page), r.Text) {
			t.Errorf("docs/validate.md does not have %s: %s", r.ID, r.Text)
		}
	}
}
