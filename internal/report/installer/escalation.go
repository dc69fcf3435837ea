package installer

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

type roleKey struct{ kind, namespace, name string }

type role struct {
	rules      []rbacv1.PolicyRule
	aggregated bool // the rules are whatever else is in the cluster
}

// rolesOf returns the roles among the objects.
func rolesOf(objects []*manifest.Object) (map[roleKey]*role, error) {
	roles := map[roleKey]*role{}
	for _, o := range objects {
		if o.Group() != rbacv1.GroupName {
			continue
		}
		switch o.Kind {
		case "Role":
			var x rbacv1.Role
			if _, err := o.Into(&x); err != nil {
				return nil, err
			}
			roles[roleKey{o.Kind, o.Namespace, o.Name}] = &role{rules: x.Rules}
		case "ClusterRole":
			var x rbacv1.ClusterRole
			if _, err := o.Into(&x); err != nil {
				return nil, err
			}
			roles[roleKey{o.Kind, "", o.Name}] = &role{x.Rules,
				x.AggregationRule != nil && len(x.AggregationRule.ClusterRoleSelectors) > 0}
		}
	}
	return roles, nil
}

// authorize grants what the escalation check asks for, if the object is one of RBAC (Kubernetes 1.36:
// pkg/registry/rbac/*/policybased).
func (d *derivation) authorize(o *manifest.Object) error {
	if o.Group() != rbacv1.GroupName {
		return nil
	}
	switch o.Kind {
	case "Role":
		return d.write(o, "roles", o.Namespace)
	case "ClusterRole":
		return d.write(o, "clusterroles", "")
	case "RoleBinding":
		var x rbacv1.RoleBinding
		if _, err := o.Into(&x); err != nil {
			return err
		}
		return d.bindTo(x.RoleRef, o.Namespace)
	case "ClusterRoleBinding":
		var x rbacv1.ClusterRoleBinding
		if _, err := o.Into(&x); err != nil {
			return err
		}
		return d.bindTo(x.RoleRef, "")
	}
	return nil
}

// write grants what writing a role takes: every rule in it, in its scope, or escalate on it. A ClusterRole that
// aggregates others takes all rights there are, nonResourceURLs included, or escalate
// (clusterrole/policybased/storage.go, fullAuthority); all rights are not granted.
func (d *derivation) write(o *manifest.Object, plural, namespace string) error {
	r := d.roles[roleKey{o.Kind, namespace, o.Name}]
	if r.aggregated {
		d.escalate[o.Name] = true
	}
	if r.aggregated || d.Escalate {
		d.grant(plural, "escalate", o.Name, namespace)
		return nil
	}
	return d.hold(r.rules, namespace)
}

// bindTo grants what writing a binding takes: every rule of the role in the binding's scope, or bind on the role, also
// there. The rules of a role are known if it is among the objects and does not aggregate others.
func (d *derivation) bindTo(ref rbacv1.RoleRef, namespace string) error {
	key, plural := roleKey{ref.Kind, "", ref.Name}, "clusterroles"
	if ref.Kind == "Role" {
		key.namespace, plural = namespace, "roles"
	}
	r := d.roles[key]
	if r == nil {
		d.bind[ref.Kind+" "+strings.TrimPrefix(key.namespace+"/"+ref.Name, "/")] = true
	}
	if r == nil || r.aggregated || d.Escalate {
		d.grant(plural, "bind", ref.Name, namespace)
		return nil
	}
	return d.hold(r.rules, namespace)
}

// grant grants a verb on one object of RBAC.
func (d *derivation) grant(plural, verb, name, namespace string) {
	d.in(namespace).Add(rbac.Atom{Group: rbacv1.GroupName, Resource: plural, Verb: verb, Named: true, Name: name}, true)
}

func (d *derivation) hold(rules []rbacv1.PolicyRule, namespace string) error {
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
