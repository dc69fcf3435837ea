package live

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
)

// optional names the Roles and bindings that OLM copies to the targets of a group (or, of a global one, promotes to
// ClusterRoles) only if it looks when they are there but the ClusterRoles that grant the same (or, with another Role,
// the accounts) are not yet: then it copies what its cache has (pkg/controller/operators/olm/operatorgroup.go,
// ensureSingletonRBAC). Which comes first is chance.
func optional(c equal.Case, objects []equal.Object) (keys []string) {
	byKey := lists.By(objects, equal.Object.Key)
	for _, binding := range objects {
		role, ok := byKey[fmt.Sprintf("Role %s/%v", c.Namespace, at(binding, "roleRef")["name"])]
		if binding.Kind() != "RoleBinding" || !ok || at(binding, "metadata")["namespace"] != c.Namespace ||
			at(role, "metadata", "labels")[olm.LabelPermissionsHash] == nil {
			continue
		}
		granted := clusterWide(c, objects, byKey, maps(binding["subjects"]))
		if slices.ContainsFunc(rulesOf(role), func(r rbacv1.PolicyRule) bool { return !rbac.OLMCovers(granted, r) }) {
			continue // OLM looks again and again until it is copied
		}
		for _, o := range []equal.Object{role, binding} {
			name := at(o, "metadata")["name"]
			if c.Copies != nil {
				keys = append(keys, fmt.Sprintf("Cluster%s /%v", o.Kind(), name))
			}
			for _, ns := range c.TargetNamespaces {
				if ns != c.Namespace {
					keys = append(keys, fmt.Sprintf("%s %s/%v", o.Kind(), ns, name))
				}
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// clusterWide are the rules that the subjects have by ClusterRoleBindings, without those that OLM promoted from Roles.
func clusterWide(c equal.Case, objects []equal.Object, byKey map[string]equal.Object,
	subjects []map[string]any) (rules []rbacv1.PolicyRule) {
	for _, b := range objects {
		name := at(b, "roleRef")["name"]
		promoted := byKey[fmt.Sprintf("Role %s/%v", c.Namespace, name)] != nil
		of := func(s map[string]any) bool {
			return slices.ContainsFunc(subjects,
				func(x map[string]any) bool { return s["name"] == x["name"] && s["namespace"] == c.Namespace })
		}
		if b.Kind() != "ClusterRoleBinding" || promoted || !slices.ContainsFunc(maps(b["subjects"]), of) {
			continue
		}
		if name == "cluster-admin" {
			all := []string{"*"}
			rules = append(rules, rbacv1.PolicyRule{APIGroups: all, Resources: all, Verbs: all})
		}
		rules = append(rules, rulesOf(byKey[fmt.Sprintf("ClusterRole /%v", name)])...)
	}
	return rules
}

// rulesOf returns the rules of a role that the API server has accepted.
func rulesOf(role equal.Object) []rbacv1.PolicyRule {
	var read rbacv1.ClusterRole
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(role, &read)
	return read.Rules
}

func at(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		m, _ = m[field].(map[string]any)
	}
	return m
}

func maps(v any) (out []map[string]any) {
	items, _ := v.([]any)
	for _, x := range items {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
