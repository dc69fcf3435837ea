package cluster

import (
	"cmp"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/manifest"
)

// NotUpgradeable returns why OLM does not replace the operator of an OperatorCondition, or "" (OLM:
// pkg/controller/operators/olm/operatorconditions.go, isOperatorUpgradeable). An error is about one that cannot be
// read: it does not block.
func NotUpgradeable(o *manifest.Object) (string, *manifest.Error) {
	var overrides, asked, conditions []metav1.Condition
	var generation int64
	if err := cmp.Or(
		o.Field(&overrides, "spec", "overrides"),
		o.Field(&asked, "spec", "conditions"),
		o.Field(&conditions, "status", "conditions"),
		o.Field(&generation, "metadata", "generation"),
	); err != nil {
		return "", err
	}
	if override := meta.FindStatusCondition(overrides, operatorsv2.Upgradeable); override != nil {
		if override.Status == metav1.ConditionTrue {
			return "", nil
		}
		return "the operator is not upgradeable: " + override.Message, nil
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
	case said.ObservedGeneration != generation:
		return `the operatorcondition status "` + said.Type + `"="` + string(said.Status) + `" is outdated`, nil
	case said.Status == metav1.ConditionFalse:
		return "the operator is not upgradeable: " + said.Message, nil
	}
	return "", nil
}
