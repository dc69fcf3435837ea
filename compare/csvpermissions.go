package compare

import (
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/permissions"
)

// csvPermissions finds the permissions that a CSV asks for and that are not among the objects: in a tree that OLM
// reads. OLM makes roles of them (OLM: pkg/controller/registry/resolver/rbac.go).
func (r *Report) csvPermissions(p pair, old, now State) ([]change.Change, error) {
	var out []change.Change
	for _, scope := range []string{"clusterPermissions", "permissions"} {
		before, err := asked(p.old, scope)
		if err != nil {
			return nil, err
		}
		after, err := asked(p.now, scope)
		if err != nil {
			return nil, err
		}
		accounts := maps.Clone(before)
		maps.Copy(accounts, after)
		for _, account := range slices.Sorted(maps.Keys(accounts)) {
			a, b := before[account], after[account]
			rendered := granted(old, p.old, account, a) && granted(now, p.now, account, b)
			if covers(a, b) && covers(b, a) || rendered && r.changes(p.now, account) {
				continue
			}
			c := change.Change{Part: change.Account, Field: "spec.install.spec." + scope + "[" + account + "]",
				Change: change.Changed, Severity: findings.Warning,
				Message: "OLM makes roles of it, which are not among the objects: compare the rendered operators"}
			if rendered {
				c.Severity, c.Message = findings.Info, "what the objects grant stays the same"
			}
			switch {
			case len(a) == 0:
				c.Change = change.Added
			case len(b) == 0:
				c.Change = change.Removed
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// changes reports whether an account, or whoever is bound to a role, gains or loses something.
func (r *Report) changes(o *Operator, account string) bool {
	subject := permissions.Subject{Kind: accountKind, Namespace: o.Namespace, Name: account}
	return slices.ContainsFunc(r.Permissions, func(i permissions.Item) bool {
		return i.Subject == subject || i.Subject.IsRole()
	})
}

// asked returns what a CSV asks for, by account.
func asked(o *Operator, scope string) (map[string]atoms, error) {
	spec := o.Spec.InstallStrategy.StrategySpec
	list := map[string][]v1alpha1.StrategyDeploymentPermissions{"clusterPermissions": spec.ClusterPermissions,
		"permissions": spec.Permissions}[scope]
	out := map[string]atoms{}
	var count rbac.Counter
	for _, p := range list {
		for _, r := range p.Rules {
			if err := count.Add(r); err != nil {
				return nil, err
			}
			if out[p.ServiceAccountName] == nil {
				out[p.ServiceAccountName] = atoms{}
			}
			for _, a := range rbac.Atoms(r) {
				out[p.ServiceAccountName][a] = true
			}
		}
	}
	return out, nil
}

type atoms map[rbac.Atom]bool

// granted reports whether the objects of a state grant all this to an account or by a role.
func granted(s State, o *Operator, account string, asked atoms) bool {
	subject := permissions.Subject{Kind: accountKind, Namespace: o.Namespace, Name: account}
	var held rbac.Index[bool]
	for _, i := range slices.Concat(s.Permissions.Permissions, s.Roles.Items) {
		if i.Subject != subject && !i.Subject.IsRole() {
			continue
		}
		for _, a := range rbac.Atoms(rbacv1.PolicyRule{Verbs: i.Verbs, APIGroups: i.APIGroups,
			Resources: i.Resources, ResourceNames: i.ResourceNames, NonResourceURLs: i.NonResourceURLs}) {
			held.Add(a, true)
		}
	}
	return covered(asked, &held)
}

// covers reports whether some atoms allow all that others allow.
func covers(a, b atoms) bool {
	var held rbac.Index[bool]
	for x := range a {
		held.Add(x, true)
	}
	return covered(b, &held)
}

func covered(list atoms, held *rbac.Index[bool]) bool {
	for a := range list {
		if _, ok := held.Covers(a); !ok {
			return false
		}
	}
	return true
}
