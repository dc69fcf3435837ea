package olmv1

import (
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

// maxName is the length that OLM v1 cuts names to, but for a dash that it forgets (section 5).
const maxName = 63

// join returns base-suffix, the base cut so that the whole has 63 characters, or 64 where that is one more than it
// should (section 5).
func join(base, suffix string) string {
	if len(base)+len(suffix) > maxName {
		base = base[:maxName-len(suffix)-1]
	}
	return base + "-" + suffix
}

// hash returns base 36 of the SHA-224 of v's JSON and a newline (section 5).
func hash(v any) string { return olm.Hash(v, 36) }

// serviceName names the Service of a Deployment's webhooks: OLM v1's name, or its first 55 characters and "service"
// where that has 64, which no Service may have (deviation serviceNameCut).
func serviceName(deployment string) string {
	base := strings.ReplaceAll(deployment, ".", "-")
	name := join(base, "service")
	if len(name) > maxName {
		name = join(base[:len(base)-1], "service")
	}
	return name
}

// certName names the certificate of a Deployment's webhooks and its Secret.
func certName(deployment string) string {
	return join(join(strings.ReplaceAll(deployment, ".", "-"), "service"), "cert")
}

// issuerName names the issuer of a Deployment's certificate.
func issuerName(deployment string) string { return join(certName(deployment), "selfsigned-issuer") }
