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
	value, err := o.Value()
	if err != nil {
		return nil, nil
	}
	r := &templateReader{object: o}
	spec, _ := value["spec"].(map[string]any)
	if o.Kind == kindConfigurationPolicy {
		r.read(spec, "spec", "")
	} else if spec["disabled"] != true {
		action, _ := spec["remediationAction"].(string)
		templates, _ := spec["policy-templates"].([]any)
		for i, item := range templates {
			template, _ := item.(map[string]any)
			definition, _ := template["objectDefinition"].(map[string]any)
			if definition["kind"] == kindConfigurationPolicy {
				inner, _ := definition["spec"].(map[string]any)
				r.read(inner, fmt.Sprintf("spec.policy-templates[%d].objectDefinition.spec", i), action)
			}
		}
	}
	return r.objects, r.unknown
}

type templateReader struct {
	object  *manifest.Object
	objects []*manifest.Object
	unknown []*manifest.Error
}

// read reads the spec of a ConfigurationPolicy. override is the remediationAction of the Policy that has it.
func (r *templateReader) read(spec map[string]any, at, override string) {
	action, _ := spec["remediationAction"].(string)
	if !strings.EqualFold(overridden(action, override), "enforce") {
		return
	}
	const raw = "object-templates-raw"
	if _, ok := spec[raw]; ok {
		r.unknown = append(r.unknown, r.object.Errorf(at+"."+raw, "the policy makes its objects with a template"))
		return
	}
	templates, _ := spec["object-templates"].([]any)
	for i, item := range templates {
		template, _ := item.(map[string]any)
		definition, _ := template["objectDefinition"].(map[string]any)
		kind, _ := template["complianceType"].(string)
		if !strings.EqualFold(kind, "musthave") && !strings.EqualFold(kind, "mustonlyhave") {
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
