package predict

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// invalidRule returns OLM's error for a rule, or "" (OLM: pkg/controller/install/rule_checker.go, ruleValid).
func invalidRule(rule rbacv1.PolicyRule) string {
	switch {
	case len(rule.Verbs) == 0:
		return "rule invalid: policy rule must have at least one verb"
	case len(slices.Concat(rule.APIGroups, rule.Resources, rule.ResourceNames)) > 0 && len(rule.NonResourceURLs) > 0:
		return "rule invalid: rule cannot apply to both regular resources and non-resource URLs"
	}
	return ""
}
