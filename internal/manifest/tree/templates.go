package tree

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
)

const groupPolicy = "policy.open-cluster-management.io"

// withTemplates adds the objects that ConfigurationPolicies of Open Cluster Management keep in a cluster: those of
// object-templates that are enforced (open-cluster-management-io/config-policy-controller:
// controllers/configurationpolicy_controller.go).
func withTemplates(objects []*manifest.Object, t *Tree) []*manifest.Object {
	var more []*manifest.Object
	for _, o := range objects {
		if o.Group() == groupPolicy {
			more = append(more, t.templatesOf(o)...)
		}
	}
	if len(more) == 0 {
		return objects
	}
	return append(objects[:len(objects):len(objects)], more...)
}

func (t *Tree) templatesOf(o *manifest.Object) (list []*manifest.Object) {
	switch o.Kind {
	case "ConfigurationPolicy":
		spec, _ := o.Get("spec")
		return t.objectTemplates(o, spec, "spec", "")
	case "Policy":
		spec, _ := o.Get("spec")
		fields, _ := spec.(map[string]any)
		if fields["disabled"] == true {
			return nil
		}
		action, _ := fields["remediationAction"].(string)
		templates, _ := fields["policy-templates"].([]any)
		for i, item := range templates {
			template, _ := item.(map[string]any)
			definition, _ := template["objectDefinition"].(map[string]any)
			if definition["kind"] == "ConfigurationPolicy" {
				at := fmt.Sprintf("spec.policy-templates[%d].objectDefinition.spec", i)
				list = append(list, t.objectTemplates(o, definition["spec"], at, action)...)
			}
		}
	}
	return list
}

// objectTemplates returns the objects that the spec of a ConfigurationPolicy keeps. override is the remediationAction
// of the Policy that has it.
func (t *Tree) objectTemplates(o *manifest.Object, spec any, at, override string) (list []*manifest.Object) {
	fields, _ := spec.(map[string]any)
	action, _ := fields["remediationAction"].(string)
	if override != "" && !strings.EqualFold(action, "informonly") {
		action = override
	}
	if !strings.EqualFold(action, "enforce") {
		return nil
	}
	unknown := func(field, why string) {
		t.Templated = append(t.Templated, o.Errorf(at+"."+field, "%s", why))
	}
	if _, ok := fields["object-templates-raw"]; ok {
		unknown("object-templates-raw", "the policy makes its objects with a template: they are not known")
		return nil
	}
	templates, _ := fields["object-templates"].([]any)
	for i, item := range templates {
		template, _ := item.(map[string]any)
		definition, _ := template["objectDefinition"].(map[string]any)
		kind, _ := template["complianceType"].(string)
		if definition == nil || !strings.EqualFold(kind, "musthave") && !strings.EqualFold(kind, "mustonlyhave") {
			continue
		}
		field := fmt.Sprintf("object-templates[%d].objectDefinition", i)
		if found := templateIn(definition); found != "" {
			unknown(field, "the object is made with the template "+found+": it is not known")
			continue
		}
		below := at + "." + field
		made := o.Derive(definition, func(field string) string { return strings.TrimSuffix(below+"."+field, ".") })
		if made.Kind != "" && made.Name != "" {
			list = append(list, made)
		}
	}
	return list
}

// templateIn returns a text of a value that the controller fills in.
func templateIn(v any) string {
	switch v := v.(type) {
	case string:
		if i := strings.Index(v, "{{"); i >= 0 {
			return text.Brief(text.OneLine(v[i:]))
		}
	case []any:
		for _, x := range v {
			if found := templateIn(x); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if found := templateIn(v[key]); found != "" {
				return found
			}
		}
	}
	return ""
}
