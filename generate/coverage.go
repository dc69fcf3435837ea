package generate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
)

// satisfied reports whether the operator's accounts hold all their permissions everywhere in the cluster, by the
// ClusterRoles and ClusterRoleBindings of the CSV and of the bundle. A live OLM asks at some moment of the
// installation; here all RBAC counts as being there first (spec 4.2; docs/conformance.md).
func (r *rendering) satisfied() bool {
	held := r.clusterRules()
	for _, g := range slices.Concat(r.grants, r.cluster) {
		for _, rule := range g.Rules {
			if !Allowed(held[g.ServiceAccountName], rule) {
				return false
			}
		}
	}
	return true
}

// clusterRules returns what each account of the operator's namespace may do cluster-wide.
func (r *rendering) clusterRules() map[string][]rbacv1.PolicyRule {
	held := map[string][]rbacv1.PolicyRule{}
	for _, g := range r.cluster {
		held[g.ServiceAccountName] = append(held[g.ServiceAccountName], g.Rules...)
	}
	shipped := map[string][]rbacv1.PolicyRule{
		// the one default role whose rules are the same in every cluster
		"cluster-admin": {{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
			{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
	}
	var bindings []rbacv1.ClusterRoleBinding
	for _, o := range r.bundle.Others {
		switch bundle.GroupOf(o) + "/" + o.Kind {
		case "rbac.authorization.k8s.io/ClusterRole":
			var c rbacv1.ClusterRole
			if _, err := o.Into(&c); err == nil {
				shipped[c.Name] = c.Rules
			}
		case "rbac.authorization.k8s.io/ClusterRoleBinding":
			var c rbacv1.ClusterRoleBinding
			if _, err := o.Into(&c); err == nil {
				bindings = append(bindings, c)
			}
		}
	}
	for _, b := range bindings {
		for _, s := range b.Subjects {
			name, isUser := strings.CutPrefix(s.Name, "system:serviceaccount:"+r.options.Namespace+":")
			isUser = isUser && s.Kind == "User"
			if b.RoleRef.Kind == "ClusterRole" &&
				(isUser || s.Kind == "ServiceAccount" && s.Namespace == r.options.Namespace) {
				held[name] = append(held[name], shipped[b.RoleRef.Name]...)
			}
		}
	}
	return held
}

// Allowed reports whether rules that are held cover another rule. It asks for every combination in that rule as OLM
// does: a missing list counts as one empty string, and a subresource is part of the resource's name, so that "*/status"
// does not cover "pods/status" (OLM: pkg/controller/install/attributes_util.go).
func Allowed(held []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	for _, verb := range rule.Verbs {
		if len(rule.NonResourceURLs) > 0 {
			for _, url := range rule.NonResourceURLs {
				if !slices.ContainsFunc(held,
					func(h rbacv1.PolicyRule) bool { return has(h.Verbs, verb) && hasURL(h.NonResourceURLs, url) }) {
					return false
				}
			}
			continue
		}
		for _, group := range orEmpty(rule.APIGroups) {
			for _, resource := range orEmpty(rule.Resources) {
				for _, name := range orEmpty(rule.ResourceNames) {
					if !slices.ContainsFunc(held, func(h rbacv1.PolicyRule) bool {
						return has(h.Verbs, verb) && has(h.APIGroups, group) && has(h.Resources, resource) &&
							(len(h.ResourceNames) == 0 || slices.Contains(h.ResourceNames, name))
					}) {
						return false
					}
				}
			}
		}
	}
	return true
}

func orEmpty(s []string) []string {
	if len(s) == 0 {
		return []string{""}
	}
	return s
}

func has(held []string, want string) bool {
	return slices.Contains(held, "*") || slices.Contains(held, want)
}

func hasURL(held []string, want string) bool {
	return slices.ContainsFunc(held, func(h string) bool {
		return h == want || strings.HasSuffix(h, "*") && strings.HasPrefix(want, strings.TrimRight(h, "*"))
	})
}
