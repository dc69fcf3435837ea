package fit

import (
	"fmt"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// Moved returns what OLM v1 does where a release takes the place of another one, and it resolves another namespace for
// it. Known releases require spec.namespace: then there is nothing to say. The bundles need no more than their package.
func Moved(old, now Operator, c Cluster) []findings.Finding {
	if c.Controller != nil || c.OpenShift != nil {
		return nil
	}
	unset := fmt.Sprintf("where spec.namespace is unset, which the experimental channel of OLM v1 takes after %s "+
		"(a draft, read and not run)", versions.Newest(versions.OperatorController).Number())
	q := &question{Operator: now}
	before, err := olmv1.ManagedNamespace(old.Bundle.Package, old.CSV.Annotations)
	if err != nil {
		return nil // it was never installed so
	}
	after, err := olmv1.ManagedNamespace(now.Bundle.Package, now.CSV.Annotations)
	switch {
	case err != nil:
		q.add(RuleNamespace, findings.Warning, "metadata.annotations",
			fmt.Sprintf("%s, it cannot be installed: %v", unset, err), "mend the annotation, or set spec.namespace")
	case before != after:
		q.add(RuleNamespace, findings.Warning, "metadata.annotations", fmt.Sprintf("%s, OLM v1 moves the operator "+
			"from namespace %s to %s, and deletes %s with all that is in it", unset, before, after, before),
			"set spec.namespace, or keep the annotations that name the namespace")
	}
	return q.list
}
