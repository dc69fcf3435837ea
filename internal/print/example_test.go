package print_test

import (
	"fmt"
	"os"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/print"
)

// Print a list of findings as text.
func ExampleReport() {
	list := print.List{Findings: []findings.Finding{
		{Rule: "channels", Level: findings.Error, File: "annotations.yaml", Line: 4, Message: "no channel"}}}
	if err := print.Report(os.Stdout, list, findings.Text); err != nil {
		fmt.Println(err)
	}
	// Output:
	// annotations.yaml:4: error: no channel [channels]
}
