package live

import (
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/internal/olm"
)

type rule = map[string]any

// optional names the Roles and bindings that OLM copies to the targets of a group (or, of a global one, promotes to
// ClusterRoles) only if it looks when they are there but the ClusterRoles that grant the same (or, with another Role,
// the accounts) are not yet: then it copies what its cache has (pkg/controller/operators/olm/operatorgroup.go,
// ensureSingletonRBAC). Which comes first is chance.
func optional(c equal.Case, objects []equal.Object) (keys []string) {
	byKey := map[string]equal.Object{}
	for _, o := range objects {
		byKey[o.Key()] = o
	}
	for _, binding := range objects {
		role, ok := byKey[fmt.Sprintf("Role %s/%v", c.Namespace, at(binding, "roleRef")["name"])]
		if binding.Kind() != "RoleBinding" || !ok || at(binding, "metadata")["namespace"] != c.Namespace ||
			at(role, "metadata", "labels")[olm.LabelPermissionsHash] == nil {
			continue
		}
		granted := clusterWide(c, objects, byKey, maps(binding["subjects"]))
		if slices.ContainsFunc(maps(role["rules"]), func(r rule) bool { return !covers(granted, r) }) {
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
	subjects []rule) (rules []rule) {
	for _, b := range objects {
		name := at(b, "roleRef")["name"]
		promoted := byKey[fmt.Sprintf("Role %s/%v", c.Namespace, name)] != nil
		if b.Kind() != "ClusterRoleBinding" || promoted || !slices.ContainsFunc(maps(b["subjects"]), func(s rule) bool {
			return slices.ContainsFunc(subjects,
				func(x rule) bool { return s["name"] == x["name"] && s["namespace"] == c.Namespace })
		}) {
			continue
		}
		if name == "cluster-admin" {
			all := []any{"*"}
			rules = append(rules, rule{"apiGroups": all, "resources": all, "verbs": all})
		}
		rules = append(rules, maps(byKey[fmt.Sprintf("ClusterRole /%v", name)]["rules"])...)
	}
	return rules
}

// covers reports whether the rules grant each single right of a rule, "*" being the only wildcard that OLM knows.
func covers(rules []rule, r rule) bool {
	names := texts(r["resourceNames"])
	if len(names) == 0 {
		names = []string{""}
	}
	has := func(x rule, field, v string) bool {
		return slices.Contains(texts(x[field]), v) || slices.Contains(texts(x[field]), "*")
	}
	for _, verb := range texts(r["verbs"]) {
		for _, group := range texts(r["apiGroups"]) {
			for _, resource := range texts(r["resources"]) {
				for _, name := range names {
					if !slices.ContainsFunc(rules, func(x rule) bool {
						only := texts(x["resourceNames"])
						return has(x, "verbs", verb) && has(x, "apiGroups", group) && has(x, "resources", resource) &&
							(len(only) == 0 || slices.Contains(only, name))
					}) {
						return false
					}
				}
			}
		}
	}
	return true
}

func at(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		m, _ = m[field].(map[string]any)
	}
	return m
}

func maps(v any) (out []rule) {
	items, _ := v.([]any)
	for _, x := range items {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func texts(v any) (out []string) {
	items, _ := v.([]any)
	for _, x := range items {
		out = append(out, fmt.Sprint(x))
	}
	return out
}
