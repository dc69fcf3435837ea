package compare

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
)

const grantsTheSame = "what the objects grant stays the same"

// maxRules is how many rules a line about a CSV names.
const maxRules = 3

// asking finds the permissions that a CSV asks for and that are not among the objects: in a tree that OLM reads. OLM
// makes roles of them (OLM: pkg/controller/registry/resolver/rbac.go).
type asking struct {
	renamed  map[permissions.Subject]permissions.Subject // accounts, to what they are called now
	old, now func() *grants
	changing map[permissions.Subject]bool // that gain or lose something
	roles    bool                         // some of them are roles
}

func (r *Report) asking(old, now State) asking {
	return asking{renamedTo(r.Renamed),
		sync.OnceValue(func() *grants { return grantsOf(old) }),
		sync.OnceValue(func() *grants { return grantsOf(now) }),
		lists.Set(r.Permissions, func(i permissions.Item) permissions.Subject { return i.Subject }),
		slices.ContainsFunc(r.Permissions, func(i permissions.Item) bool { return i.Subject.IsRole() })}
}

// underNewNames returns what accounts of an operator ask for by what they are called now, and their older names.
func (k asking) underNewNames(p pair, before map[string]atoms) (now map[string]atoms, older map[string]string) {
	now, older = maps.Clone(before), map[string]string{}
	if p.old == nil || p.now == nil {
		return now, older
	}
	for _, was := range slices.Sorted(maps.Keys(before)) {
		is, ok := k.renamed[accountIn(p.old, was)]
		if ok && is.Namespace == p.now.Namespace && before[is.Name] == nil {
			delete(now, was)
			now[is.Name], older[is.Name] = before[was], was
		}
	}
	return now, older
}

func (k asking) compare(p pair) ([]change.Change, error) {
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
		before, older := k.underNewNames(p, before)
		for _, account := range lists.Keys(before, after) {
			a, b := before[account], after[account]
			if covers(a, b) && covers(b, a) {
				continue
			}
			rendered := k.old().all(p.old, cmp.Or(older[account], account), a) && k.now().all(p.now, account, b)
			if rendered && (k.roles || k.changing[accountIn(p.now, account)]) {
				continue
			}
			c := change.Change{Part: change.Account, Field: "spec.install.spec." + scope + "[" + account + "]",
				Old: only(a, b), New: only(b, a), Severity: findings.Warning,
				Message: "OLM makes roles of it, which are not among the objects: compare the rendered operators"}
			if rendered {
				c.Severity, c.Message = findings.Info, grantsTheSame
			}
			c.Change = kindOf(c.Old, c.New)
			out = append(out, c)
		}
	}
	return out, nil
}

// only returns the rules that some atoms ask for and others do not.
func only(a, b atoms) string {
	rules := rbac.Rules(slices.DeleteFunc(slices.Collect(maps.Keys(a)), func(x rbac.Atom) bool { return b[x] }))
	texts := lists.Map(rules, rbac.RuleText)
	return text.FirstOf(maxRules, texts)
}

func accountIn(o *Operator, account string) permissions.Subject {
	return permissions.Subject{Kind: accountKind, Namespace: o.Namespace, Name: account}
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

// grants are what the objects of a state grant to each account, and by roles.
type grants struct {
	accounts map[permissions.Subject]*rbac.Index[bool]
	roles    rbac.Index[bool]
}

func grantsOf(s State) *grants {
	g := &grants{accounts: map[permissions.Subject]*rbac.Index[bool]{}}
	for _, i := range slices.Concat(s.Permissions.Permissions, s.Roles.Items) {
		held := &g.roles
		if !i.Subject.IsRole() {
			if held = g.accounts[i.Subject]; held == nil {
				held = &rbac.Index[bool]{}
				g.accounts[i.Subject] = held
			}
		}
		for _, a := range rbac.Atoms(rbacv1.PolicyRule{Verbs: i.Verbs, APIGroups: i.APIGroups,
			Resources: i.Resources, ResourceNames: i.ResourceNames, NonResourceURLs: i.NonResourceURLs}) {
			held.Add(a, true)
		}
	}
	return g
}

func (g *grants) all(o *Operator, account string, asked atoms) bool {
	own := g.accounts[accountIn(o, account)]
	return !lists.Any(maps.Keys(asked), func(a rbac.Atom) bool {
		_, byRole := g.roles.Covers(a)
		_, byAccount := own.Covers(a)
		return !byRole && !byAccount
	})
}

// covers reports whether some atoms allow all that others allow.
func covers(a, b atoms) bool {
	var held rbac.Index[bool]
	for x := range a {
		held.Add(x, true)
	}
	return !lists.Any(maps.Keys(b), func(a rbac.Atom) bool {
		_, ok := held.Covers(a)
		return !ok
	})
}
