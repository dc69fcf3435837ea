package predict

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// rbac holds the ServiceAccounts of a tree and their permissions.
type rbac struct {
	accounts map[string]bool      // namespace/name
	roles    map[string]*role     // by namespace/name, or /name for ClusterRoles
	bindings map[string][]binding // by subject
}

// role is a Role or ClusterRole.
type role struct {
	*manifest.Object
	labels   map[string]string
	rules    []rbacv1.PolicyRule
	anything bool // aggregated, so its rules are unknown
}

// binding is what a subject gets by a RoleBinding or, without a namespace, by a ClusterRoleBinding.
type binding struct{ namespace, role string }

func newRBAC() rbac {
	return rbac{map[string]bool{}, map[string]*role{}, map[string][]binding{}}
}

func (r rbac) add(o *manifest.Object, defaultNamespace string) *manifest.Error {
	namespace := ""
	if !strings.HasPrefix(o.Kind, "Cluster") {
		namespace = cmp.Or(o.Namespace, defaultNamespace)
	}
	key := namespace + "/" + o.Name
	switch {
	case o.Kind == "ServiceAccount":
		r.accounts[key] = true
		return nil
	case !strings.HasSuffix(o.Kind, "Binding"):
		return r.addRole(key, o)
	}
	var ref rbacv1.RoleRef
	var subjects []rbacv1.Subject
	if err := cmp.Or(field(o, &ref, "roleRef"), field(o, &subjects, "subjects")); err != nil {
		return err
	}
	b := binding{namespace, "/" + ref.Name}
	if ref.Kind == "Role" {
		b.role = namespace + b.role
	}
	for _, s := range subjects {
		name := s.Name
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			name = user(s.Namespace, s.Name)
		case rbacv1.GroupKind:
			name = "group " + s.Name
		}
		r.bindings[name] = append(r.bindings[name], b)
	}
	return nil
}

func (r rbac) addRole(key string, o *manifest.Object) *manifest.Error {
	added := &role{Object: o}
	r.roles[key] = added
	aggregation, err := o.Get("aggregationRule")
	added.anything = err != nil || aggregation != nil
	return cmp.Or(field(o, &added.labels, "metadata", "labels"), field(o, &added.rules, "rules"))
}

// accountPrefix is that of the user names of ServiceAccounts.
const accountPrefix = "system:serviceaccount:"

func user(namespace, account string) string {
	return accountPrefix + namespace + ":" + account
}

// exists reports whether the tree has a ServiceAccount. Kubernetes creates the one named default.
func (r rbac) exists(namespace, account string) bool {
	return account == "default" || r.accounts[namespace+"/"+account]
}

// may reports whether subjects may do what a rule says in a namespace, or everywhere if the namespace is empty. A
// role that is absent or aggregated may allow anything.
func (r rbac) may(subjects []string, namespace string, rule rbacv1.PolicyRule) bool {
	var held []rbacv1.PolicyRule
	for _, s := range subjects {
		for _, b := range r.bindings[s] {
			if b.namespace != "" && b.namespace != namespace {
				continue
			}
			role := r.roles[b.role]
			if role == nil || role.anything {
				return true
			}
			held = append(held, role.rules...)
		}
	}
	return generate.Allowed(held, rule)
}

// asOLM returns the subject that OLM checks for a ServiceAccount. OLM ignores its groups.
func asOLM(namespace, account string) []string { return []string{user(namespace, account)} }

// asServer returns the subjects that the API server checks for a ServiceAccount.
func asServer(namespace, account string) []string {
	return []string{
		user(namespace, account),
		"group system:serviceaccounts",
		"group system:serviceaccounts:" + namespace,
		"group system:authenticated",
	}
}

// invalidRule returns OLM's error for a rule, or "" (OLM: pkg/controller/install/rule_checker.go, ruleValid).
func invalidRule(rule rbacv1.PolicyRule) string {
	switch {
	case len(rule.Verbs) == 0:
		return "rule invalid: policy rule must have at least one verb"
	case len(slices.Concat(rule.APIGroups, rule.Resources, rule.ResourceNames)) > 0 && len(rule.NonResourceURLs) > 0:
		return "rule invalid: rule cannot apply to both regular resources and non-resource URLs"
	}
	return ""
}
