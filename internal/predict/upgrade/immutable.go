package upgrade

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
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
	shipped := map[string]*manifest.Object{}
	for _, o := range p.Old.Bundle {
		shipped[o.Group()+"/"+o.Kind+"/"+o.Name] = o
	}
	for _, now := range p.New.Bundle {
		old := shipped[now.Group()+"/"+now.Kind+"/"+now.Name]
		if old == nil {
			continue
		}
		for _, field := range changedForGood(old, now) {
			j.addAt(p.New, RuleImmutable, findings.Error, now, field,
				"changes %s of %s %s, which the API server refuses: the InstallPlan fails until the object is deleted",
				field, now.Kind, now.Name)
		}
	}
}

// defaults are the values that the API server fills in for immutable fields.
var defaults = map[string]any{"type": "Opaque", "preemptionPolicy": "PreemptLowerPriority", "spec.scope": "Namespaced",
	"value": 0}

// changedForGood returns the immutable fields in which two releases of an object differ.
func changedForGood(old, now *manifest.Object) (out []string) {
	fields := olm.ImmutableFields(now.Group(), now.Kind)
	if locked, _ := old.Get("immutable"); locked == true { // a ConfigMap or a Secret
		fields = append(fields, "data", "binaryData", "stringData", "immutable")
	}
	for _, field := range fields {
		a, b := valueAt(old, field), valueAt(now, field)
		if a == b || now.Kind == "Service" && b == "null" { // the API server keeps the address
			continue
		}
		out = append(out, field)
	}
	return out
}

// valueAt returns a field as JSON.
func valueAt(o *manifest.Object, field string) string {
	value, err := o.Get(strings.Split(field, ".")...)
	if err != nil || value == nil {
		value = defaults[field]
	}
	if m, ok := value.(map[string]any); ok && field == "roleRef" {
		value = []any{m["kind"], m["name"]} // of one API group
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}
