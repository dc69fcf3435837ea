package main

import (
	"cmp"
	"fmt"
	"strings"
)

// rowCSV is a ClusterServiceVersion in a row of TestOneVoice: only what matters there is set. What is set is YAML.
type rowCSV struct {
	name      string // with the version; door.v1.0.0 if empty
	namespace string
	modes     string // the install modes that it supports, separated by spaces; AllNamespaces if empty

	annotations, replaces, apis, install, status string
}

// succeeded is the status of a ClusterServiceVersion that OLM runs.
const succeeded = "{phase: Succeeded, reason: InstallSucceeded}"

func (c rowCSV) text() string {
	name := cmp.Or(c.name, "door.v1.0.0")
	operator, version, _ := strings.Cut(name, ".v")
	var b strings.Builder
	line := func(format, value string) {
		if value != "" {
			fmt.Fprintf(&b, format+"\n", value)
		}
	}
	b.WriteString("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n")
	line("  name: %s", name)
	line("  namespace: %s", c.namespace)
	line("  annotations: {%s}", c.annotations)
	b.WriteString("spec:\n")
	line("  displayName: %s", operator)
	line("  version: %s", version)
	line("  replaces: %s", c.replaces)
	b.WriteString("  installModes:\n")
	for mode := range strings.FieldsSeq(cmp.Or(c.modes, "AllNamespaces")) {
		line("  - {type: %s, supported: true}", mode)
	}
	line("  customresourcedefinitions: {%s}", c.apis)
	b.WriteString("  install:\n    strategy: deployment\n")
	line("    spec: {%s}", cmp.Or(c.install, "deployments: []"))
	line("status: %s", c.status)
	return b.String()
}

// operatorGroup is an OperatorGroup in a row of TestOneVoice. With targets, OLM has written its status.
type operatorGroup struct{ namespace, spec, targets string }

func (g operatorGroup) text() string {
	text := fmt.Sprintf("apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: group, namespace: %s}\nspec: {%s}\n",
		g.namespace, g.spec)
	if g.targets != "" {
		text += fmt.Sprintf("status: {namespaces: [%s], lastUpdated: \"2026-01-01T00:00:00Z\"}\n", g.targets)
	}
	return text
}

// servedCRD is a CRD that serves versions of a kind of example.com. The first one is stored.
func servedCRD(kind, plural string, versions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %s.example.com}\nspec:\n"+
		"  group: example.com\n  scope: Namespaced\n  names: {kind: %s, plural: %s, singular: %s, listKind: %sList}\n  versions:\n",
		plural, kind, plural, strings.ToLower(kind), kind)
	for i, v := range versions {
		fmt.Fprintf(&b, "  - {name: %s, served: true, storage: %v, schema: {openAPIV3Schema: {type: object}}}\n", v, i == 0)
	}
	return b.String()
}
