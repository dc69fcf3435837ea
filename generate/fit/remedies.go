package fit

import "github.com/olmgen/olmgen/internal/olm/versions"

// The remedies have commands to paste, of olmgen and of others.
const (
	// without is one for what only an OLM refuses.
	without = "olmgen render BUNDLE -o DIR --profile plain"

	// configured is how a variable comes into the environment of an operator.
	configured = " into the environment: with profile plain or olmv1 by olmgen render --config-subscription FILE " +
		"(the values of a chart cannot), with a ClusterExtension by deploymentConfig. It then reads an " +
		"OperatorCondition that nobody makes: what it does then is unknown"
)

// enabling returns the command that turns a feature gate on, "" if there is none (operator-controller:
// docs/draft/howto; openshift/api: config/v1/types_feature.go).
func enabling(r versions.Release, gate string) string {
	if r.Product == versions.OpenShift {
		if state, _ := r.Gate(gate, versions.TechPreview); state != versions.Enabled {
			return ""
		}
		return without + "; or, in a cluster for tests, oc patch featuregate cluster --type=merge -p " +
			"'{\"spec\":{\"featureSet\":\"TechPreviewNoUpgrade\"}}': this cannot be undone, and prevents upgrades"
	}
	return "kubectl patch deployment -n olmv1-system operator-controller-controller-manager --type=json -p " +
		"'[{\"op\": \"add\", \"path\": \"/spec/template/spec/containers/0/args/-\", " +
		"\"value\": \"--feature-gates=" + gate + "=true\"}]'"
}
