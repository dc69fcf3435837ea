package olm

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/manifest"
)

// rejectedRows are specs, and what the API server says about them: TestRefused asks its libraries.
var rejectedRows = []struct {
	name, kind, spec string
	want             []string
}{
	{"nothing wrong", "OperatorGroup", `{targetNamespaces: [a, b]}`, nil},
	{"null is absent", "OperatorGroup", `{targetNamespaces: null, staticProvidedAPIs: null}`, nil},
	{"a field that is not known is dropped", "OperatorGroup", `{targetNamespaces: [a], other: {a: b}}`, nil},
	{"no spec", "Subscription", `null`, []string{"spec: missing"}},
	{"required fields", "Subscription", `{name: a, source: b}`, []string{"spec.sourceNamespace: missing"}},
	{"each wrong type", "OperatorGroup", `{targetNamespaces: a, staticProvidedAPIs: "true", serviceAccountName: {}, selector: []}`, []string{
		"spec.selector: a list has the wrong type, want a mapping",
		"spec.serviceAccountName: a mapping has the wrong type, want text",
		`spec.staticProvidedAPIs: "true" has the wrong type, want true or false`,
		"spec.targetNamespaces: a has the wrong type, want a list",
	}},
	{"whole numbers", "CatalogSource", `{sourceType: grpc, priority: 2.0}`, nil},
	{"other numbers", "CatalogSource", `{sourceType: grpc, priority: 2.5}`, []string{"spec.priority: 2.5 has the wrong type, want a whole number"}},
	{"a huge number", "CatalogSource", `{sourceType: grpc, priority: 18446744073709551615}`,
		[]string{"spec.priority: 18446744073709551615 has the wrong type, want a whole number"}},
	{"text for a number", "CatalogSource", `{sourceType: grpc, priority: "2"}`, []string{`spec.priority: "2" has the wrong type, want a whole number`}},
	{"a field with dots", "CatalogSource", `{sourceType: grpc, grpcPodConfig: {nodeSelector: {a.b/c: 5}}}`,
		[]string{`spec.grpcPodConfig.nodeSelector["a.b/c"]: 5 has the wrong type, want text`}},
	{"none of the values", "CatalogSource", `{sourceType: grpc, grpcPodConfig: {securityContextConfig: lax}}`,
		[]string{`spec.grpcPodConfig.securityContextConfig: unknown value "lax"`}},
	{"a set", "OperatorGroup", `{targetNamespaces: [a, b, a]}`, []string{`spec.targetNamespaces[2]: the list has "a" twice`}},

	{"text of the longest length", "ClusterServiceVersion", csvSpec(`release: "12345678901234567890"`), nil},
	{"longer text", "ClusterServiceVersion", csvSpec(`release: "123456789012345678901"`), []string{"spec.release: the text is longer than 20 characters"}},
	{"the smallest port", "ClusterServiceVersion", csvWebhook("1"), nil},
	{"a smaller port", "ClusterServiceVersion", csvWebhook("0"), []string{"spec.webhookdefinitions[0].containerPort: 0 is less than 1"}},
	{"the greatest port", "ClusterServiceVersion", csvWebhook("65535"), nil},
	{"a greater port", "ClusterServiceVersion", csvWebhook("65536"), []string{"spec.webhookdefinitions[0].containerPort: 65536 is greater than 65535"}},
	{"a quantity", "ClusterServiceVersion", csvContainer(`resources: {limits: {cpu: 100m, memory: 5}}`), nil},
	{"no quantity", "ClusterServiceVersion", csvContainer(`resources: {limits: {cpu: 1x}}`),
		[]string{podField + "containers[0].resources.limits.cpu: \"1x\" does not match"}},
	{"a quantity that is neither", "ClusterServiceVersion", csvContainer(`resources: {limits: {cpu: true}}`),
		[]string{podField + "containers[0].resources.limits.cpu: true has the wrong type, want a number or text"}},
	{"a fraction is no quantity", "ClusterServiceVersion", csvContainer(`resources: {limits: {cpu: 1.5}}`),
		[]string{podField + "containers[0].resources.limits.cpu: 1.5 has the wrong type, want a number or text"}},
	{"items by their name", "ClusterServiceVersion", csvContainer(`env: [{name: a}, {name: b}, {name: a}]`),
		[]string{podField + `containers[0].env[2]: the list has "a" twice`}},
	{"items of the wrong type have no name", "ClusterServiceVersion", csvContainer(`env: [1, 2]`), []string{
		podField + "containers[0].env[0]: 1 has the wrong type, want a mapping",
		podField + "containers[0].env[1]: 2 has the wrong type, want a mapping",
	}},
	{"ports of two protocols", "ClusterServiceVersion", csvContainer(`ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]`), nil},
	{"a port of the default protocol", "ClusterServiceVersion", csvContainer(`ports: [{containerPort: 80}, {containerPort: 80, protocol: TCP}]`),
		[]string{podField + `containers[0].ports[1]: the list has "80/TCP" twice`}},
	{"null for a number", "ClusterServiceVersion",
		csvContainer(`restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [null]}}]`), []string{
			podField + "containers[0].restartPolicyRules[0].exitCodes.values[0]: null has the wrong type, want a whole number"}},
	{"a required field with a default", "ClusterServiceVersion", csvPod(`containers: [], hostAliases: [{hostnames: [a]}]`), nil},
}

const podField = "spec.install.spec.deployments[0].spec.template.spec."

func csvSpec(more string) string {
	return "{displayName: a, install: {strategy: deployment}, " + more + "}"
}

func csvWebhook(port string) string {
	return csvSpec("webhookdefinitions: [{type: ConversionWebhook, generateName: a, sideEffects: None, admissionReviewVersions: [v1], containerPort: " +
		port + "}]")
}

func csvPod(spec string) string {
	return "{displayName: a, install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {}, template: {spec: {" + spec + "}}}}]}}}"
}

func csvContainer(more string) string { return csvPod("containers: [{name: c, " + more + "}]") }

func rowObject(t *testing.T, kind, spec string) *manifest.Object {
	t.Helper()
	version := "v1alpha1"
	if kind == "OperatorGroup" {
		version = "v1"
	}
	return objectOf(t, "apiVersion: "+Group+"/"+version+"\nkind: "+kind+"\nmetadata: {name: a}\nspec: "+spec+"\n")
}

func TestRejected(t *testing.T) {
	for _, c := range rejectedRows {
		var got []string
		for _, e := range Rejected(rowObject(t, c.kind, c.spec), "") {
			message, _, _ := strings.Cut(e.Msg, "; the API server rejects the object")
			got = append(got, e.Field+": "+message)
		}
		same := func(got, want string) bool { return got == want || strings.HasPrefix(got, want+" ^") }
		if !slices.EqualFunc(got, c.want, same) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	o := objectOf(t, "apiVersion: "+Group+"/v2\nkind: OperatorGroup\nmetadata: {name: a}\n")
	if got := Rejected(o, ""); len(got) != 1 || got[0].Field != "apiVersion" || got[0].Tip != "OLM serves v1 or v1alpha2 of "+Group {
		t.Errorf("%v", got)
	}
	if got := Rejected(rowObject(t, "Subscription", "{name: .inf}"), ""); len(got) != 1 || got[0].Line != 4 ||
		got[0].Msg != ".inf is not a number that JSON can hold" {
		t.Errorf("a value that cannot be decoded: %v", got)
	}
}
