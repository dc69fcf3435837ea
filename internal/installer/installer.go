// Package installer derives the smallest RBAC under which a set of objects can be applied.
package installer

import (
	"cmp"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/lists"
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
	d := &derivation{Options: o, cluster: &atoms{}, namespaces: map[string]*atoms{}, escalate: map[string]bool{},
		bind: map[string]bool{}}
	var err error
	if d.rbac, err = rbac.Read(objects, ""); err != nil {
		return nil, err
	}
	d.bindings = lists.By(d.rbac.Bindings, func(b *rbac.Binding) *manifest.Object { return b.Object })
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
	p.Escalate, p.Bind = lists.Keys(d.escalate), lists.Keys(d.bind)
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

func (d *derivation) in(namespace string) *atoms {
	if namespace == "" {
		return d.cluster
	}
	d.namespaces[namespace] = cmp.Or(d.namespaces[namespace], &atoms{})
	return d.namespaces[namespace]
}

func (d *derivation) apply(r resource, name string) {
	to := d.in(r.namespace)
	to.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: "create"}, true)
	for _, v := range verbs {
		to.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: v, Named: true, Name: name}, true)
	}
	for _, v := range []string{"list", "watch"} {
		if d.Extension != "" { // operator-controller: internal/operator-controller/authorization/rbac.go
			d.cluster.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: v}, true)
		}
		if d.Watch {
			to.Add(rbac.Atom{Group: r.group, Resource: r.plural, Verb: v}, true)
		}
	}
}

// authorize grants what the escalation check asks for, if the object is one of RBAC (Kubernetes 1.36:
// pkg/registry/rbac/*/policybased).
func (d *derivation) authorize(o *manifest.Object) error {
	if o.Group() != rbacv1.GroupName {
		return nil
	}
	switch o.Kind {
	case rbac.KindRole:
		return d.write(o, "roles", o.Namespace)
	case rbac.KindClusterRole:
		return d.write(o, "clusterroles", "")
	}
	if b := d.bindings[o]; b != nil {
		return d.bindTo(b)
	}
	return nil
}

// write grants what writing a role takes: every rule in it, in its scope, or escalate on it. A ClusterRole that
// aggregates others takes all rights there are, nonResourceURLs included, or escalate
// (clusterrole/policybased/storage.go, fullAuthority); all rights are not granted.
func (d *derivation) write(o *manifest.Object, plural, namespace string) error {
	r := d.rbac.Role(rbac.Key{Kind: o.Kind, Namespace: namespace, Name: o.Name})
	aggregating := len(r.Selectors) > 0
	if aggregating {
		d.escalate[o.Name] = true
	}
	if aggregating || d.Escalate {
		d.grant(plural, "escalate", o.Name, namespace)
		return nil
	}
	return d.addRules(r.PolicyRules(), namespace)
}

// bindTo grants what writing a binding takes: every rule of the role in the binding's scope, or bind on the role, also
// there. The rules of a role are known if it is among the objects and does not aggregate others.
func (d *derivation) bindTo(b *rbac.Binding) error {
	plural := "clusterroles"
	if b.Role.Kind == rbac.KindRole {
		plural = "roles"
	}
	r := d.rbac.Role(b.Role)
	if r == nil {
		d.bind[b.Role.String()] = true
	}
	if r == nil || len(r.Selectors) > 0 || d.Escalate {
		d.grant(plural, "bind", b.Role.Name, b.Namespace)
		return nil
	}
	return d.addRules(r.PolicyRules(), b.Namespace)
}

func (d *derivation) grant(plural, verb, name, namespace string) {
	d.in(namespace).Add(rbac.Atom{Group: rbacv1.GroupName, Resource: plural, Verb: verb, Named: true, Name: name}, true)
}

func (d *derivation) addRules(rules []rbacv1.PolicyRule, namespace string) error {
	to := d.in(namespace)
	for _, rule := range rules {
		if err := d.held.Add(rule); err != nil {
			return err
		}
		for _, a := range rbac.Atoms(rule) {
			to.Add(a, true)
		}
	}
	return nil
}

// resource is where the API server keeps an object.
type resource struct{ group, plural, namespace string }

// apis are the APIs that the objects themselves define.
type apis map[string]olm.Kind

// resourceOf returns an object's resource: of a kind that olmgen knows, or of a CRD among the objects; else it is
// guessed, and that is a warning.
func (t apis) resourceOf(o *manifest.Object) (r resource, warning *manifest.Error, err error) {
	if o.Name == "" {
		return r, nil, o.Errorf("metadata.name", "missing")
	}
	if o.APIVersion == "" {
		return r, nil, o.Errorf("apiVersion", "missing")
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return r, nil, o.Errorf("apiVersion", "%v", err)
	}
	kind := schema.GroupKind{Group: gv.Group, Kind: o.Kind}
	guess, _ := meta.UnsafeGuessKindToResource(gv.WithKind(o.Kind))
	r = resource{group: kind.Group, plural: guess.Resource}
	var namespaced bool
	if k, ok := t[kind.Group+"/"+kind.Kind]; ok && k.Plural != "" {
		r.plural, namespaced = k.Plural, k.Namespaced
	} else if k, ok := olm.KindOf(kind.Group, kind.Kind); ok {
		r.plural, namespaced = k.Plural, k.Namespaced
	} else {
		namespaced = o.Namespace != ""
		where := "cluster-wide"
		if namespaced {
			where = "namespaced"
		}
		warning = o.Errorf("kind", "%s is unknown: its resource is taken to be %s, %s", kind.String(),
			guess.GroupResource(), where)
		warning.Tip = "a CustomResourceDefinition among the objects says it"
	}
	if !namespaced {
		return r, warning, nil
	}
	if r.namespace = o.Namespace; r.namespace == "" {
		e := o.Errorf("metadata.namespace", "missing: where a %s without it goes depends on who applies it", o.Kind)
		e.Tip = fmt.Sprintf("give the %s a namespace", o.Kind)
		return r, nil, e
	}
	return r, warning, nil
}
