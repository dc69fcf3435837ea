package predict

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
)

// missingServices returns the required APIServices of a CSV that do not exist, as far as the tree shows (OLM:
// pkg/controller/operators/olm/requirements.go, requirementStatus). OLM installs the CSV of a Subscription together
// with what it needs.
func (o *simulation) missingServices(v *csv) (unmet []string) {
	if v.sub != nil {
		return nil
	}
	for _, d := range v.APIServices.Required {
		if why, _ := o.missingService(d); why != "" {
			unmet = append(unmet, fmt.Sprintf("APIService %s: %s", d.GetName(), why))
		}
	}
	return unmet
}

// judgeServices reports required APIServices of which the tree does not show whether they exist.
func (o *simulation) judgeServices(v *csv) {
	if v.phase != v1alpha1.CSVPhaseSucceeded || v.observed {
		return
	}
	for i, d := range v.APIServices.Required {
		if _, known := o.missingService(d); !known {
			o.note(ruleRequirements, findings.Note, v.where(),
				fmt.Sprintf("spec.apiservicedefinitions.required[%d]", i),
				"APIService "+d.GetName()+" is not in the tree, and no CSV of it owns it: it counts as there",
				"add the operator that serves it, or check its path too")
		}
	}
}

// missingService returns why an APIService does not exist, or "", and whether the tree shows it. An APIService that a
// CSV of the tree owns exists once OLM has installed that CSV. The API server creates those of Kubernetes' own groups
// and of CRDs. Any other may exist outside of the tree, unless the tree is a dump that has all APIServices, Kubernetes'
// own among them.
func (o *simulation) missingService(d v1alpha1.APIServiceDescription) (why string, known bool) {
	owners, object := o.owning[d.GetName()], o.APIServices[d.GetName()]
	var conditions []metav1.Condition
	if object != nil {
		_ = object.Field(&conditions, "status", "conditions") // what cannot be read says nothing
	}
	switch available := meta.FindStatusCondition(conditions, "Available"); {
	case available != nil && available.Status != metav1.ConditionTrue: // install/apiservice.go, IsAPIServiceAvailable
		return "not available", true
	case object != nil, o.serving[d.GetName()] != nil, olm.BuiltinGroup(d.Group), o.defines(d):
		return "", true
	case len(owners) > 0:
		return fmt.Sprintf("ClusterServiceVersion %s/%s, which owns it, is not installed", owners[0].Namespace,
			owners[0].Name), true
	case o.APIServices["v1.apps"] != nil:
		return "not in the tree", true
	}
	return "", false
}

// defines reports whether a CRD of the tree serves an API.
func (c *prediction) defines(d v1alpha1.APIServiceDescription) bool {
	for _, crd := range c.CRDs {
		if k, _ := olm.DefinedKind(crd); k.Group == d.Group && k.Name == d.Kind && serves(crd, d.Version) {
			return true
		}
	}
	return false
}
