package live

import (
	"slices"
	"testing"

	"github.com/olmgen/olmgen/golden/equal"
)

// Only Roles that ClusterRoles cover, rule by rule, are optional, an empty one too; where to depends on the group.
func TestOptional(t *testing.T) {
	var objects []equal.Object
	add := func(kind, ns, name, account string, rules ...any) {
		meta := map[string]any{"name": name, "labels": map[string]any{"olm.permissions.hash": "x"}}
		if ns != "" {
			meta["namespace"] = ns
		}
		bindingMeta := map[string]any{"name": name}
		if ns != "" {
			bindingMeta["namespace"] = ns
		}
		objects = append(objects, equal.Object{"kind": kind, "metadata": meta, "rules": rules},
			equal.Object{"kind": kind + "Binding", "metadata": bindingMeta,
				"roleRef":  map[string]any{"kind": kind, "name": name},
				"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": "op"}}})
	}
	pods := func(verbs ...any) any {
		return map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": verbs}
	}
	add("ClusterRole", "", "all", "a", pods("get", "list"))
	add("Role", "op", "covered", "a", pods("get"))
	add("Role", "op", "partly", "a", pods("get"), pods("watch"))
	add("Role", "op", "other-account", "b", pods("get"))
	add("Role", "op", "empty", "b")
	for _, c := range []struct {
		group equal.Case
		want  []string
	}{
		{equal.Case{Namespace: "op", Copies: []string{"t"}},
			[]string{"ClusterRole /covered", "ClusterRole /empty", "ClusterRoleBinding /covered",
				"ClusterRoleBinding /empty"}},
		{equal.Case{Namespace: "op", TargetNamespaces: []string{"op", "t"}},
			[]string{"Role t/covered", "Role t/empty", "RoleBinding t/covered", "RoleBinding t/empty"}},
		{equal.Case{Namespace: "op", TargetNamespaces: []string{"op"}}, nil},
	} {
		if got := optional(c.group, objects); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.group, got)
		}
	}
}
