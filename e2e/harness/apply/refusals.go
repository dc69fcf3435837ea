package apply

import "regexp"

// refusals are the only errors that may come of applying a tree: what a bundle says itself is not valid, and olmgen carries it unchanged. They go
// by what the API server says, never by the bundle.
var refusals = []struct {
	class, why string
	kind       string
	pattern    *regexp.Regexp
}{
	{"unknown CRD field", "a v1 CRD with a field of v1beta1: OLM loses it when it decodes the CRD, apply does not know it",
		"CustomResourceDefinition", regexp.MustCompile(`: \.spec\.(version|validation|subresources|additionalPrinterColumns): field not declared in schema$`)},
	{"control character", "server-side apply keeps managed fields as YAML, which has no control characters",
		"", regexp.MustCompile(`yaml: control characters are not allowed$`)},
	{"webhook path", "a webhookPath that is no path of a URL",
		"ValidatingWebhookConfiguration", regexp.MustCompile(`webhooks\[\d+\]\.clientConfig\.service\.path: Invalid value`)},
}

// Refusal is the class of a refusal that the bundle itself is to blame for; empty for one that nothing explains.
func Refusal(kind string, err error) (class string) {
	for _, r := range refusals {
		if (r.kind == "" || r.kind == kind) && r.pattern.MatchString(err.Error()) {
			return r.class
		}
	}
	return ""
}
