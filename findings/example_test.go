package findings_test

import (
	"fmt"

	"github.com/olmgen/olmgen/findings"
)

// Read what a rule found, and where.
func ExampleFinding() {
	f := findings.Finding{Rule: "missing-icon", Level: findings.Warning, File: "csv.yaml", Line: 12, Object: "etcd.v1.0.0",
		Message: "has no icon"}
	fmt.Printf("%s: %s: %s [%s]\n", f.Where(), f.Level, f.Description(), f.Rule)
	// Output:
	// csv.yaml:12: warning: etcd.v1.0.0: has no icon [missing-icon]
}
