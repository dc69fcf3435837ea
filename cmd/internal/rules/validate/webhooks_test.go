package validate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/internal/fit"
)

// A webhook that nobody can ask is refused, and one that nobody asks is a warning (OLM: pkg/controller/install/
// certresources.go, getServicePort; Kubernetes: staging/src/k8s.io/endpointslice/utils.go, FindPort).
func TestWebhooks(t *testing.T) {
	const declares = ", ports: [{name: hook, containerPort: 9443}, {name: dns, containerPort: 53, protocol: UDP}]"
	const group, other = "apiGroups: [example.com]", "apiGroups: [example.com, apps]"
	for _, c := range []struct {
		name, container string
		webhook, rule   string
		want            []string
	}{
		{"a port by its name", declares, "targetPort: hook", group + ", resources: [things]", nil},
		{"another name", declares, "targetPort: hok", group + ", resources: [things]",
			[]string{`error: .targetPort: no container of Deployment op has a TCP port named "hok" (it has hook and dns), so that the Service of the webhook has no endpoint`}},
		{"the name of a UDP port", declares, "targetPort: dns", group + ", resources: [things]", []string{`error: .targetPort: no container of Deployment op has a TCP port named "dns"`}},
		{"another name, and it fails open", declares, "targetPort: hok, failurePolicy: Ignore", group + ", resources: [things]", []string{"warning: .targetPort: no container"}},
		{"the default port", declares, "failurePolicy: Fail", group + ", resources: [things]",
			[]string{": its requests go to port 443 of the pods, and the containers of Deployment op declare 9443"}},
		{"the default port, and no other one is declared", "", "failurePolicy: Fail", group + ", resources: [things]", nil},
		{"a port that is not declared", declares, "containerPort: 8443", group + ", resources: [things]", nil},
		{"a resource that the group does not have", declares, "targetPort: hook", group + ", resources: [things/status, thing]",
			[]string{".rules[0].resources[1]: thing is no resource of example.com in the bundle, which has things: the API server never asks about it"}},
		{"all resources of the group", declares, "targetPort: hook", group + `, resources: ["*", "*/scale"]`, nil},
		{"a resource of one of several groups", declares, "targetPort: hook", other + ", resources: [deployments]", nil},
	} {
		src := sourceOf(t, change{csvFile, ", resources: {requests: {cpu: 1m, memory: 1Mi}}", c.container + ", resources: {requests: {cpu: 1m, memory: 1Mi}}"},
			change{csvFile, "spec:\n", "spec:\n  webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: w.example.com, deploymentName: op, " +
				"sideEffects: None, admissionReviewVersions: [v1], " + c.webhook + ", rules: [{apiVersions: [v1], operations: [CREATE], " + c.rule + "}]}]\n"})
		list, err := validate.Bundle(t.Context(), src, validate.Options{Form: fit.OLMv0})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range lines(t, src, list) {
			if strings.Contains(l, "webhookdefinitions") && !strings.HasPrefix(l, "b: ") {
				got = append(got, strings.Replace(l, "spec.webhookdefinitions[0]", "", 1))
			}
		}
		if !slices.EqualFunc(got, c.want, strings.Contains) {
			t.Errorf("%s: %s", c.name, cmp.Diff(c.want, got))
		}
		runs := slices.ContainsFunc(list, func(f validate.Finding) bool { return strings.HasPrefix(f.Message, "OLM v0: runs") })
		if refused := len(c.want) > 0 && strings.HasPrefix(c.want[0], "error"); runs == refused {
			t.Errorf("%s: %+v", c.name, list)
		}
	}
}
