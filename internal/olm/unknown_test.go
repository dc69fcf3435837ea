package olm

import (
	"slices"
	"strings"
	"testing"
)

// The API server drops a field that the schema does not have (Kubernetes: apiextensions-apiserver,
// pkg/apiserver/schema/pruning).
func TestUnknownFields(t *testing.T) {
	const drops = ": unknown field: " + Undeclared
	for _, c := range []struct {
		name, kind, spec string
		want             []string
	}{
		{"none", "OperatorGroup", `{targetNamespaces: [a]}`, nil},
		{"a misspelled field", "Subscription", `{chanel: a, name: b}`, []string{"spec.chanel" + drops + "; did you mean channel?"}},
		{"the group becomes global", "OperatorGroup", `{targetNamespace: [a]}`,
			[]string{"spec.targetNamespace" + drops + ", so the group targets all namespaces; did you mean targetNamespaces?"}},
		{"the group keeps its namespaces", "OperatorGroup", `{targetNamespaces: [a], extra: b}`, []string{
			"spec.extra" + drops + "; known fields: selector, serviceAccountName, staticProvidedAPIs, targetNamespaces, upgradeStrategy"}},
		{"the group keeps its labels", "OperatorGroup", `{selector: {matchLabels: {a: b}}, extra: b}`, []string{
			"spec.extra" + drops + "; known fields: selector, serviceAccountName, staticProvidedAPIs, targetNamespaces, upgradeStrategy"}},
		{"the group keeps its expressions", "OperatorGroup", `{selector: {matchExpressions: [{key: a, operator: Exists}]}, extra: b}`, []string{
			"spec.extra" + drops + "; known fields: selector, serviceAccountName, staticProvidedAPIs, targetNamespaces, upgradeStrategy"}},
		{"labels beside matchLabels", "OperatorGroup", `{selector: {example: b}}`, []string{
			"spec.selector.example" + drops + ", so the group targets all namespaces; did you mean matchLabels? Put the labels below it"}},
		{"any key of a map", "CatalogSource", `{grpcPodConfig: {nodeSelector: {a: b}}}`, nil},
		{"an unknown field in a list", "CatalogSource", `{grpcPodConfig: {tolerations: [{key: a}, {keys: a}]}}`,
			[]string{"spec.grpcPodConfig.tolerations[1].keys" + drops + "; did you mean key?"}},
		{"a mapping for text", "Subscription", `{name: {a: b}}`, nil},
		{"a list for text", "Subscription", `{name: [{a: b}]}`, nil},
		{"metadata of a pod keeps all", "ClusterServiceVersion",
			`{install: {spec: {deployments: [{spec: {template: {metadata: {any: b}}}}]}}}`, nil},
		{"an object that has no fields", "ClusterServiceVersion", csvPod(`volumes: [{ephemeral: {volumeClaimTemplate: {metadata: {q: b}}}}]`),
			[]string{podField + "volumes[0].ephemeral.volumeClaimTemplate.metadata.q" + drops + "; "}},
	} {
		var got []string
		for _, e := range UnknownFields(rowObject(t, c.kind, c.spec)) {
			got = append(got, e.Field+": "+e.Msg+"; "+e.Tip)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	for field, want := range map[string]string{"spec: {name: a}": "did you mean spec beside metadata? Indent it less",
		"status: {}": "did you mean status beside metadata? Indent it less", "label: {}": "did you mean labels?"} {
		o := objectOf(t, "apiVersion: "+Group+"/v1alpha1\nkind: Subscription\nmetadata:\n  name: a\n  "+field+"\nspec: {name: a, channel: b}\n")
		if got := UnknownFields(o); len(got) != 1 || got[0].Tip != want {
			t.Errorf("%s in metadata: %v, want %q", field, got, want)
		}
	}
	if got := UnknownFields(rowObject(t, "OperatorGroup", "{selector: {matchLabels: {a: b}}, spec: {}}")); len(got) != 1 || strings.Contains(got[0].Tip, "Indent") {
		t.Errorf("spec in spec: %v", got)
	}
	o := objectOf(t, "apiVersion: "+Group+"/v2\nkind: OperatorGroup\nmetadata: {name: a}\nspec: {a: b}\n")
	if got := UnknownFields(o); got != nil {
		t.Errorf("of an unknown version: %v", got)
	}
}

// OLM drops spaces and empty items (OLM: pkg/controller/registry/resolver/cache/operators.go, GVKStringToProvidedAPISet).
func TestListedAPIs(t *testing.T) {
	for _, c := range []struct {
		annotation     string
		all, malformed []string
	}{
		{"", []string{}, nil},
		{"Etcd.v1.etcd.example.com", []string{"Etcd.v1.etcd.example.com"}, nil},
		{" Etcd.v1.example.com, Backup.v1alpha1.example.com,,", []string{"Etcd.v1.example.com", "Backup.v1alpha1.example.com"}, nil},
		{".v1.example.com,Etcd,Etcd.v1,Etcd.1.example.com,Etcd.v1.Example", nil, []string{".v1.example.com", "Etcd", "Etcd.v1", "Etcd.1.example.com", "Etcd.v1.Example"}},
	} {
		if c.all == nil {
			c.all = c.malformed
		}
		if got := ListedAPIs(c.annotation); !slices.Equal(got, c.all) {
			t.Errorf("%q: %q", c.annotation, got)
		}
		if got := MalformedAPIs(c.annotation); !slices.Equal(got, c.malformed) {
			t.Errorf("%q: malformed %q", c.annotation, got)
		}
	}
}
