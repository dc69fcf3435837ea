package permissions

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/manifest"
)

const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

// UserRoles are the roles for users that clusters have by default: those of Kubernetes, and OpenShift's cluster-reader.
var UserRoles = []string{"admin", "edit", "view", "cluster-reader"}

// userRoles are those roles without the rules that they have before: which ones they aggregate, and their own labels
// (Kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go; OpenShift: openshift-apiserver,
// pkg/bootstrappolicy/policy.go).
func userRoles() []*role {
	selects := func(names ...string) (out []metav1.LabelSelector) {
		for _, n := range names {
			out = append(out, metav1.LabelSelector{MatchLabels: map[string]string{aggregateTo + n: "true"}})
		}
		return out
	}
	made := func(name string, to string, selectors []metav1.LabelSelector) *role {
		r := &role{key: roleKey{"ClusterRole", "", name}, selectors: selectors}
		if to != "" {
			r.labels = labels.Set{aggregateTo + to: "true"}
		}
		return r
	}
	return []*role{
		made("admin", "", selects("admin")),
		made("edit", "admin", selects("edit")),
		made("view", "edit", selects("view")),
		made("cluster-reader", "", selects("cluster-reader", "view")),
	}
}

// aggregate fills the ClusterRoles that aggregate others, as the controller of Kubernetes does: for each selector the
// roles in the order of their names, each rule once (pkg/controller/clusterroleaggregation).
func (w *world) aggregate() {
	for _, r := range userRoles() {
		if w.roles[r.key] == nil {
			w.roles[r.key] = r
		}
	}
	var clusterRoles, aggregated []*role
	for _, key := range slices.SortedFunc(maps.Keys(w.roles), roleKey.compare) {
		r := w.roles[key]
		if key.kind != "ClusterRole" {
			continue
		}
		clusterRoles = append(clusterRoles, r)
		if len(r.selectors) > 0 {
			aggregated = append(aggregated, r)
		}
	}
	for range len(aggregated) + 1 { // a chain has one role more in each round
		changed := false
		for _, r := range aggregated {
			rules := r.gather(clusterRoles)
			changed = changed || len(rules) != len(r.rules)
			r.rules = rules
		}
		if !changed {
			return
		}
	}
}

func (k roleKey) compare(o roleKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}

func (r *role) gather(clusterRoles []*role) []ruleAt {
	var out []ruleAt
	seen := map[string]bool{}
	for _, s := range r.selectors {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil {
			continue // the API server refuses the role
		}
		for _, other := range clusterRoles {
			if other == r || !selector.Matches(other.labels) {
				continue
			}
			for _, rule := range other.rules {
				if key := ruleKey(rule.PolicyRule); !seen[key] {
					seen[key] = true
					out = append(out, rule)
				}
			}
		}
	}
	return out
}

// known are the roles of every cluster whose rules are the same in each (Kubernetes: bootstrappolicy/policy.go and
// namespace_policy.go).
func known(key roleKey) *role {
	r := &role{key: key}
	var rules []rbacv1.PolicyRule
	switch key {
	case roleKey{"ClusterRole", "", "cluster-admin"}:
		rules = []rbacv1.PolicyRule{{Verbs: []string{all}, APIGroups: []string{all}, Resources: []string{all}},
			{Verbs: []string{all}, NonResourceURLs: []string{all}}}
	case roleKey{"ClusterRole", "", "system:auth-delegator"}:
		rules = []rbacv1.PolicyRule{
			{Verbs: []string{"create"}, APIGroups: []string{groupAuthn}, Resources: []string{"tokenreviews"}},
			{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"},
				Resources: []string{"subjectaccessreviews"}}}
	case roleKey{"Role", "kube-system", "extension-apiserver-authentication-reader"}:
		rules = []rbacv1.PolicyRule{{Verbs: reading, APIGroups: core, Resources: []string{"configmaps"},
			ResourceNames: []string{"extension-apiserver-authentication"}}}
	default:
		return nil
	}
	for i, rule := range rules {
		r.rules = append(r.rules, ruleAt{rule, r, i})
	}
	return r
}

// UsersGain returns the rules that the roles for users gain from objects, in the order in which the controller writes
// them.
func UsersGain(objects []*manifest.Object) (map[string][]rbacv1.PolicyRule, error) {
	w, err := newWorld(objects, "")
	if err != nil {
		return nil, err
	}
	out := map[string][]rbacv1.PolicyRule{}
	for _, name := range UserRoles {
		for _, rule := range w.roles[roleKey{"ClusterRole", "", name}].rules {
			out[name] = append(out[name], rule.PolicyRule)
		}
	}
	return out, nil
}
