package review_test

import (
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
)

// TestGrowthNamesOperators: of several operators, those that differ by more than notes are named.
func TestGrowthNamesOperators(t *testing.T) {
	gained := []permissions.Item{{Change: permissions.Gained}}
	for want, r := range map[string]*compare.Report{
		"":                                {New: compare.Side{Operators: []string{"a.v1.0.0"}}},
		"1 permission gained by a.v1.0.0": {Permissions: gained, New: compare.Side{Operators: []string{"a.v1.0.0"}}},
		"1 permission gained by b, c": {Permissions: gained, Operators: []compare.OperatorAnswer{
			{Operator: "b", Severity: findings.Error}, {Operator: "c", Severity: findings.Warning},
			{Operator: "d", Severity: findings.Info}}, New: compare.Side{Operators: []string{"b.v1", "c.v1", "d.v1"}}},
		"1 permission gained": {Permissions: gained},
	} {
		if got := review.Growth(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
