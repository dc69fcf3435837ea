package olm

import (
	"cmp"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/base/text"
)

// PlanHindered returns what OLM says about what hinders an InstallPlan, or "".
func PlanHindered(s *v1alpha1.InstallPlanStatus) string {
	var messages []string
	for _, c := range s.Conditions {
		if c.Status != corev1.ConditionTrue {
			messages = append(messages, c.Message)
		}
	}
	for _, lookup := range s.BundleLookups {
		for _, c := range lookup.Conditions {
			messages = append(messages, c.Message)
		}
	}
	return text.Printable(text.OneLine(cmp.Or(append(messages, s.Message)...)))
}
