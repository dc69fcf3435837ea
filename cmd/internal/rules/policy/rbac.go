package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	rights "github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

const rbacGroup = rbacv1.GroupName

type grant struct {
	*manifest.Object
	field   string // the field of the rule
	rule    rbacv1.PolicyRule
	cluster bool   // it applies in all namespaces, or may do so
	account string // the ServiceAccount of a ClusterServiceVersion
	bound   bool   // granted by a binding of cluster-admin
	how     string // why it applies in all namespaces, where the field does not show it
}

// permissions are those of a tree. A role has the rules of all of its name: overlays may have several.
type permissions struct {
	rbac.Objects
	grants []grant
}

func (v *view) permissions() *permissions {
	if v.rbac != nil {
		return v.rbac
	}
	p := &permissions{}
	v.rbac = p
	for _, kind := range []string{rbac.KindClusterRole, "ClusterRoleBinding", "RoleBinding", rbac.KindRole} {
		for _, o := range v.kinds[rbacGroup+"/"+kind] {
			if err := p.Add(o.Object, o.Namespace); err != nil {
				v.fault(o.Object, err)
			}
		}
	}
	wide := p.clusterWide()
	for _, r := range p.Roles {
		for _, rule := range r.Rules {
			p.grants = append(p.grants, grant{Object: rule.Role.Object, field: fmt.Sprintf("rules[%d]", rule.Index),
				rule: rule.PolicyRule, cluster: wide[r.Key]})
		}
	}
	p.Aggregate()
	for _, b := range p.Bindings {
		role := p.Bound(b)
		if b.Role != rbac.ClusterRole(rbac.ClusterAdmin) || role.Object != nil {
			continue
		}
		for _, rule := range role.PolicyRules() {
			p.grants = append(p.grants,
				grant{Object: b.Object, field: "roleRef.name", rule: rule, cluster: b.Clusterwide(), bound: true})
		}
	}
	for _, o := range v.operators() {
		v.addCSV(o)
	}
	return p
}

func (v *view) fault(o *manifest.Object, err error) {
	found := violation{o, "", err.Error(), ""}
	if refused, ok := errors.AsType[*manifest.Error](err); ok {
		found.field, found.msg, found.hint = refused.Field, refused.Msg, refused.Tip
	}
	v.faults = append(v.faults, found)
}

// addRules adds a grant for each rule of a list. g.field is the field of the list.
func (p *permissions) addRules(g grant, rules []rbacv1.PolicyRule) {
	list := g.field
	for i, rule := range rules {
		g.field, g.rule = fmt.Sprintf("%s[%d]", list, i), rule
		p.grants = append(p.grants, g)
	}
}

// clusterWide returns the ClusterRoles whose rules apply in all namespaces: those that a ClusterRoleBinding binds,
// those that nothing in the tree binds, and those that are aggregated to one of them.
func (p *permissions) clusterWide() map[rbac.Key]bool {
	wide, narrow := map[rbac.Key]bool{}, map[rbac.Key]bool{}
	for _, b := range p.Bindings {
		if b.Clusterwide() {
			wide[b.Role] = true
		} else {
			narrow[b.Role] = true
		}
	}
	p.extend(wide)
	p.extend(narrow)
	for _, r := range p.Roles {
		if r.Kind == rbac.KindClusterRole && !narrow[r.Key] {
			wide[r.Key] = true
		}
	}
	p.extend(wide)
	return wide
}

// extend adds the ClusterRoles that are aggregated to those of a set. Each role is compared with those that are not in
// the set yet, so that roles that select each other cost no square.
func (p *permissions) extend(set map[rbac.Key]bool) {
	rest := lists.Filter(p.Roles, func(r *rbac.Role) bool { return !set[r.Key] })
	for before := -1; before != len(rest); {
		before = len(rest)
		for _, to := range p.Roles {
			if len(to.Selectors) == 0 || !set[to.Key] {
				continue
			}
			rest = slices.DeleteFunc(rest, func(from *rbac.Role) bool {
				if to.Aggregates(from) {
					set[from.Key] = true
				}
				return set[from.Key]
			})
		}
	}
}

// addCSV adds the permissions of a ClusterServiceVersion. Under a global OperatorGroup OLM makes ClusterRoles of
// namespaced ones (OLM: pkg/controller/operators/olm/operatorgroup.go, ensureSingletonRBAC).
func (v *view) addCSV(o *entry) {
	var spec struct {
		Permissions, ClusterPermissions []v1alpha1.StrategyDeploymentPermissions
	}
	var modes []v1alpha1.InstallMode
	if _, copied := olm.CopiedObject(o.Object); copied {
		return // OLM creates nothing for it
	}
	if !v.field(o.Object, &spec, "spec", "install", "spec") || !v.field(o.Object, &modes, "spec", "installModes") {
		return
	}
	promoted := v.globalIn(o.Namespace)
	how := "under the global OperatorGroup of its namespace"
	if len(v.groupsIn[o.Namespace]) == 0 && !promoted {
		how = "under a global OperatorGroup"
		promoted = olm.Supports(modes, v1alpha1.InstallModeTypeAllNamespaces)
	}
	for i, p := range spec.ClusterPermissions {
		field := fmt.Sprintf("spec.install.spec.clusterPermissions[%d].rules", i)
		v.rbac.addRules(grant{Object: o.Object, field: field, cluster: true, account: p.ServiceAccountName}, p.Rules)
	}
	for i, p := range spec.Permissions {
		field := fmt.Sprintf("spec.install.spec.permissions[%d].rules", i)
		g := grant{Object: o.Object, field: field, cluster: promoted, account: p.ServiceAccountName}
		if promoted {
			g.how = how
		}
		v.rbac.addRules(g, p.Rules)
	}
}

// operatorRights returns a finding for everybody who gets the rights of an operator by its namespace.
func operatorRights(v *view) (found []located) {
	objects, _ := world.Counted(lists.Map(v.objects, func(o *entry) *manifest.Object { return o.Object }), "")
	csvs, err := rights.InstalledCSVs(objects)
	r, err2 := rights.Evaluate(rights.Input{Objects: objects, CSVs: csvs})
	if err != nil || err2 != nil {
		return nil
	}
	for _, w := range r.OfOperators() {
		found = append(found, located{nil, findings.Finding{Rule: ruleOperatorRights, Level: findings.Warning,
			File: w.Steps[0].Source.File, Line: w.Steps[0].Source.Line, Object: text.Brief(w.Subject.String()),
			Message: w.String(), Hint: "keep users out of the namespace of an operator"}})
	}
	return found
}

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

func metaByOLM(v *view) {
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
		for _, account := range lists.Keys(accounts) {
			if what := rbac.DeploysOperators(accounts[account]); what != "" {
				v.hit(o.Object, "spec.install.spec", fmt.Sprintf("a meta-operator: %s may %s "+
					"in all namespaces, and OLM opens %s to project admins and editors", account, what,
					owned.Owned[0].Name), "limit it by configuration, or deploy it directly")
			}
		}
	}
}

func metaAccess(v *view) {
	r := v.permissions()
	held, rules := r.accounts(), r.boundRules()
	deploys := map[string]string{} // by lists of rules: thousands of accounts can have the same
	for _, account := range lists.Keys(held) {
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
				v.hit(role.Object, fmt.Sprintf("rules[%d]", at),
					fmt.Sprintf("opens %s to users of projects, though its operator %s may %s in all namespaces",
						text.FirstOf(5, names), account, what),
					"limit the operator's ClusterRole, or who may write its custom resources")
			}
		}
	}
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
	decoded := map[*rbac.Rule][]rbacv1.PolicyRule{}
	out := make([][]rbacv1.PolicyRule, len(p.Bindings))
	for i, b := range p.Bindings {
		r := p.Bound(b)
		if r == nil || len(r.Rules) == 0 {
			continue
		}
		if decoded[&r.Rules[0]] == nil {
			decoded[&r.Rules[0]] = r.PolicyRules()
		}
		out[i] = decoded[&r.Rules[0]]
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
	all := lists.Map(lists.Keys(v.crds), func(key string) olm.Kind { return v.crds[key] })
	own := lists.Filter(all, func(c olm.Kind) bool { return slices.Contains(apis, c.Group) })
	if len(own) == 0 && slices.Contains(apis, "*") {
		return all
	}
	return own
}
