package olm

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// kindConfigurationPolicy is a policy of Open Cluster Management that keeps objects in a cluster.
const kindConfigurationPolicy = "ConfigurationPolicy"

// ObjectTemplates returns the objects that a ConfigurationPolicy, alone or in a Policy, keeps in the cluster: those of
// its object-templates, if it is enforced (open-cluster-management-io/config-policy-controller:
// controllers/configurationpolicy_controller.go). unknown says which ones the controller makes with templates.
func ObjectTemplates(o *manifest.Object) (objects []*manifest.Object, unknown []*manifest.Error) {
	if o.Group() != GroupPolicy || o.Kind != kindConfigurationPolicy && o.Kind != KindPolicy {
		return nil, nil
	}
	r := &templateReader{object: o}
	if o.Kind == kindConfigurationPolicy {
		r.read(Get(o, "spec"), "spec", "")
	}
	for _, t := range policyTemplates(o, kindConfigurationPolicy) {
		if !t.disabled {
			r.read(t.value["spec"], t.at+".spec", t.action)
		}
	}
	return r.objects, r.unknown
}

// policyTemplate is an object of a Policy, which can be disabled, with the remediationAction of that.
type policyTemplate struct {
	value      map[string]any
	at, action string
	disabled   bool
}

// place returns the field of the Policy that a field of the object is.
func (t policyTemplate) place(field string) string { return strings.TrimSuffix(t.at+"."+field, ".") }

// policyTemplates returns the objects of a kind in a Policy.
func policyTemplates(policy *manifest.Object, kind string) (list []policyTemplate) {
	action, disabled := Text(Get(policy, "spec", "remediationAction")), Get(policy, "spec", "disabled") == true
	for i, item := range Items(Get(policy, "spec", "policy-templates")) {
		if value := Mapping(Mapping(item)["objectDefinition"]); value["kind"] == kind {
			at := fmt.Sprintf("spec.policy-templates[%d].objectDefinition", i)
			list = append(list, policyTemplate{value, at, action, disabled})
		}
	}
	return list
}

type templateReader struct {
	object  *manifest.Object
	objects []*manifest.Object
	unknown []*manifest.Error
}

// read reads the spec of a ConfigurationPolicy. override is the remediationAction of the Policy that has it.
func (r *templateReader) read(value any, at, override string) {
	spec := Mapping(value)
	if !strings.EqualFold(overridden(Text(spec["remediationAction"]), override), "enforce") {
		return
	}
	const raw = "object-templates-raw"
	if _, ok := spec[raw]; ok {
		r.unknown = append(r.unknown, r.object.Errorf(at+"."+raw, "the policy makes its objects with a template"))
		return
	}
	for i, item := range Items(spec["object-templates"]) {
		template := Mapping(item)
		definition := Mapping(template["objectDefinition"])
		if kind := strings.ToLower(Text(template["complianceType"])); kind != "musthave" && kind != "mustonlyhave" {
			continue
		}
		below := fmt.Sprintf("%s.object-templates[%d].objectDefinition", at, i)
		if field := templated(below, definition); field != "" {
			r.unknown = append(r.unknown, r.object.Errorf(field, "the policy makes the object with a template"))
			continue
		}
		made := r.object.Derive(definition, func(field string) string {
			return strings.TrimSuffix(below+"."+field, ".")
		})
		if made.Kind != "" && made.Name != "" {
			r.objects = append(r.objects, made)
		}
	}
}

// overridden returns the remediationAction that counts (governance-policy-framework-addon:
// controllers/templatesync/template_sync.go, overrideRemediationAction).
func overridden(action, override string) string {
	if override != "" && !strings.EqualFold(action, "informonly") {
		return override
	}
	return action
}
