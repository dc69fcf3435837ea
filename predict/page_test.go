package predict_test

import (
	"os"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/predict"
)

// docs/check.md has a line for every rule.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range predict.Rules() {
		if !strings.Contains(string(page), "`"+r.ID+"`") {
			t.Errorf("docs/check.md does not mention %s", r.ID)
		}
	}
}
