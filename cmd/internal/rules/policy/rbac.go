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
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
	rights "github.com/olmgen/olmgen/permissions"
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

// permissions are those of a tree. The overlays of a repository may have several roles of one name.
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
		p.addRules(grant{Object: r.Object, field: "rules", cluster: wide[r.Key]}, r.PolicyRules())
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

// addCSV adds the permissions of a ClusterServiceVersion. Under a global OperatorGroup OLM turns namespaced
// permissions into ClusterRoles with ClusterRoleBindings (OLM: pkg/controller/operators/olm/operatorgroup.go,
// ensureSingletonRBAC).
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

// operatorRights returns a finding for everybody who gets the rights of an operator by what the tree lets them do in
// its namespace. Objects that cannot be read have findings of their own.
func operatorRights(v *view) (found []located) {
	objects := lists.Map(v.objects, func(o *entry) *manifest.Object { return o.Object })
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
