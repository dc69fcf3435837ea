// Package installer derives the smallest RBAC under which a set of objects can be applied.
package installer

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// Options say what is granted.
type Options struct {
	// Escalate grants the verbs escalate and bind on the roles by name, in place of every rule that is in them.
	Escalate bool
	// Watch adds list and watch, which can't be limited to names.
	Watch bool
	// Extension is the name of the ClusterExtension for which OLM v1 applies the objects; empty if somebody else does.
	Extension string
}

// Permissions are what the identity that applies the objects must hold. Rules are sorted; none is covered by the
// others.
type Permissions struct {
	Cluster    []rbacv1.PolicyRule            // everywhere
	Namespaces map[string][]rbacv1.PolicyRule // in one namespace, without what Cluster grants
	Warnings   []*manifest.Error              // of objects whose resource had to be guessed
	// ClusterRoles that aggregate others, on which escalate is granted, sorted
	Escalate []string
	// roles that are not among the objects and on which bind is granted, as "ClusterRole name", sorted
	Bind []string
}

// verbs on what is there already. To create is granted beside them without a name, which that request does not have
// (Kubernetes: docs/reference/access-authn-authz/rbac, "Referring to resources").
var verbs = []string{"get", "patch", "update", "delete"}

// Derive returns the permissions that applying and pruning the objects needs: the verbs for each of them, and what the
// escalation check of the API server asks of who writes a role or a binding. Errors are *manifest.Error.
func Derive(objects []*manifest.Object, o Options) (*Permissions, error) {
	t := apis(olm.DefinedKinds(objects))
	d := &derivation{Options: o, bindings: map[*manifest.Object]*rbac.Binding{}, cluster: &atoms{},
		namespaces: map[string]*atoms{}, escalate: map[string]bool{},
		bind: map[string]bool{}}
	var err error
	if d.rbac, err = rbac.Read(objects, ""); err != nil {
		return nil, err
	}
	for _, b := range d.rbac.Bindings {
		d.bindings[b.Object] = b
	}
	p := &Permissions{Namespaces: map[string][]rbacv1.PolicyRule{}}
	for _, x := range objects {
		r, warning, err := t.resourceOf(x)
		if err != nil {
			return nil, err
		}
		if warning != nil {
			p.Warnings = append(p.Warnings, warning)
		}
		d.apply(r, x.Name)
		if err := d.authorize(x); err != nil {
			return nil, err
		}
	}
	if o.Extension != "" {
		d.cluster.Add(rbac.Atom{Group: olm.GroupV1, Resource: "clusterextensions/finalizers", Verb: "update",
			Named: true, Name: o.Extension}, true)
	}
	p.Cluster = rulesOf(d.cluster, nil)
	for ns, a := range d.namespaces {
		if rules := rulesOf(a, d.cluster); len(rules) > 0 {
			p.Namespaces[ns] = rules
		}
	}
	p.Escalate = slices.Sorted(maps.Keys(d.escalate))
	p.Bind = slices.Sorted(maps.Keys(d.bind))
	return p, nil
}

// atoms are permissions as the smallest parts of rules.
type atoms = rbac.Index[bool]

// rulesOf returns the rules of the atoms that neither another of them nor the set held covers.
func rulesOf(s, held *atoms) []rbacv1.PolicyRule { return rbac.Rules(s.Minimal(held)) }

// derivation collects permissions.
type derivation struct {
	Options
	rbac           *rbac.Objects
	bindings       map[*manifest.Object]*rbac.Binding
	cluster        *atoms
	namespaces     map[string]*atoms
	escalate, bind map[string]bool
	held           rbac.Counter // of the rules of roles
}

// in returns what is collected for a namespace, or for the cluster.
func (d *derivation) in(namespace string) *atoms {
	if namespace == "" {
		return d.cluster
	}
	if d.namespaces[namespace] == nil {
		d.namespaces[namespace] = &atoms{}
	}
	return d.namespaces[namespace]
}

// apply grants what it takes to apply and to prune one object.
func (d *derivation) apply(r resource, name string) {
	to := d.in(r.namespace)
	to.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: "create"}, true)
	for _, v := range verbs {
		to.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: v, Named: true, Name: name}, true)
	}
	if d.Extension != "" { // operator-controller: internal/operator-controller/authorization/rbac.go
		for _, v := range []string{"list", "watch"} {
			d.cluster.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: v}, true)
		}
	}
	if d.Watch {
		for _, v := range []string{"list", "watch"} {
			to.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: v}, true)
		}
	}
}
