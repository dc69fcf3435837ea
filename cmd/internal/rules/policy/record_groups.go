package policy

import (
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

func groupAccess(v *view) (hits []violation) {
	for _, role := range v.permissions().open() {
		i := slices.IndexFunc(role.PolicyRules(), func(r rbacv1.PolicyRule) bool {
			return grants(r, olm.Group, "operatorgroups", changes...)
		})
		if i >= 0 {
			hits = append(hits,
				violation{role.Object, fmt.Sprintf("rules[%d]", i), "lets users of projects change OperatorGroups",
					"remove operatorgroups from the rule, or do not aggregate the role"})
		}
	}
	return hits
}

func oneGroup(v *view) (hits []violation) {
	for _, namespace := range slices.Sorted(maps.Keys(v.groupsIn)) {
		groups := v.groupsIn[namespace]
		for _, g := range groups[1:] {
			if g.Name != groups[0].Name {
				hits = append(hits, violation{g.Object, "metadata.name",
					fmt.Sprintf("a second OperatorGroup in %s, besides %s", namespace, groups[0].Name),
					"OLM installs nothing in a namespace with two, keep one"})
			}
		}
	}
	return hits
}

func groupTargets(v *view) (hits []violation) {
	for _, g := range v.groups {
		switch {
		case len(g.targets.Names) == 1:
		case len(g.targets.Names) > 1:
			hits = append(hits, violation{g.Object, "spec.targetNamespaces",
				fmt.Sprintf("%d target namespaces, only one is allowed", len(g.targets.Names)),
				"write one OperatorGroup per target, each in its own namespace, or a global one"})
		case g.targets.BySelector():
			hits = append(hits, violation{g.Object, "spec.selector", "a label selector sets the targets",
				"list the one namespace in targetNamespaces"})
		default:
			hits = append(hits, notBlank(g)...)
		}
	}
	return hits
}

func notBlank(g *operatorGroup) (hits []violation) {
	for _, field := range slices.Sorted(maps.Keys(g.spec)) {
		value := g.spec[field]
		empty := value == nil || field == "selector" || field == "targetNamespaces" ||
			field == "upgradeStrategy" && value == "Default"
		if !empty {
			hits = append(hits, violation{g.Object, "spec." + field,
				"the spec of a global OperatorGroup must be blank", "remove the field"})
		}
	}
	return hits
}

func targetDeclared(v *view) (hits []violation) {
	declared := map[string]area{}
	for _, kind := range []string{"/Namespace", "project.openshift.io/Project", "project.openshift.io/ProjectRequest"} {
		for _, o := range v.kinds[kind] {
			if p, ok := declared[o.Name]; !ok || p == application {
				declared[o.Name] = o.area
			}
		}
	}
	for _, g := range v.groups {
		for i, target := range g.targets.Names {
			field := fmt.Sprintf("spec.targetNamespaces[%d]", i)
			if where, ok := declared[target]; !ok {
				hits = append(hits,
					violation{g.Object, field, "there is no Namespace " + target, "add it to cluster-scope"})
			} else if where == application {
				hits = append(hits, violation{g.Object, field, "the Namespace " + target +
					" is outside of the cluster-scope application", "move it to cluster-scope"})
			}
		}
	}
	return hits
}

func groupWithSubscription(v *view) (hits []violation) {
	subscribed := lists.Set(v.subscriptions, func(s *subscription) string { return s.Namespace })
	for _, g := range v.groups {
		switch {
		case g.Namespace == "":
			hits = append(hits,
				violation{g.Object, "metadata.namespace", "missing, must be that of a Subscription", hintNamespace})
		case !subscribed[g.Namespace]:
			hits = append(hits, violation{g.Object, "metadata.namespace", "there is no Subscription in " + g.Namespace,
				"remove the group, or pass the path of the application too"})
		}
	}
	return hits
}
