package permissions

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
	"github.com/olmgen/olmgen/manifest"
)

// inventory is the RBAC of the objects of a report, and what a reader has to know about it.
type inventory struct {
	rbac.Objects
	scopes danger.Scopes
	notes  []string
}

// Relevant reports whether an object of a group and kind has a part in an evaluation.
func Relevant(group, kind string) bool { return rbac.Relevant(group, kind) || olm.IsCRD(group, kind) }

// readInventory reads the objects that RBAC is about. Objects without a namespace get the given one.
func readInventory(objects []*manifest.Object, namespace string) (*inventory, error) {
	v := &inventory{scopes: danger.NewScopes()}
	var homeless []string
	for _, o := range objects {
		if olm.IsCRD(o.Group(), o.Kind) {
			if err := v.scopes.AddCRD(o); err != nil {
				return nil, err
			}
		}
		if !rbac.Relevant(o.Group(), o.Kind) {
			continue
		}
		if o.Namespace == "" && namespace == "" && rbac.Namespaced(o.Kind) {
			homeless = append(homeless, o.Identity())
		}
		if err := v.Add(o, cmp.Or(o.Namespace, namespace, corev1.NamespaceDefault)); err != nil {
			return nil, err
		}
	}
	v.note(homeless)
	v.AddUserRoles()
	v.Aggregate()
	v.scopes.Role = v.RulesOf
	return v, nil
}

// note notes subjects that are bound to nothing, and objects without a namespace.
func (v *inventory) note(homeless []string) {
	for _, b := range v.Bindings {
		for range b.Unbound {
			v.notes = append(v.notes, fmt.Sprintf("%s: %s has a ServiceAccount without a namespace, which binds nobody",
				text.Brief(fmt.Sprintf("%s:%d", b.Object.File, b.Object.Line)), text.Brief(b.Object.Identity())))
		}
	}
	if len(homeless) > 0 {
		count := "count"
		if len(homeless) == 1 {
			count = "counts"
		}
		v.notes = append(v.notes, fmt.Sprintf("%s without a namespace, such as %s, %s as in the namespace default",
			text.Count(len(homeless), "object"), text.Brief(homeless[0]), count))
	}
}

// ruleSource returns where a rule stands.
func ruleSource(r rbac.Rule) Source {
	if r.Role.Object == nil {
		return Source{Object: r.Role.String(), Why: WhyDefault}
	}
	field := fmt.Sprintf("rules[%d]", r.Index)
	file, line := r.Role.Object.PlaceOf(field)
	return Source{File: file, Line: line, Object: r.Role.String(), Field: field, Why: WhyTree}
}

func accountSubject(a rbac.Account) Subject {
	return Subject{rbacv1.ServiceAccountKind, a.Namespace, a.Name}
}

// UsersGain returns the rules that the roles for users gain from objects, in the order of the controller.
func UsersGain(objects []*manifest.Object) (map[string][]rbacv1.PolicyRule, error) {
	v, err := readInventory(objects, "")
	if err != nil {
		return nil, err
	}
	out := map[string][]rbacv1.PolicyRule{}
	for _, name := range UserRoles {
		if rules := v.Role(rbac.ClusterRole(name)).Gained().PolicyRules(); len(rules) > 0 {
			out[name] = rules
		}
	}
	return out, nil
}
