package fit_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/fit"
)

// One answer for an operator and a target, with its reason, its remedy and the releases that differ.
func TestJudge(t *testing.T) {
	const (
		olm     = "operators.coreos.com"
		gate    = "kubectl patch deployment -n olmv1-system operator-controller-controller-manager --type=json -p '[{\"op\": \"add\", "
		service = "  apiservicedefinitions: {owned: [{group: x.io, version: v1, kind: Boat, name: boats, deploymentName: d}]}\n"
		hook    = "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: " +
			"{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}]}}\n" +
			"  webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: v.x.io, deploymentName: d, containerPort: 443, " +
			"admissionReviewVersions: [v1], sideEffects: None, rules: [{apiGroups: [x.io], apiVersions: [v1], operations: [CREATE], resources: [boats]}]}]\n"
		pods = "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: " +
			"{metadata: {labels: {a: b}}, spec: {serviceAccountName: nobody, containers: [{name: c, image: i}]}}}}]}}\n"
		sets = "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: " +
			"{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, env: [{name: OPERATOR_CONDITION_NAME, value: x}]}]}}}}], " +
			"clusterPermissions: [{serviceAccountName: a, rules: [{apiGroups: [operators.coreos.com], resources: [operatorconditions], verbs: [get]}]}]}}\n"
	)
	needs := map[string]string{"metadata/dependencies.yaml": "dependencies:\n- type: olm.package\n  value: {packageName: sea, version: '1.0.0'}\n"}
	for name, c := range map[string]struct {
		modes, spec string
		files       map[string]string
		form        fit.Form
		cluster     string
		want        [4]string // prefixes of the answer, the reason, the remedy and the releases that differ
	}{
		"nothing speaks against it": {all, "", nil, fit.OLMv1, "", [4]string{"runs"}},
		"a gate": {"OwnNamespace", "", nil, fit.OLMv1, "", [4]string{"needs", "operator-controller v1.11 takes operators for their own or a " +
			"single namespace only with the feature gate SingleOwnNamespaceInstallSupport", gate, "otherwise in operator-controller v1.8"}},
		"a gate that is not there": {"OwnNamespace", "", nil, fit.OLMv1, "v1.1", [4]string{"refused", "operator-controller v1.1 does not take",
			"olmgen render BUNDLE -o DIR --profile plain", "otherwise in operator-controller v1.2 to v1.11"}},
		"dependencies": {all, "", needs, fit.OLMv1, "", [4]string{"refused", "the operator depends on others", "olmgen render BUNDLE",
			"in no known release"}},
		"two gates": {"OwnNamespace", hook, nil, fit.OLMv1, "v1.3", [4]string{"needs", "operator-controller v1.3 takes operators for their own or " +
			"a single namespace only with the feature gate SingleOwnNamespaceInstallSupport; it needs all of SingleOwnNamespaceInstallSupport, " +
			"WebhookProviderCertManager", gate + "\"path\": \"/spec/template/spec/containers/0/args/-\", \"value\": " +
			"\"--feature-gates=SingleOwnNamespaceInstallSupport=true,WebhookProviderCertManager=true\"}]'", "otherwise in operator-controller v1.8"}},
		"webhooks need certificates": {all, hook, nil, fit.OLMv1, "v1.1", [4]string{"refused", "operator-controller v1.1 does not take webhooks",
			"olmgen render BUNDLE -o DIR --profile plain --certs cert-manager", "otherwise in operator-controller v1.3 to v1.11"}},
		"what else is refused": {"OwnNamespace", "", needs, fit.OLMv1, "v1.1", [4]string{"refused", "", "", "in no known release"}},
		"several namespaces": {"MultiNamespace", "", nil, fit.OLMv1, "", [4]string{"refused", "the operator supports no install mode of OLM v1",
			"olmgen render BUNDLE -o DIR --profile plain --install-mode MultiNamespace --target-namespaces NAMESPACE,OTHER"}},
		"one namespace": {"SingleNamespace", "", nil, fit.OLMv1, "v1.1", [4]string{"refused", "", "olmgen render BUNDLE -o DIR --profile plain " +
			"--target-namespaces NAMESPACE"}},
		"no mode":                     {"", "", nil, fit.OLMv0, "", [4]string{"refused", "the operator supports no install mode"}},
		"nobody knows the Kubernetes": {all, "  minKubeVersion: 1.99.0\n", nil, fit.OLMv1, "", [4]string{"runs"}},
		"dependencies without OLM":    {all, "", needs, fit.Plain, "", [4]string{"needs", "another operator: olm.package.required", "install that one first"}},
		"its own APIs":                {all, service, nil, fit.OLMv1, "", [4]string{"refused", "the operator serves APIs itself", "olmgen render BUNDLE"}},
		"conditions": {all, asks("clusterPermissions", rule(olm, "operatorconditions")), nil, fit.Plain, "", [4]string{"unknown", "the operator has " +
			"rights on OperatorConditions, and a cluster without OLM makes none: it cannot hold back its own upgrade, and may exit at its start: " +
			"only OLM v0 sets OPERATOR_CONDITION_NAME", "write OPERATOR_CONDITION_NAME into the environment: with profile plain or olmv1 by olmgen " +
			"render --config-subscription FILE (the values of a chart cannot)"}},
		"conditions, and it sets the variable": {all, sets, nil, fit.OLMv1, "", [4]string{"unknown", "the operator has rights on " +
			"OperatorConditions, and OLM v1 makes none: it cannot hold back its own upgrade"}},
		"OLM v0 makes conditions":  {all, asks("clusterPermissions", rule(olm, "operatorconditions")), nil, fit.OLMv0, "v0.46", [4]string{"runs"}},
		"nobody makes its account": {all, pods, nil, fit.OLMv1, "", [4]string{"does not start"}},
		"the worst counts": {"OwnNamespace", asks("clusterPermissions", rule(olm, "subscriptions")), needs, fit.OLMv1, "", [4]string{"refused",
			"the operator depends on others"}},
		"the cluster is older":      {all, "  minKubeVersion: 1.34.0\n", nil, fit.OLMv0, "4.20", [4]string{"refused", "OLM does not install it", "update the cluster"}},
		"it holds back the upgrade": {all, "", property(`"4.18"`), fit.OLMv0, "4.20", [4]string{"needs", "the operator holds back", "update the operator"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := fit.Judge(operator(t, c.modes, c.spec, c.files), c.form, cluster(t, c.cluster))
			for i, got := range []string{string(v.Answer), v.Reason, v.Remedy, v.Changes} {
				if !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("got %q, want %q", got, c.want[i])
				}
			}
		})
	}
	o := operator(t, all, "", nil)
	o.Bundle.Partial = true
	if v, _ := fit.Judge(o, fit.OLMv1, fit.Cluster{}); v.String() != "unknown: the objects of its bundle are not known" {
		t.Error(v)
	}
}
