package predict

import (
	"cmp"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// notUpgradeable returns the reason why OLM does not replace a CSV, or "" (OLM:
// pkg/controller/operators/olm/operatorconditions.go, isOperatorUpgradeable). An unreadable OperatorCondition is a
// finding and does not block.
func (c *cluster) notUpgradeable(v *csv) string {
	o := c.conditions[v.namespace+"/"+v.name]
	if o == nil {
		return ""
	}
	var overrides, asked, conditions []metav1.Condition
	var generation int64
	if err := cmp.Or(
		field(o, &overrides, "spec", "overrides"),
		field(o, &asked, "spec", "conditions"),
		field(o, &conditions, "status", "conditions"),
		field(o, &generation, "metadata", "generation"),
	); err != nil {
		c.fault(err, o)
		return ""
	}
	if override := meta.FindStatusCondition(overrides, operatorsv2.Upgradeable); override != nil {
		if override.Status == metav1.ConditionTrue {
			return ""
		}
		return "the operator is not upgradeable: " + override.Message
	}
	// OLM copies spec.conditions to the status (OLM: pkg/controller/operators/operatorcondition_controller.go,
	// syncOperatorConditionStatus).
	for _, a := range asked {
		said := meta.FindStatusCondition(conditions, a.Type)
		if said == nil || said.Status != a.Status || said.ObservedGeneration != generation {
			a.ObservedGeneration = generation
			meta.SetStatusCondition(&conditions, a)
		}
	}
	switch said := meta.FindStatusCondition(conditions, operatorsv2.Upgradeable); {
	case said == nil:
		return ""
	case said.ObservedGeneration != generation:
		return `the operatorcondition status "` + said.Type + `"="` + string(said.Status) + `" is outdated`
	case said.Status == metav1.ConditionFalse:
		return "the operator is not upgradeable: " + said.Message
	}
	return ""
}
