package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/findings/show"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
)

type roleKey struct{ kind, namespace, name string }

func (k roleKey) String() string {
	return k.kind + " " + strings.TrimPrefix(k.namespace+"/"+k.name, "/")
}

// role is a Role or ClusterRole.
type role struct {
	key       roleKey
	object    *manifest.Object // nil for a role that clusters have by default
	labels    labels.Set
	selectors []metav1.LabelSelector // of the ClusterRoles that it aggregates
	rules     []ruleAt
}

// ruleAt is a rule and the role that it stands in, which is another one than the role that has it by aggregation.
type ruleAt struct {
	rbacv1.PolicyRule
	in    *role
	index int
}

func (r *role) identity() string { return r.key.String() }

// source returns where a rule of the role stands.
func (r *role) source(rule int) Source {
	at := r.rules[rule]
	if at.in.object == nil {
		return Source{Object: at.in.identity(), Why: WhyDefault}
	}
	field := fmt.Sprintf("rules[%d]", at.index)
	return Source{File: at.in.object.File, Line: at.in.object.LineOf(field), Object: at.in.identity(),
		Field: field, Why: WhyTree}
}

// binding is a RoleBinding or, with an empty place, a ClusterRoleBinding.
type binding struct {
	object   *manifest.Object
	place    string
	role     roleKey
	subjects []rbacv1.Subject
}

// world is what the objects say.
type world struct {
	roles    map[roleKey]*role
	bindings []binding
	accounts map[Subject]bool
	scopes   scopes
	notes    []string
}

// newWorld reads the objects that RBAC is about. Objects without a namespace get the given one.
func newWorld(objects []*manifest.Object, namespace string) (*world, error) {
	w := &world{roles: map[roleKey]*role{}, accounts: map[Subject]bool{}, scopes: scopes{}}
	for group, list := range clusterScoped {
		w.scopes[group] = slices.Clone(list)
	}
	var homeless []string
	for _, o := range objects {
		ns := o.Namespace
		if ns == "" && namespacedKind(o) {
			if ns = cmp.Or(namespace, corev1.NamespaceDefault); namespace == "" {
				homeless = append(homeless, o.Identity())
			}
		}
		if err := w.read(o, ns); err != nil {
			return nil, err
		}
	}
	if len(homeless) > 0 {
		count := "count as"
		if len(homeless) == 1 {
			count = "counts as"
		}
		w.notes = append(w.notes, fmt.Sprintf("%s without a namespace, such as %s, %s in the namespace default",
			text.Count(len(homeless), "object"), show.Short(homeless[0]), count))
	}
	w.aggregate()
	return w, nil
}

func namespacedKind(o *manifest.Object) bool {
	return o.Group() == rbacv1.GroupName && (o.Kind == "Role" || o.Kind == "RoleBinding") ||
		o.Group() == "" && o.Kind == rbacv1.ServiceAccountKind
}

// Relevant reports whether an object of a group and kind has a part in an evaluation.
func Relevant(group, kind string) bool {
	switch group {
	case rbacv1.GroupName:
		return slices.Contains([]string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}, kind)
	case groupExtensions:
		return kind == "CustomResourceDefinition"
	case "":
		return kind == rbacv1.ServiceAccountKind
	}
	return false
}

func (w *world) read(o *manifest.Object, namespace string) error {
	if !Relevant(o.Group(), o.Kind) {
		return nil
	}
	switch o.Kind {
	case rbacv1.ServiceAccountKind:
		w.accounts[Subject{rbacv1.ServiceAccountKind, namespace, o.Name}] = true
	case "CustomResourceDefinition":
		return w.crd(o)
	case "Role", "ClusterRole":
		r, err := readRole(o, namespace)
		if err != nil {
			return err
		}
		if before := w.roles[r.key]; before != nil && !sameRules(before, r) {
			w.notes = append(w.notes, fmt.Sprintf("%s stands in %s and again in %s: the last one counts",
				show.Short(r.identity()), show.Short(at(before.object)), show.Short(at(o))))
		}
		w.roles[r.key] = r
	default:
		return w.bind(o, namespace)
	}
	return nil
}

func sameRules(a, b *role) bool {
	return slices.EqualFunc(a.rules, b.rules, func(x, y ruleAt) bool { return equal(x.PolicyRule, y.PolicyRule) })
}

func at(o *manifest.Object) string { return fmt.Sprintf("%s:%d", o.File, o.Line) }

func (w *world) crd(o *manifest.Object) error {
	var spec struct{ scope, group, plural string }
	for _, f := range []struct {
		to   *string
		path []string
	}{{&spec.scope, []string{"spec", "scope"}}, {&spec.group, []string{"spec", "group"}},
		{&spec.plural, []string{"spec", "names", "plural"}}} {
		v, err := o.Get(f.path...)
		if err != nil {
			return err
		}
		*f.to, _ = v.(string)
	}
	if spec.scope == "Cluster" {
		w.scopes[spec.group] = append(w.scopes[spec.group], spec.plural)
	}
	return nil
}

func readRole(o *manifest.Object, namespace string) (*role, error) {
	var x rbacv1.ClusterRole // a Role has a part of its fields
	if _, err := o.Into(&x); err != nil {
		return nil, err
	}
	r := &role{key: roleKey{o.Kind, namespace, o.Name}, object: o, labels: x.Labels}
	if o.Kind == "ClusterRole" {
		r.key.namespace = ""
		if x.AggregationRule != nil {
			r.selectors = x.AggregationRule.ClusterRoleSelectors
		}
	}
	if len(r.selectors) == 0 { // else the cluster replaces the rules
		for i, rule := range x.Rules {
			r.rules = append(r.rules, ruleAt{rule, r, i})
		}
	}
	return r, nil
}

func (w *world) bind(o *manifest.Object, namespace string) error {
	var x rbacv1.RoleBinding
	if _, err := o.Into(&x); err != nil {
		return err
	}
	b := binding{object: o, role: roleKey{x.RoleRef.Kind, "", x.RoleRef.Name}}
	if o.Kind == "RoleBinding" {
		b.place = namespace
	}
	if b.role.kind == "Role" {
		b.role.namespace = b.place
	}
	for _, s := range x.Subjects {
		if s.Kind == rbacv1.ServiceAccountKind {
			s.Namespace = cmp.Or(s.Namespace, b.place)
			if s.Namespace == "" {
				w.notes = append(w.notes, fmt.Sprintf(
					"%s: %s has a ServiceAccount without a namespace, which binds nobody",
					show.Short(at(o)), show.Short(o.Identity())))
				continue
			}
		} else {
			s.Namespace = ""
		}
		b.subjects = append(b.subjects, s)
	}
	w.bindings = append(w.bindings, b)
	return nil
}
