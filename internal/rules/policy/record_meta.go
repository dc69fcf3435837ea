package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// changes are the verbs that create or change an object.
var changes = []string{"create", "update", "patch"}

// mayDeploy returns what lets an account deploy operators at cluster scope, or "". A rule with resourceNames does not
// count: it is the limit that the decision record asks for.
func mayDeploy(rules []rbacv1.PolicyRule) string {
	allowed := func(group, resource string, verbs ...string) bool {
		return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return len(r.ResourceNames) == 0 && grants(r, group, resource, verbs...)
		})
	}
	for _, resource := range []string{"subscriptions", "clusterserviceversions", "installplans"} {
		if allowed(olm.Group, resource, changes...) {
			return "change " + resource
		}
	}
	if allowed(olm.GroupV1, "clusterextensions", changes...) {
		return "change clusterextensions"
	}
	if allowed("apiextensions.k8s.io", "customresourcedefinitions", "create") &&
		allowed(rbacGroup, "clusterroles", "create") && allowed(rbacGroup, "clusterrolebindings", "create") &&
		allowed("apps", "deployments", "create") {
		return "create customresourcedefinitions, clusterroles, clusterrolebindings and deployments"
	}
	return ""
}

// grants reports whether a rule allows one of the verbs on a resource.
func grants(r rbacv1.PolicyRule, group, resource string, verbs ...string) bool {
	return (slices.Contains(r.APIGroups, "*") || slices.Contains(r.APIGroups, group)) &&
		(slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, resource)) &&
		slices.ContainsFunc(
			verbs,
			func(v string) bool { return slices.Contains(r.Verbs, "*") || slices.Contains(r.Verbs, v) },
		)
}

func metaByOLM(v *view) []hit {
	var hits []hit
	for _, o := range v.olm("ClusterServiceVersion") {
		var owned struct {
			Owned []struct{ Name string }
		}
		if !v.field(o.Object, &owned, "spec", "customresourcedefinitions") || len(owned.Owned) == 0 {
			continue
		}
		accounts := map[string][]rbacv1.PolicyRule{}
		for _, g := range v.permissions().grants {
			if g.Object == o.Object && g.cluster {
				accounts[g.account] = append(accounts[g.account], g.rule)
			}
		}
		for _, account := range slices.Sorted(maps.Keys(accounts)) {
			if what := mayDeploy(accounts[account]); what != "" {
				hits = append(hits, hit{o.Object, "spec.install.spec",
					fmt.Sprintf(
						"a meta-operator: %s may %s in all namespaces, and OLM opens %s to project admins and editors",
						account,
						what,
						owned.Owned[0].Name,
					),
					"limit it by configuration, or deploy it directly"})
			}
		}
	}
	return hits
}

func metaAccess(v *view) []hit {
	r := v.permissions()
	rules, apis := r.accounts()
	var hits []hit
	for _, account := range slices.Sorted(maps.Keys(rules)) {
		what := mayDeploy(rules[account])
		if what == "" {
			continue
		}
		own := v.crdsOf(apis[account])
		for _, role := range r.open() {
			if at, names := role.changes(own); len(names) > 0 {
				hits = append(hits, hit{role.Object, fmt.Sprintf("rules[%d]", at),
					fmt.Sprintf(
						"opens %s to users of projects, though its operator %s may %s in all namespaces",
						text.FirstOf(5, names),
						account,
						what,
					),
					"limit the operator's ClusterRole, or who may write its custom resources"})
			}
		}
	}
	return hits
}

// changes returns the custom resources that a role lets its users write, and the index of its first rule that does.
func (r *clusterRole) changes(crds []*crd) (at int, names []string) {
	at = len(r.rules)
	for _, c := range crds {
		i := slices.IndexFunc(
			r.rules,
			func(rule rbacv1.PolicyRule) bool { return grants(rule, c.group, c.plural, changes...) },
		)
		if i >= 0 {
			at, names = min(at, i), append(names, c.plural+"."+c.group)
		}
	}
	return at, names
}

// accounts returns the rules that ServiceAccounts (namespace/name) have in all namespaces, and the API groups in any
// of their roles, those for single namespaces included.
func (r *rbac) accounts() (everywhere map[string][]rbacv1.PolicyRule, apis map[string][]string) {
	everywhere, apis = map[string][]rbacv1.PolicyRule{}, map[string][]string{}
	for _, b := range r.bindings {
		rules := r.local[b.space+"/"+b.role.Name]
		if b.role.Kind == "ClusterRole" {
			rules = r.rulesOf(b.role.Name)
		}
		for _, s := range b.subjects {
			if s.Kind != rbacv1.ServiceAccountKind {
				continue
			}
			name := cmp.Or(s.Namespace, b.space) + "/" + s.Name
			if b.cluster {
				everywhere[name] = append(everywhere[name], rules...)
			}
			for _, rule := range rules {
				apis[name] = append(apis[name], rule.APIGroups...)
			}
		}
	}
	return everywhere, apis
}

// rulesOf returns the rules of a ClusterRole, aggregated ones included.
func (r *rbac) rulesOf(name string) []rbacv1.PolicyRule {
	seen := map[*clusterRole]bool{}
	var rules []rbacv1.PolicyRule
	var add func(*clusterRole)
	add = func(role *clusterRole) {
		if seen[role] {
			return
		}
		seen[role] = true
		rules = append(rules, role.rules...)
		for _, o := range r.roles {
			if role.aggregates(o) {
				add(o)
			}
		}
	}
	found := false
	for _, role := range r.roles {
		if role.Name == name {
			found = true
			add(role)
		}
	}
	if !found && name == clusterAdmin {
		return clusterAdminRules
	}
	return rules
}

// open returns the ClusterRoles of project users: those that are aggregated to admin or edit, or bound to all users.
func (r *rbac) open() []*clusterRole {
	everybody := []string{
		"system:authenticated",
		"system:authenticated:oauth",
		"system:serviceaccounts",
		"system:unauthenticated",
	}
	bound := map[string]bool{}
	for _, b := range r.bindings {
		for _, s := range b.subjects {
			if s.Kind == rbacv1.GroupKind && slices.Contains(everybody, s.Name) && b.role.Kind == "ClusterRole" {
				bound[b.role.Name] = true
			}
		}
	}
	var list []*clusterRole
	for _, role := range r.roles {
		if bound[role.Name] || role.labels[rbacGroup+"/aggregate-to-admin"] == "true" ||
			role.labels[rbacGroup+"/aggregate-to-edit"] == "true" {
			list = append(list, role)
		}
	}
	return list
}

// crdsOf returns the CustomResourceDefinitions of the API groups that the roles of an operator name. If they name none
// of the tree but have a *, any of them may be the operator's.
func (v *view) crdsOf(apis []string) []*crd {
	var all, own []*crd
	for _, key := range slices.Sorted(maps.Keys(v.crds)) {
		c := v.crds[key]
		all = append(all, c)
		if slices.Contains(apis, c.group) {
			own = append(own, c)
		}
	}
	if len(own) == 0 && slices.Contains(apis, "*") {
		return all
	}
	return own
}
