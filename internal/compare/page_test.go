package compare_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

const (
	noiseBegin = "<!-- noise: written by make docs -->\n"
	noiseEnd   = "<!-- end of noise -->\n"
)

// TestNoisePage keeps the table of what is no difference equal to the noise; make docs writes it.
func TestNoisePage(t *testing.T) {
	var b strings.Builder
	fmt.Fprint(&b, "| Of | Field | Value | Why |\n| --- | --- | --- | --- |\n")
	for _, n := range fields.Ignored {
		of, path := strings.Join(n.Kinds, ", "), n.Path
		if p, ok := strings.CutPrefix(path, "pod:"); ok {
			of, path = "pods", p
		}
		if n.Owned {
			of += " of what OLM owns"
		}
		path = strings.ReplaceAll(path, "CONTAINERS", "containers")
		value := "any"
		if n.Value != "" {
			value = "`" + n.Value + "`"
		}
		if len(n.Keys) > 0 {
			path += ": " + strings.Join(n.Keys, ", ")
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", cmp.Or(of, "all"), path, value, n.Reason)
	}
	for _, d := range normalize.Defaults() {
		kinds, value := strings.ReplaceAll(d[0], ",", ", "), strings.Replace(d[2], "computed", "depends on other fields", 1)
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | the API server fills it in |\n", kinds, d[1], value)
	}
	golden.CheckPart(t, filepath.Join("..", "..", "docs", "reference", "differences.md"), noiseBegin, noiseEnd, b.String(), *update)
}
