package generate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
)

// statusClusterRoles makes the one binding that a descoped operator has in all namespaces: "De-scoped operators are
// always expected to have read,update /status permission on the APIs they own in all namespaces" (plan). So the
// operator can tell users where it may not work.
func statusClusterRoles(r *rendering) {
	for _, a := range r.accounts() {
		status := r.statusOf(a)
		if len(status) == 0 {
			continue
		}
		name := r.names.unusedName(r.names.account(a.name) + "-status")
		labels := r.descopedLabels("status")
		r.roleAndBinding("", name, rbac.Values(status), labels, labels, r.subject(a.name))
	}
}

// statusOf returns what an account may do with the status of owned APIs in all namespaces: what the CSV asks for and,
// unless the options say otherwise, what the plan expects of an account that serves the API.
func (r *rendering) statusOf(a *account) []rbacv1.PolicyRule {
	rules := r.statusRules(a.rules)
	if r.options.Descoped.Status == StatusAsked {
		return rules
	}
	for _, owned := range r.apis {
		if r.planStatus(owned) && slices.Contains(r.servesAPI(owned), a) {
			rules = withStatus(rules, owned)
		}
	}
	return rules
}

// planStatus reports whether the plan's sentence is applied to an API. A CSV can claim to own any API by an APIService.
// The status of Kubernetes' own APIs, and of all APIs, is left to what the CSV asks for.
func (r *rendering) planStatus(a olm.API) bool {
	return a.Group != "*" && a.Plural != "*" && !olm.BuiltinGroup(a.Group) && !r.withoutStatus(a)
}

// servesAPI returns the accounts that have to do with an API, as far as the bundle tells: those that run a Deployment
// and have a rule on the group of the API, else those with a rule, else those that run a Deployment, else all.
func (r *rendering) servesAPI(a olm.API) []*account {
	used := map[string]bool{}
	for _, d := range r.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		used[bundle.Account(&d.Spec.Template.Spec)] = true
	}
	asks := func(b *account) bool {
		return slices.ContainsFunc(b.rules, func(p rbacv1.PolicyRule) bool { return rbac.Has(p.APIGroups, a.Group) })
	}
	runs := func(b *account) bool { return used[b.name] }
	for _, fits := range []func(*account) bool{func(b *account) bool { return runs(b) && asks(b) }, asks, runs} {
		all := slices.Clone(r.accounts())
		if all = slices.DeleteFunc(all, func(b *account) bool { return !fits(b) }); len(all) > 0 {
			return all
		}
	}
	return r.accounts()
}

// withStatus adds get and update of an API's status to rules.
func withStatus(rules []rbacv1.PolicyRule, a olm.API) []rbacv1.PolicyRule {
	resource := a.Plural + "/status"
	i := slices.IndexFunc(rules, func(p rbacv1.PolicyRule) bool {
		return p.APIGroups[0] == a.Group && p.Resources[0] == resource && len(p.ResourceNames) == 0
	})
	if i < 0 {
		i = len(rules)
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{a.Group}, Resources: []string{resource}})
	}
	p := &rules[i]
	p.Verbs = slices.DeleteFunc(slices.Clone(statusVerbs), func(v string) bool {
		return v == "patch" && !slices.Contains(p.Verbs, v)
	})
	return rules
}

var statusVerbs = []string{"get", "update", "patch"}

// statusRules returns what rules allow about the status of owned APIs: one rule for each API and set of resource names.
func (r *rendering) statusRules(asked []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	type key struct{ group, resource, names string }
	var out []rbacv1.PolicyRule
	index := map[key]int{}
	for _, a := range r.apis {
		resource := a.Plural + "/status"
		for _, p := range asked {
			if !rbac.Has(p.APIGroups, a.Group) || !rbac.HasResource(p.Resources, resource) {
				continue
			}
			k := key{a.Group, resource, strings.Join(p.ResourceNames, "\n")}
			i, ok := index[k]
			if !ok {
				i, index[k] = len(out), len(out)
				out = append(out,
					rbacv1.PolicyRule{APIGroups: []string{a.Group}, Resources: []string{resource},
						ResourceNames: p.ResourceNames})
			}
			for _, v := range statusVerbs {
				if rbac.Has(p.Verbs, v) && !slices.Contains(out[i].Verbs, v) {
					out[i].Verbs = append(out[i].Verbs, v)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(p rbacv1.PolicyRule) bool { return len(p.Verbs) == 0 })
}
