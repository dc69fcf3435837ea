package upgrade

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/predict/plan"
)

// immutable finds fields that the API server does not let change. OLM updates a Deployment that exists (OLM:
// pkg/api/wrappers/deployment_install_client.go, CreateOrUpdateDeployment), and what the bundle ships (OLM:
// pkg/controller/operators/catalog/step_ensurer.go). It deletes nothing to make it anew.
func (j *judge) immutable(p Pair) {
	if p.Old.Namespace != p.New.Namespace {
		return
	}
	for _, old := range p.Old.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, now := range p.New.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			if old.Name == now.Name && !equality.Semantic.DeepEqual(old.Spec.Selector, now.Spec.Selector) {
				j.add(p.New, RuleImmutable, findings.Error, "spec.install.spec.deployments",
					"has another selector for Deployment %s, which the API server refuses: it fails with "+
						"InstallComponentFailed until the Deployment is deleted", now.Name)
			}
		}
	}
	shipped := lists.By(p.Old.Bundle, func(o *manifest.Object) string {
		return o.Group() + "/" + o.Kind + "/" + o.Name
	})
	for _, now := range p.New.Bundle {
		old := shipped[now.Group()+"/"+now.Kind+"/"+now.Name]
		if old == nil {
			continue
		}
		for _, field := range plan.Changed(old, now) {
			j.addAt(p.New, RuleImmutable, findings.Error, now, field,
				"changes %s of %s %s, which the API server refuses: the InstallPlan fails until the object is deleted",
				field, now.Kind, now.Name)
		}
	}
}
