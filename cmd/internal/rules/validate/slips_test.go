package validate_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
)

// What a rule names in another way than Kubernetes does grants nothing, and what a bundle ships under a name that is
// taken is never served, or is written over what the cluster has.
func TestSlips(t *testing.T) {
	role := func(name, rule string) change {
		return change{"manifests/role.yaml", "", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" +
			"metadata: {name: " + name + "}\nrules: [" + rule + "]\n"}
	}
	rule := func(text string) change { return role("op-role", text) }
	clash := func(names string) change {
		crd := strings.NewReplacer("things.example.com", "others.example.com",
			"{plural: things, kind: Thing, singular: thing, listKind: ThingList}", names).Replace(goodFiles()[crdFile])
		return change{"manifests/others.crd.yaml", "", crd}
	}
	for name, c := range map[string]struct {
		change change
		want   string // a part of the only finding; empty for none
	}{
		"the core group":          {rule("{apiGroups: [''], resources: [secrets], verbs: [get]}"), ""},
		"a group that looks core": {rule("{apiGroups: [core], resources: [secrets], verbs: [get]}"), `"core": the rule grants nothing of it`},
		"a group with a version":  {rule("{apiGroups: [apps/v1], resources: [deployments], verbs: [get]}"), `did you mean "apps"?`},
		"a singular":              {rule("{apiGroups: [apps], resources: [statefulset], verbs: [get]}"), "did you mean statefulsets?"},
		"of another group":        {rule("{apiGroups: ['', batch], resources: [deployments, jobs], verbs: [get]}"), `deployments is of the API groups ["apps" "extensions"]`},
		"a resource":              {rule("{apiGroups: [''], resources: [Secrets], verbs: [get]}"), `no API group of the rule has "Secrets": the rule grants nothing of it (did you mean secrets?)`},
		"all its subresources":    {rule("{apiGroups: [x.io], resources: [boats/*], verbs: [get]}"), "name each subresource"},
		"a subresource of all":    {rule("{apiGroups: [x.io], resources: ['*/status'], verbs: [get]}"), ""},
		"no group in common":      {rule("{apiGroups: ['', x.io], resources: [deployment], verbs: [get]}"), ""},
		"a name of all":           {rule("{apiGroups: [''], resources: [secrets], resourceNames: ['*'], verbs: [get]}"), "leave resourceNames out"},
		"a short verb":            {rule("{apiGroups: [apps], resources: [deployments], verbs: [lst]}"), "did you mean list?"},
		"no verb":                 {rule("{apiGroups: [''], resources: [secrets], verbs: [reed]}"), "choose one of get, list"},
		"special verbs":           {rule("{apiGroups: [certificates.k8s.io], resources: [signers], verbs: [approve, sign, attest]}"), ""},
		"a verb of a feature":     {rule("{apiGroups: [''], resources: [pods], verbs: ['impersonate-on:user-info:list']}"), ""},
		"a verb of HTTP":          {rule("{nonResourceURLs: [/livez], verbs: [head]}"), ""},
		"a verb of another's API": {rule("{apiGroups: [x.io], resources: [boats], verbs: [sail]}"), ""},
		"of an unknown group":     {rule("{apiGroups: [x.io], resources: [boat], verbs: [get]}"), ""},
		"its own kind":            {rule("{apiGroups: [example.com], resources: [thing/status], verbs: [get]}"), "did you mean things?"},
		"a verb":                  {rule("{apiGroups: [apps], resources: [deployments], verbs: [craete]}"), "did you mean create?"},
		"a verb of its own":       {rule("{apiGroups: [example.com], resources: [things], verbs: [use]}"), ""},
		"a default role":          {role("view", "{apiGroups: [example.com], resources: [things], verbs: [get]}"), "clusters have a ClusterRole view by default"},
		"names of its own":        {clash("{plural: others, kind: Other, singular: other, listKind: OtherList}"), ""},
		"a kind that is taken":    {clash("{plural: others, kind: Thing, singular: other, listKind: OtherList}"), "the API server never serves"},
		"a list that is taken":    {clash("{plural: others, kind: Other, singular: other, listKind: ThingList}"), "the API server never serves"},
	} {
		src := sourceOf(t, c.change)
		list, err := validate.Bundle(t.Context(), src, validate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			if f.Rule == "rule-grants-nothing" || f.Rule == "default-role" || f.Rule == "crd-names" {
				got = append(got, f.Message+" "+f.Hint)
			}
		}
		if text := strings.Join(got, "\n"); (c.want == "") != (text == "") || !strings.Contains(text, c.want) || len(got) > 1 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
