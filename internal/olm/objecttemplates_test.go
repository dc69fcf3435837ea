package olm_test

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// An object of an object-template, and one that the controller would make with a template.
const (
	templateA = "{complianceType: musthave, objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}"
	templated = "{complianceType: musthave, objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ x }}'}}}"
)

func TestObjectTemplates(t *testing.T) {
	policy := func(spec string) string {
		return "{apiVersion: policy.open-cluster-management.io/v1, kind: ConfigurationPolicy, metadata: {name: p}, spec: {" + spec + "}}"
	}
	parent := func(spec, kind, inner string) string {
		return "{apiVersion: policy.open-cluster-management.io/v1, kind: Policy, metadata: {name: p}, spec: {" + spec +
			"policy-templates: [{objectDefinition: {kind: " + kind + ", spec: {" + inner + "}}}]}}"
	}
	const items = "object-templates: [" + templateA + "]"
	for name, test := range map[string]struct {
		object  string
		want    string // names of objects
		unknown string // fields
	}{
		"enforced":               {policy("remediationAction: Enforce, " + items), "a", ""},
		"only looked at":         {policy("remediationAction: inform, " + items), "", ""},
		"without an action":      {policy(items), "", ""},
		"must not be there":      {policy("remediationAction: enforce, " + strings.ReplaceAll(items, "musthave", "mustnothave")), "", ""},
		"must be like that":      {policy("remediationAction: enforce, " + strings.ReplaceAll(items, "musthave", "MustOnlyHave")), "a", ""},
		"without a definition":   {policy("remediationAction: enforce, object-templates: [{complianceType: musthave}, " + templateA + "]"), "a", ""},
		"without a name":         {policy("remediationAction: enforce, " + strings.ReplaceAll(items, "{name: a}", "{}")), "", ""},
		"without a kind":         {policy("remediationAction: enforce, " + strings.ReplaceAll(items, "kind: ConfigMap, ", "")), "", ""},
		"with a template":        {policy("remediationAction: enforce, object-templates: [" + templateA + ", " + templated + "]"), "a", "spec.object-templates[1].objectDefinition.metadata.name"},
		"raw":                    {policy("remediationAction: enforce, object-templates-raw: x, " + items), "", "spec.object-templates-raw"},
		"in a Policy":            {parent("", "ConfigurationPolicy", "remediationAction: enforce, "+items), "a", ""},
		"the Policy enforces":    {parent("remediationAction: enforce, ", "ConfigurationPolicy", "remediationAction: inform, "+items), "a", ""},
		"the Policy only looks":  {parent("remediationAction: inform, ", "ConfigurationPolicy", "remediationAction: enforce, "+items), "", ""},
		"inform only stays":      {parent("remediationAction: enforce, ", "ConfigurationPolicy", "remediationAction: informOnly, "+items), "", ""},
		"the Policy is disabled": {parent("disabled: true, ", "ConfigurationPolicy", "remediationAction: enforce, "+items), "", ""},
		"not disabled":           {parent("disabled: false, ", "ConfigurationPolicy", "remediationAction: enforce, "+items), "a", ""},
		"another kind in it":     {parent("", "IamPolicy", "remediationAction: enforce, "+items), "", ""},
		"another kind":           {strings.ReplaceAll(policy("remediationAction: enforce, "+items), "ConfigurationPolicy", "CertificatePolicy"), "", ""},
		"another kind with templates of policies": {strings.Replace(parent("", "ConfigurationPolicy", "remediationAction: enforce, "+items), "kind: Policy", "kind: PolicySet", 1), "", ""},
		"another group": {strings.ReplaceAll(policy("remediationAction: enforce, "+items), "policy.open-cluster-management.io", "example.com"), "", ""},
	} {
		o, err := manifest.ReadOne("p.yaml", []byte(test.object))
		if err != nil {
			t.Fatal(err)
		}
		objects, unknown := olm.ObjectTemplates(o)
		var names, fields []string
		for _, o := range objects {
			names = append(names, cmp.Or(o.Name, "?"))
		}
		for _, e := range unknown {
			fields = append(fields, e.Field)
		}
		got := [2]string{strings.Join(names, " "), strings.Join(fields, " ")}
		if diff := gocmp.Diff([2]string{test.want, test.unknown}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
