package policy

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

const rbacGroup = rbacv1.GroupName

// grant is a rule of a role, with its object.
type grant struct {
	*manifest.Object
	field   string // the field of the rule
	rule    rbacv1.PolicyRule
	cluster bool   // it applies in all namespaces, or may do so
	account string // the ServiceAccount of a ClusterServiceVersion
	bound   bool   // granted by a binding of cluster-admin
	how     string // why it applies in all namespaces, where the field does not show it
}

// clusterRole is a decoded ClusterRole. The overlays of a repository may have several of one name.
type clusterRole struct {
	*manifest.Object
	labels    labels.Set
	rules     []rbacv1.PolicyRule
	selectors []labels.Selector
}

// binding is a decoded RoleBinding or ClusterRoleBinding.
type binding struct {
	*manifest.Object
	cluster  bool
	space    string // its namespace
	role     rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// rbac holds the permissions of a tree.
type rbac struct {
	roles    []*clusterRole
	local    map[string][]rbacv1.PolicyRule // rules of Roles, by namespace/name
	bindings []*binding
	grants   []grant
}

// permissions reads the RBAC objects of the tree once.
func (v *view) permissions() *rbac {
	if v.rbac != nil {
		return v.rbac
	}
	r := &rbac{local: map[string][]rbacv1.PolicyRule{}}
	v.rbac = r
	for _, o := range v.kinds[rbacGroup+"/ClusterRole"] {
		v.addClusterRole(o)
	}
	for _, kind := range []string{"ClusterRoleBinding", "RoleBinding"} {
		for _, o := range v.kinds[rbacGroup+"/"+kind] {
			b := &binding{Object: o.Object, cluster: kind == "ClusterRoleBinding", space: o.Namespace}
			if v.field(o.Object, &b.role, "roleRef") && v.field(o.Object, &b.subjects, "subjects") {
				r.bindings = append(r.bindings, b)
			}
		}
	}
	wide := r.clusterWide()
	for _, role := range r.roles {
		r.addRules(grant{Object: role.Object, field: "rules", cluster: wide[role.Name]}, role.rules)
	}
	for _, o := range v.kinds[rbacGroup+"/Role"] {
		var rules []rbacv1.PolicyRule
		if v.field(o.Object, &rules, "rules") {
			r.addRules(grant{Object: o.Object, field: "rules"}, rules)
			r.local[o.Namespace+"/"+o.Name] = append(r.local[o.Namespace+"/"+o.Name], rules...)
		}
	}
	for _, b := range r.bindings {
		if b.role.Kind == "ClusterRole" && b.role.Name == clusterAdmin &&
			!slices.ContainsFunc(r.roles, named(clusterAdmin)) {
			for _, rule := range clusterAdminRules {
				r.grants = append(
					r.grants,
					grant{Object: b.Object, field: "roleRef.name", rule: rule, cluster: b.cluster, bound: true},
				)
			}
		}
	}
	for _, o := range v.olm("ClusterServiceVersion") {
		v.addCSV(o)
	}
	return r
}

func named(name string) func(*clusterRole) bool {
	return func(r *clusterRole) bool { return r.Name == name }
}

// clusterAdmin is a ClusterRole of every cluster
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
const clusterAdmin = "cluster-admin"

var clusterAdminRules = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// addRules adds a grant for each rule of a list. g.field is the field of the list.
func (r *rbac) addRules(g grant, rules []rbacv1.PolicyRule) {
	list := g.field
	for i, rule := range rules {
		g.field, g.rule = fmt.Sprintf("%s[%d]", list, i), rule
		r.grants = append(r.grants, g)
	}
}

func (v *view) addClusterRole(o *entry) {
	role := &clusterRole{Object: o.Object}
	var aggregation rbacv1.AggregationRule
	if !v.field(o.Object, &role.rules, "rules") || !v.field(o.Object, &role.labels, "metadata", "labels") ||
		!v.field(o.Object, &aggregation, "aggregationRule") {
		return
	}
	for i := range aggregation.ClusterRoleSelectors {
		s, err := metav1.LabelSelectorAsSelector(&aggregation.ClusterRoleSelectors[i])
		if err != nil {
			v.faults = append(
				v.faults,
				hit{o.Object, fmt.Sprintf("aggregationRule.clusterRoleSelectors[%d]", i), text.OneLine(err.Error()),
					""},
			)
			return
		}
		role.selectors = append(role.selectors, s)
	}
	v.rbac.roles = append(v.rbac.roles, role)
}

func (r *clusterRole) aggregates(o *clusterRole) bool {
	return slices.ContainsFunc(r.selectors, func(s labels.Selector) bool { return s.Matches(o.labels) })
}

// clusterWide returns the names of the ClusterRoles whose rules apply in all namespaces: those that a
// ClusterRoleBinding binds, those that nothing in the tree binds, and those that are aggregated to one of them.
func (r *rbac) clusterWide() map[string]bool {
	wide, narrow := map[string]bool{}, map[string]bool{}
	for _, b := range r.bindings {
		switch {
		case b.cluster:
			wide[b.role.Name] = true
		case b.role.Kind == "ClusterRole":
			narrow[b.role.Name] = true
		}
	}
	r.feed(wide)
	r.feed(narrow)
	for _, role := range r.roles {
		if !narrow[role.Name] {
			wide[role.Name] = true
		}
	}
	r.feed(wide)
	return wide
}

// feed extends a set of ClusterRoles with those that are aggregated to them.
func (r *rbac) feed(set map[string]bool) {
	for grown := true; grown; {
		grown = false
		for _, to := range r.roles {
			if len(to.selectors) == 0 || !set[to.Name] {
				continue
			}
			for _, from := range r.roles {
				if !set[from.Name] && to.aggregates(from) {
					set[from.Name], grown = true, true
				}
			}
		}
	}
}

// csvPermissions are permissions in a ClusterServiceVersion.
type csvPermissions struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

// addCSV adds the permissions of a ClusterServiceVersion. Under a global OperatorGroup OLM turns namespaced
// permissions into ClusterRoles with ClusterRoleBindings (OLM: pkg/controller/operators/olm/operatorgroup.go,
// ensureSingletonRBAC).
func (v *view) addCSV(o *entry) {
	var spec struct{ Permissions, ClusterPermissions []csvPermissions }
	var modes []struct {
		Type      string
		Supported bool
	}
	var copiedFrom string
	if !v.field(o.Object, &copiedFrom, "metadata", "labels", olm.LabelCopiedFrom) || copiedFrom != "" {
		return // OLM creates nothing for a copied CSV
	}
	if !v.field(o.Object, &spec, "spec", "install", "spec") || !v.field(o.Object, &modes, "spec", "installModes") {
		return
	}
	promoted := v.globalIn(o.Namespace)
	how := "under the global OperatorGroup of its namespace"
	if len(v.groupsIn[o.Namespace]) == 0 && !promoted {
		how = "under a global OperatorGroup"
		for _, m := range modes {
			promoted = promoted || m.Type == "AllNamespaces" && m.Supported
		}
	}
	for i, p := range spec.ClusterPermissions {
		field := fmt.Sprintf("spec.install.spec.clusterPermissions[%d].rules", i)
		v.rbac.addRules(grant{Object: o.Object, field: field, cluster: true, account: p.ServiceAccountName}, p.Rules)
	}
	for i, p := range spec.Permissions {
		g := grant{
			Object:  o.Object,
			field:   fmt.Sprintf("spec.install.spec.permissions[%d].rules", i),
			cluster: promoted,
			account: p.ServiceAccountName,
		}
		if promoted {
			g.how = how
		}
		v.rbac.addRules(g, p.Rules)
	}
}
