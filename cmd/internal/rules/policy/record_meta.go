package policy

import (
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
)

// changes are the verbs that create or change an object.
var changes = []string{"create", "update", "patch"}

// grants reports whether a rule allows one of the verbs on a resource.
func grants(r rbacv1.PolicyRule, group, resource string, verbs ...string) bool {
	has := func(list []string, item string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, item)
	}
	return has(r.APIGroups, group) && has(r.Resources, resource) &&
		slices.ContainsFunc(verbs, func(v string) bool { return has(r.Verbs, v) })
}

func metaByOLM(v *view) (hits []violation) {
	for _, o := range v.operators() {
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
			if what := rbac.DeploysOperators(accounts[account]); what != "" {
				hits = append(hits, violation{o.Object, "spec.install.spec", fmt.Sprintf("a meta-operator: %s may %s "+
					"in all namespaces, and OLM opens %s to project admins and editors", account, what,
					owned.Owned[0].Name), "limit it by configuration, or deploy it directly"})
			}
		}
	}
	return hits
}

func metaAccess(v *view) (hits []violation) {
	r := v.permissions()
	held, rules := r.accounts(), r.boundRules()
	deploys := map[string]string{} // by lists of rules: thousands of accounts can have the same
	for _, account := range slices.Sorted(maps.Keys(held)) {
		bindings := held[account]
		key, bound := "", [][]rbacv1.PolicyRule{}
		for _, i := range bindings {
			if r.Bindings[i].Clusterwide() && len(rules[i]) > 0 {
				key += fmt.Sprintf("%p %d,", &rules[i][0], len(rules[i]))
				bound = append(bound, rules[i])
			}
		}
		what, known := deploys[key]
		if !known {
			what = rbac.DeploysOperators(slices.Concat(bound...))
			deploys[key] = what
		}
		if what == "" {
			continue
		}
		var apis []string
		for _, i := range bindings {
			for _, rule := range rules[i] {
				apis = append(apis, rule.APIGroups...)
			}
		}
		own := v.crdsOf(apis)
		for _, role := range r.open() {
			if at, names := changed(role, own); len(names) > 0 {
				hits = append(hits, violation{role.Object, fmt.Sprintf("rules[%d]", at),
					fmt.Sprintf("opens %s to users of projects, though its operator %s may %s in all namespaces",
						text.FirstOf(5, names), account, what),
					"limit the operator's ClusterRole, or who may write its custom resources"})
			}
		}
	}
	return hits
}

// changed returns the custom resources that a role lets its users write, and the index of its first rule that does.
func changed(r *rbac.Role, crds []olm.Kind) (at int, names []string) {
	rules := r.PolicyRules()
	at = len(rules)
	for _, c := range crds {
		i := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return grants(rule, c.Group, c.Plural, changes...)
		})
		if i >= 0 {
			at, names = min(at, i), append(names, c.Plural+"."+c.Group)
		}
	}
	return at, names
}

func (p *permissions) accounts() map[string][]int {
	out := map[string][]int{}
	for i, b := range p.Bindings {
		for _, s := range b.Subjects {
			if account, ok := rbac.AccountOf(s); ok {
				name := account.String()
				if list := out[name]; len(list) == 0 || list[len(list)-1] != i {
					out[name] = append(list, i)
				}
			}
		}
	}
	return out
}

// boundRules returns the rules that each binding gives. Roles that share a list share it here.
func (p *permissions) boundRules() [][]rbacv1.PolicyRule {
	byKey := lists.Group(p.Roles, func(r *rbac.Role) rbac.Key { return r.Key })
	decoded := map[*rbac.Rule][]rbacv1.PolicyRule{}
	out := make([][]rbacv1.PolicyRule, len(p.Bindings))
	for i, b := range p.Bindings {
		roles := byKey[b.Role] // all of a name: overlays may have several
		if r := p.Bound(b); len(roles) == 0 && r != nil {
			roles = []*rbac.Role{r}
		}
		for _, r := range roles {
			if len(r.Rules) == 0 {
				continue
			}
			list := decoded[&r.Rules[0]]
			if list == nil {
				list = r.PolicyRules()
				decoded[&r.Rules[0]] = list
			}
			if len(out[i]) == 0 {
				out[i] = slices.Clip(list)
			} else {
				out[i] = append(out[i], list...)
			}
		}
	}
	return out
}

// open returns the ClusterRoles of project users: those that are aggregated to admin or edit, or bound to all users.
func (p *permissions) open() []*rbac.Role {
	everybody := []string{"system:authenticated", "system:authenticated:oauth", "system:serviceaccounts",
		"system:unauthenticated"}
	bound := map[rbac.Key]bool{}
	for _, b := range p.Bindings {
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.GroupKind && slices.Contains(everybody, s.Name) {
				bound[b.Role] = true
			}
		}
	}
	return lists.Filter(p.Roles, func(r *rbac.Role) bool {
		return r.Kind == rbac.KindClusterRole && len(r.Selectors) == 0 && (bound[r.Key] ||
			r.Labels[rbac.AggregateTo+"admin"] == "true" || r.Labels[rbac.AggregateTo+"edit"] == "true")
	})
}

// crdsOf returns the CustomResourceDefinitions of the API groups that the roles of an operator name. If they name none
// of the tree but have a *, any of them may be the operator's.
func (v *view) crdsOf(apis []string) []olm.Kind {
	all := lists.Map(slices.Sorted(maps.Keys(v.crds)), func(key string) olm.Kind { return v.crds[key] })
	own := lists.Filter(all, func(c olm.Kind) bool { return slices.Contains(apis, c.Group) })
	if len(own) == 0 && slices.Contains(apis, "*") {
		return all
	}
	return own
}
