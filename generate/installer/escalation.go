package installer

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

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

// grant grants a verb on one object of RBAC.
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
