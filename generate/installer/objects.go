package installer

import (
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/templates"
)

// Subject is the identity that applies, and how its roles are called.
type Subject struct {
	Namespace, ServiceAccount string
	// of the Roles and bindings; cluster-wide ones have the account's namespace in front
	Name string
}

// Objects returns a ClusterRole and a Role for each namespace, with their bindings, in the order in which they can be
// applied. Where nothing is needed there is none. The error is that of a user's template.
func Objects[T any](p *Permissions, s Subject, t *templates.Set,
	object func(apiVersion, kind, namespace, name string, text []byte) T) ([]T, error) {
	var out []T
	labels := templates.Ownership{Olmgen: true}
	subjects := []templates.Subject{{Name: s.ServiceAccount, Namespace: s.Namespace}}
	add := func(namespace, prefix, name string, rules []rbacv1.PolicyRule) error {
		if len(rules) == 0 {
			return nil
		}
		for _, x := range []struct {
			kind, template string
			view           any
		}{
			{"Role", "role.yaml",
				templates.Role{Ownership: labels, Name: name, Namespace: namespace, Rules: rbac.Values(rules)}},
			{"RoleBinding", "rolebinding.yaml",
				templates.Binding{Ownership: labels, Name: name, Namespace: namespace, Role: name,
					Subjects: subjects}},
		} {
			template := x.template
			if prefix != "" {
				template = "cluster" + template
			}
			text, err := t.Execute(template, x.view)
			if err != nil {
				return err
			}
			out = append(out, object(rbacv1.SchemeGroupVersion.String(), prefix+x.kind, namespace, name, text))
		}
		return nil
	}
	if err := add("", "Cluster", fmt.Sprintf("%s.%s", s.Namespace, s.Name), p.Cluster); err != nil {
		return nil, err
	}
	for _, ns := range slices.Sorted(maps.Keys(p.Namespaces)) {
		if err := add(ns, "", s.Name, p.Namespaces[ns]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
