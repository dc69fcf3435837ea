package rbac

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// The kinds of roles.
const (
	KindRole        = "Role"
	KindClusterRole = "ClusterRole"
)

// AnnotationShared has, on a ClusterRole for the users of APIs, the names of those APIs that several operators may
// provide because an administrator allows it, separated by commas.
const AnnotationShared = "olmgen.dev/shared-apis"

// Shared returns the APIs that the roles declare as shared, by name of the CRD.
func (x *Objects) Shared() map[string]bool {
	out := map[string]bool{}
	for _, r := range x.Roles {
		if r.Object == nil {
			continue
		}
		names, _ := r.Object.Get("metadata", "annotations", AnnotationShared)
		for name := range strings.SplitSeq(olm.Text(names), ",") {
			out[strings.TrimSpace(name)] = true
		}
	}
	return out
}

// Key identifies a Role or ClusterRole. The namespace of a ClusterRole is empty.
type Key struct{ Kind, Namespace, Name string }

// ClusterRole returns the key of a ClusterRole.
func ClusterRole(name string) Key { return Key{KindClusterRole, "", name} }

// String returns "Kind namespace/name".
func (k Key) String() string { return k.Kind + " " + strings.TrimPrefix(k.Namespace+"/"+k.Name, "/") }

// Compare orders keys by kind, namespace and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Name, o.Name))
}

// Role is a Role or ClusterRole.
type Role struct {
	Key
	Object    *manifest.Object // nil for a role that clusters have by default
	Labels    labels.Set
	Selectors []labels.Selector // of the ClusterRoles that it aggregates
	Rules     []Rule            // without those that stand in an aggregating role: the cluster replaces them
	AtLeast   bool              // a cluster may have more in it than Rules
}

// Rule is a rule and the role that it stands in, which is another one than the role that has it by aggregation.
type Rule struct {
	rbacv1.PolicyRule
	Role  *Role
	Index int
}

// PolicyRules returns the rules of a role without their places.
func (r *Role) PolicyRules() []rbacv1.PolicyRule {
	return lists.Map(r.Rules, func(rule Rule) rbacv1.PolicyRule { return rule.PolicyRule })
}

// roleOfAPI matches the names of the roles that OLM and olmgen generate for an API.
var roleOfAPI = lazy.Regexp(`^[^.]+\..+-v[0-9][a-z0-9]*-(admin|edit|view|crdview)(-[a-z0-9]+)?$`)

// Generated reports whether OLM generated a role, or olmgen in its place; people go on with those of an installer.
func (r *Role) Generated() bool {
	_, owned := r.Labels[olm.LabelOwner]
	return owned || r.InPlaceOfOLM() || roleOfAPI().MatchString(r.Name)
}

// InPlaceOfOLM reports whether olmgen made the role for a package that no OLM installs.
func (r *Role) InPlaceOfOLM() bool {
	return r.Labels["app.kubernetes.io/managed-by"] == "olmgen" && r.Labels[olm.LabelPartOf] != ""
}

// ForUsers reports whether olmgen made the role for the users of an API that a descoped operator provides.
func (r *Role) ForUsers() bool { return strings.HasPrefix(r.Labels[olm.LabelDescoped], "user-") }

func (r *Role) setRules(rules []rbacv1.PolicyRule) {
	r.Rules = slices.Grow(r.Rules, len(rules))
	for i, rule := range rules {
		r.Rules = append(r.Rules, Rule{rule, r, i})
	}
}

// Binding is a RoleBinding or ClusterRoleBinding.
type Binding struct {
	Object    *manifest.Object
	Namespace string // empty for a ClusterRoleBinding
	Role      Key
	// Subjects are those that it binds. A ServiceAccount has a namespace, others have none.
	Subjects []rbacv1.Subject
	// Unbound counts the ServiceAccounts without a namespace in a ClusterRoleBinding. It binds none of them
	// (Kubernetes: pkg/registry/rbac/validation/rule.go, appliesToUser).
	Unbound int
}

// Clusterwide reports whether a binding is a ClusterRoleBinding. A RoleBinding in a tree may lack its namespace.
func (b *Binding) Clusterwide() bool { return !Namespaced(b.Object.Kind) }

// Objects are the roles, bindings and ServiceAccounts of a set of objects. The zero value is empty.
type Objects struct {
	Roles    []*Role // in the order of the objects
	Bindings []*Binding
	Accounts map[Account]bool

	byKey map[Key]*Role
}

// Relevant reports whether objects of a group and kind are roles, bindings or ServiceAccounts.
func Relevant(group, kind string) bool {
	return group == "" && kind == rbacv1.ServiceAccountKind || group == rbacv1.GroupName &&
		slices.Contains([]string{KindRole, KindClusterRole, "RoleBinding", "ClusterRoleBinding"}, kind)
}

// Namespaced reports whether objects of a relevant kind are in a namespace.
func Namespaced(kind string) bool { return !strings.HasPrefix(kind, "Cluster") }

// Read reads the relevant ones of objects. Those without a namespace get one. The error is a *manifest.Error.
func Read(objects []*manifest.Object, namespace string) (*Objects, error) {
	x := &Objects{}
	for _, o := range objects {
		if !Relevant(o.Group(), o.Kind) {
			continue
		}
		if err := x.Add(o, cmp.Or(o.Namespace, namespace)); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Add adds a relevant object that is in a namespace. The error is a *manifest.Error.
func (x *Objects) Add(o *manifest.Object, namespace string) error {
	if !Namespaced(o.Kind) {
		namespace = ""
	}
	switch o.Kind {
	case rbacv1.ServiceAccountKind:
		x.AddAccount(Account{namespace, o.Name})
		return nil
	case KindRole, KindClusterRole:
		return x.readRole(o, namespace)
	}
	return x.readBinding(o, namespace)
}

// AddAccount adds a ServiceAccount.
func (x *Objects) AddAccount(a Account) {
	if x.Accounts == nil {
		x.Accounts = map[Account]bool{}
	}
	x.Accounts[a] = true
}

// addRole adds a role. It joins the one with its key, which another root of the cluster has: rights are those of both.
func (x *Objects) addRole(r *Role) {
	if x.byKey == nil {
		x.byKey = map[Key]*Role{}
	}
	first := x.byKey[r.Key]
	if first == nil {
		x.Roles, x.byKey[r.Key] = append(x.Roles, r), r
		return
	}
	first.Rules, first.Selectors = append(first.Rules, r.Rules...), append(first.Selectors, r.Selectors...)
	first.Labels = labels.Merge(first.Labels, r.Labels)
}

// Role returns a role among the objects, or nil.
func (x *Objects) Role(k Key) *Role { return x.byKey[k] }

// Bound returns the role that a binding names: among the objects, or one that clusters have by default; nil for others.
func (x *Objects) Bound(b *Binding) *Role {
	if r := x.byKey[b.Role]; r != nil && r.Object != nil {
		return r
	}
	return defaultRole(b.Role)
}

// RulesOf returns the rules of a ClusterRole, among the objects or by default; none of one that is not known.
func (x *Objects) RulesOf(clusterRole string) []rbacv1.PolicyRule {
	if r := x.Bound(&Binding{Role: ClusterRole(clusterRole)}); r != nil {
		return r.PolicyRules()
	}
	return nil
}

// DefaultRules returns the rules that a ClusterRole has in every cluster.
func DefaultRules(clusterRole string) []rbacv1.PolicyRule { return new(Objects).RulesOf(clusterRole) }

func (x *Objects) readRole(o *manifest.Object, namespace string) error {
	var decoded rbacv1.ClusterRole // a Role has a part of its fields
	if _, err := o.Into(&decoded); err != nil {
		return err
	}
	r := &Role{Key: Key{o.Kind, namespace, o.Name}, Object: o, Labels: decoded.Labels}
	if o.Kind == KindClusterRole && decoded.AggregationRule != nil {
		for i, s := range decoded.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&s)
			if err != nil {
				field := fmt.Sprintf("aggregationRule.clusterRoleSelectors[%d]", i)
				return o.Errorf(field, "%s", text.OneLine(err.Error()))
			}
			r.Selectors = append(r.Selectors, selector)
		}
	}
	if len(r.Selectors) == 0 {
		r.setRules(decoded.Rules)
	}
	x.addRole(r)
	return nil
}

func (x *Objects) readBinding(o *manifest.Object, namespace string) error {
	var decoded rbacv1.RoleBinding
	if _, err := o.Into(&decoded); err != nil {
		return err
	}
	b := &Binding{Object: o, Namespace: namespace, Role: Key{Kind: decoded.RoleRef.Kind, Name: decoded.RoleRef.Name}}
	if b.Role.Kind == KindRole {
		b.Role.Namespace = namespace
	}
	for _, s := range decoded.Subjects {
		if s.Kind != rbacv1.ServiceAccountKind {
			s.Namespace = ""
		} else if s.Namespace = cmp.Or(s.Namespace, namespace); s.Namespace == "" {
			b.Unbound++
			continue
		}
		b.Subjects = append(b.Subjects, s)
	}
	x.Bindings = append(x.Bindings, b)
	return nil
}
