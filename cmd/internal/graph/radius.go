// Package graph draws what an operator reaches in a cluster, as Mermaid text.
package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
	"github.com/olmgen/olmgen/manifest"
)

// Radius is the blast radius of an operator: "in the case of a bug or malicious control, limit the worst-case scenario
// for the cluster" (descoping plan, Operator Patterns).
type Radius struct {
	Namespace string // the operator's
	Accounts  []Account
	Roles     []Role // that accounts are bound to, sorted
	Places    []Place
	Ways      []permissions.Way // of the accounts to the worst that they reach
	Others    []string          // who else has rights by its bindings: of them the picture has the names
	Unbound   []string          // what no RoleBinding reaches, in words; empty if all namespaces are the operator's
}

// Account is a ServiceAccount of the operator.
type Account struct {
	Name        string
	Deployments []string
}

// Role is a Role or a ClusterRole.
type Role struct {
	Kind, Namespace, Name string
	Summary               string // what it is about, in a few words
}

// Place is where bindings let the operator work: a namespace or, with an empty name, all of them and what is in none.
type Place struct {
	Namespace string
	Bindings  []Binding
}

// Binding binds accounts to a role: indices.
type Binding struct {
	Kind, Name string
	Accounts   []int
	Role       int
	Marks      []string // what follows from what it allows, such as: reads every Secret
}

// BlastRadius finds out of rendered objects what the ServiceAccounts in the operator's namespace are bound to. Bindings
// of other subjects are not in the picture, their names are. The error is about an object that can't be decoded.
func BlastRadius(result *generate.Result) (*Radius, error) {
	c := collector{namespace: result.Namespace, deployments: map[string][]string{}}
	for _, o := range result.Objects {
		if o.Kind != "Deployment" && !rbac.Relevant(o.Group(), o.Kind) {
			continue
		}
		m, err := o.Manifest()
		if err == nil {
			err = c.object(m, o.Namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Kind, o.Name, err)
		}
	}
	return c.blast()
}

// Installed finds the same of an operator that is in a cluster: what the objects of the cluster bind its accounts to.
func Installed(csv permissions.CSV, objects []*manifest.Object) (*Radius, error) {
	c := collector{namespace: csv.Namespace, own: permissions.Accounts(csv, true), deployments: map[string][]string{}}
	for _, o := range objects {
		if err := c.object(o, o.Namespace); err != nil {
			return nil, err
		}
	}
	r, err := c.blast()
	if err == nil && len(r.Places) == 0 {
		err = csv.Object.Errorf("", "no RoleBinding or ClusterRoleBinding binds its ServiceAccounts").
			With("dump them too: kubectl get roles,rolebindings,clusterroles,clusterrolebindings -A -o yaml")
	}
	return r, err
}

// blast returns the radius of what has been collected.
func (c *collector) blast() (*Radius, error) {
	c.Aggregate()
	report, err := permissions.Evaluate(permissions.Input{Objects: c.read, Namespace: c.namespace})
	if err != nil {
		return nil, err
	}
	r := c.radius()
	for _, i := range report.Permissions {
		if r.account(i.Subject) < 0 {
			r.Others = lists.Add(r.Others, i.Subject.String())
		}
	}
	r.Ways = slices.DeleteFunc(report.Ways, func(w permissions.Way) bool { return r.account(w.Subject) < 0 })
	return r, nil
}

// account returns the index of a subject among the accounts of the operator, or -1.
func (r *Radius) account(s permissions.Subject) int {
	return slices.IndexFunc(r.Accounts, func(a Account) bool {
		return s == permissions.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: r.Namespace, Name: a.Name}
	})
}

type collector struct {
	namespace   string
	own         map[permissions.Subject]bool // accounts of the operator; nil for all of the namespace
	deployments map[string][]string          // of each account of the namespace
	read        []*manifest.Object           // roles, bindings and accounts
	rbac.Objects
}

// owns reports whether an account is one of the operator.
func (c *collector) owns(a rbac.Account) bool {
	return a.Namespace == c.namespace && (c.own == nil ||
		c.own[permissions.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace, Name: a.Name}])
}

func (c *collector) object(o *manifest.Object, namespace string) error {
	switch {
	case o.Kind == "Deployment" && o.Group() == appsv1.GroupName:
		var d appsv1.Deployment
		_, err := o.Into(&d)
		account := cmp.Or(install.Account(&d.Spec.Template.Spec), "default")
		if c.owns(rbac.Account{Namespace: namespace, Name: account}) {
			c.deployments[account] = append(c.deployments[account], o.Name)
		}
		return err
	case rbac.Relevant(o.Group(), o.Kind):
		n := len(c.Bindings)
		err := c.Add(o, namespace)
		if c.own == nil || len(c.Bindings) == n || len(c.bound(c.Bindings[n])) > 0 {
			c.read = append(c.read, o)
		}
		return err
	}
	return nil
}

// bound returns the names of the operator's accounts that a binding binds.
func (c *collector) bound(b *rbac.Binding) (names []string) {
	for _, s := range b.Subjects {
		if a, ok := rbac.AccountOf(s); ok && c.owns(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

func (c *collector) radius() *Radius {
	r := &Radius{Namespace: c.namespace}
	names := slices.Collect(maps.Keys(c.deployments))
	for a := range c.Accounts {
		if c.owns(a) {
			names = append(names, a.Name)
		}
	}
	var bindings []*rbac.Binding
	for _, b := range c.Bindings {
		if bound := c.bound(b); len(bound) > 0 {
			bindings, names = append(bindings, b), append(names, bound...)
		}
	}
	names = lists.SortedUnique(names)
	r.Accounts = lists.Map(names, func(name string) Account {
		return Account{name, slices.Sorted(slices.Values(c.deployments[name]))}
	})
	slices.SortStableFunc(bindings, func(a, b *rbac.Binding) int { // the own namespace first, all namespaces last
		return cmp.Or(lists.TrueFirst(a.Namespace == c.namespace, b.Namespace == c.namespace),
			lists.TrueFirst(a.Namespace != "", b.Namespace != ""), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Object.Name, b.Object.Name))
	})
	for _, b := range bindings {
		r.add(b, c, names)
	}
	r.Unbound = []string{"every other namespace"} // where no RoleBinding is
	if !slices.ContainsFunc(r.Places, func(p Place) bool { return p.Namespace == "kube-system" }) &&
		r.Namespace != "kube-system" {
		r.Unbound = slices.Insert(r.Unbound, 0, "kube-system")
	}
	return r
}

// add adds a binding to a role, which may be one that is not rendered. names are those of all accounts.
func (r *Radius) add(b *rbac.Binding, c *collector, names []string) {
	accounts, bound := c.bound(b), c.Role(b.Role)
	role := Role{Kind: b.Role.Kind, Namespace: b.Role.Namespace, Name: b.Role.Name, Summary: "not rendered"}
	var rules []rbacv1.PolicyRule
	if bound != nil {
		rules = bound.PolicyRules()
		role.Summary = summary(rules)
	}
	at := slices.Index(r.Roles, role)
	if at < 0 {
		at = len(r.Roles)
		r.Roles = append(r.Roles, role)
	}
	if n := len(r.Places); n == 0 || r.Places[n-1].Namespace != b.Namespace {
		r.Places = append(r.Places, Place{Namespace: b.Namespace})
	}
	binding := Binding{Kind: b.Object.Kind, Name: b.Object.Name, Role: at}
	for _, f := range danger.NewScopes().Follow(danger.Held{b.Namespace: rules}) {
		if f.Level(b.Namespace).Rank() <= findings.Warning.Rank() {
			binding.Marks = append(binding.Marks, f.Text)
		}
	}
	for _, a := range accounts {
		i, _ := slices.BinarySearch(names, a)
		binding.Accounts = lists.Add(binding.Accounts, i)
	}
	place := &r.Places[len(r.Places)-1]
	place.Bindings = append(place.Bindings, binding)
}

// boundToo is what stands before the names of others.
const boundToo, mostOthers = "bound too, see olmgen permissions", 12

// Everywhere reports whether a binding holds in all namespaces.
func (r *Radius) Everywhere() bool {
	return slices.ContainsFunc(r.Places, func(p Place) bool { return p.Namespace == "" })
}

const maxSummary, mostResources = 44, 3

// summary returns what rules are about: a single short rule itself, else their resources.
func summary(rules []rbacv1.PolicyRule) string {
	if len(rules) == 1 && !slices.Contains(rules[0].Resources, rbacv1.ResourceAll) {
		p := rules[0]
		if s := strings.Join(p.Verbs, ",") + " " +
			strings.Join(slices.Concat(p.Resources, p.NonResourceURLs), ","); len(s) <= maxSummary {
			return s
		}
	}
	var names []string
	for _, p := range rules {
		for _, name := range slices.Concat(p.Resources, p.NonResourceURLs) {
			if name == rbacv1.ResourceAll {
				return "all resources"
			}
			names = lists.Add(names, name)
		}
	}
	if len(names) == 0 {
		return "no rules"
	}
	return text.FirstOf(mostResources, names)
}
