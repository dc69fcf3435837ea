package fit

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// The remedies have commands to paste, of olmgen and of others.
const (
	// configured is how a variable comes into the environment of an operator.
	configured = " into the environment: with profile plain or olmv1 by olmgen render --config-subscription FILE " +
		"(the values of a chart cannot), with a ClusterExtension by deploymentConfig. It then reads an " +
		"OperatorCondition that nobody makes: what it does then is unknown"
)

// without returns the command for what only an OLM refuses; "" if the operator supports no install mode, or if render
// refuses it because nothing converts its objects. NAMESPACE is one that it watches.
func (o Operator) without() string {
	supports := func(m v1alpha1.InstallModeType) bool { return olm.Supports(o.CSV.Spec.InstallModes, m) }
	out := "olmgen render BUNDLE -o DIR --profile plain"
	switch {
	case slices.ContainsFunc(Conversions(o), func(f findings.Finding) bool { return f.Level == findings.Error }):
		return ""
	case supports(v1alpha1.InstallModeTypeAllNamespaces), supports(v1alpha1.InstallModeTypeOwnNamespace):
	case supports(v1alpha1.InstallModeTypeSingleNamespace):
		out += " --target-namespaces NAMESPACE"
	case supports(v1alpha1.InstallModeTypeMultiNamespace):
		out += " --install-mode MultiNamespace --target-namespaces NAMESPACE,OTHER"
	default:
		return ""
	}
	if len(o.CSV.Spec.WebhookDefinitions)+len(o.CSV.Spec.APIServiceDefinitions.Owned) > 0 {
		out += " --certs cert-manager"
	}
	return out
}

// enabling returns the command that turns on the feature gates that are off, "" if there is none (operator-controller:
// docs/draft/howto; openshift/api: config/v1/types_feature.go).
func (q *question) enabling(r versions.Release) string {
	gates := lists.SortedUnique(q.off)
	if r.Product == versions.OpenShift {
		if slices.ContainsFunc(gates, func(gate string) bool {
			state, _ := r.Gate(gate, versions.TechPreview)
			return state != versions.Enabled
		}) {
			return ""
		}
		return q.without() + "; or, in a cluster for tests, oc patch featuregate cluster --type=merge -p " +
			"'{\"spec\":{\"featureSet\":\"TechPreviewNoUpgrade\"}}': this cannot be undone, and prevents upgrades"
	}
	return "kubectl patch deployment -n olmv1-system operator-controller-controller-manager --type=json -p " +
		"'[{\"op\": \"add\", \"path\": \"/spec/template/spec/containers/0/args/-\", " +
		"\"value\": \"--feature-gates=" + strings.Join(gates, "=true,") + "=true\"}]'"
}
