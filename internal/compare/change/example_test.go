package change_test

import (
	"fmt"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare/change"
)

// Sort changes as the reports do: the worst first.
func ExampleSort() {
	list := []change.Change{
		{Object: "Service a/metrics", Change: change.Added, Severity: findings.Info},
		{Object: "Deployment a/manager", Field: "containers[manager].image", Change: change.Changed,
			Old: "example.com/a:1.0.0", New: "example.com/a:2.0.0", Severity: findings.Info},
		{Object: "Deployment a/manager", Field: "containers[manager].securityContext.privileged", Change: change.Added,
			New: "true", Severity: findings.Error, Message: "the container may do everything on its node"},
	}
	change.Sort(list)
	for _, c := range list {
		fmt.Println(c.Severity, c.Object, c.Field)
	}
	// Output:
	// error Deployment a/manager containers[manager].securityContext.privileged
	// info Deployment a/manager containers[manager].image
	// info Service a/metrics
}
