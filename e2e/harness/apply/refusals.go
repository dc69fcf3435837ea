package apply

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// refusals are the only errors that applying a tree may end in: the bundle itself contains something invalid, and
// olmgen carries it unchanged. They are matched by the API server's message, never by the bundle.
var refusals = []struct {
	class, why string
	kind       string
	pattern    *regexp.Regexp
}{
	{"descriptor value",
		"a CSV whose descriptor has a list as its value: OLM creates it, server-side apply wants text",
		"ClusterServiceVersion",
		regexp.MustCompile(`Descriptors\[.*\]\.value: expected string, got `)},
	{"control character", "server-side apply keeps managed fields as YAML, which has no control characters",
		"", regexp.MustCompile(`yaml: control characters are not allowed$`)},
	{"webhook path", "a webhookPath that is no path of a URL",
		"ValidatingWebhookConfiguration",
		regexp.MustCompile(`webhooks\[\d+\]\.clientConfig\.service\.path: Invalid value`)},
	{"stored version",
		"an upgrade whose CRD lacks the version in which objects may be stored; OLM's InstallPlan fails of it too",
		"CustomResourceDefinition",
		regexp.MustCompile(`: status\.storedVersions\[\d+\]: Invalid value: "\w+": missing from spec\.versions`)},
	{"selector",
		"an upgrade whose Deployment has another selector; OLM's new operator fails of it too (golden/refused)",
		"Deployment", regexp.MustCompile(`spec\.selector: Invalid value: .*: field is immutable$`)},
	{"common name",
		"OLM v1 makes a common name of Service and namespace that cert-manager refuses; olmgen warns of it",
		"Certificate",
		regexp.MustCompile(`^admission webhook "webhook\.cert-manager\.io" denied the request: ` +
			`spec\.commonName: Too long`)},
	{"aggregated rules",
		"a shipped ClusterRole with an aggregationRule and with rules, which are the aggregation controller's",
		"ClusterRole",
		regexp.MustCompile(`Apply failed with 1 conflict: ` +
			`conflict with "clusterrole-aggregation-controller": \.rules$`)},
}

// Refusal is the class of a refusal that the bundle itself is to blame for; empty for one that nothing explains. The
// ClusterRoles of an OperatorGroup are never the bundle's.
func Refusal(o *unstructured.Unstructured, err error) (class string) {
	if o.GetLabels()["olm.owner.kind"] == "OperatorGroup" {
		return ""
	}
	for _, r := range refusals {
		if (r.kind == "" || r.kind == o.GetKind()) && r.pattern.MatchString(err.Error()) {
			return r.class
		}
	}
	return ""
}
