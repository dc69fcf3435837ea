package bundle

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Every class of warnings is in the list of those that can be suppressed.
func TestWarningClasses(t *testing.T) {
	source, err := os.ReadFile("bundle.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\tWarn\w+ += "([a-z-]+)"`).FindAllSubmatch(source, -1)
	for _, m := range found {
		if !slices.Contains(WarningClasses, string(m[1])) {
			t.Errorf("%s is not in WarningClasses", m[1])
		}
	}
	if len(found) < 25 || len(found) != len(WarningClasses) {
		t.Errorf("%d constants, %d classes", len(found), len(WarningClasses))
	}
}
