package olm

import "strings"

// immutable lists, by group and kind, the fields that the API server does not let change (Kubernetes:
// pkg/apis/*/validation/validation.go, functions Validate...Update).
var immutable = map[string][]string{
	"apps/Deployment":                       {"spec.selector"},
	"apps/DaemonSet":                        {"spec.selector"},
	"apps/ReplicaSet":                       {"spec.selector"},
	"apps/StatefulSet":                      {"spec.selector"},
	"/Secret":                               {"type"},
	"/Service":                              {"spec.clusterIP"},
	"rbac.authorization.k8s.io/RoleBinding": {"roleRef"},
	"rbac.authorization.k8s.io/ClusterRoleBinding":  {"roleRef"},
	"apiextensions.k8s.io/CustomResourceDefinition": {"spec.scope", "spec.group", "spec.names.plural"},
	"scheduling.k8s.io/PriorityClass":               {"value", "preemptionPolicy"},
}

// ImmutableFields returns the fields of a kind that the API server does not let change.
func ImmutableFields(group, kind string) []string { return immutable[group+"/"+kind] }

// Immutable reports whether a field of a kind stands at or below one that the API server does not let change.
func Immutable(group, kind, field string) bool {
	for _, f := range ImmutableFields(group, kind) {
		if strings.HasPrefix(field+".", f+".") {
			return true
		}
	}
	return false
}
