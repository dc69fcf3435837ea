package rbac

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ClusterAdmin is the name of a ClusterRole of every cluster.
const ClusterAdmin = "cluster-admin"

// DefaultRole is a role that clusters have by default, a line of roles-*.jsonl, with the rules of one release.
type DefaultRole struct {
	Key
	Labels     map[string]string   `json:",omitempty"`
	Rules      []rbacv1.PolicyRule `json:",omitempty"`
	Aggregates bool                `json:",omitempty"`
}

// The files are written by e2e/authorizer, from Kubernetes' own code and from a checkout of OpenShift's.
var (
	//go:embed roles-kubernetes.jsonl
	rolesOfKubernetes string
	//go:embed roles-openshift.jsonl
	rolesOfOpenShift string
)

// exact are the default roles that have had the same rules for many releases, and that nothing is aggregated to.
var exact = []Key{ClusterRole(ClusterAdmin), ClusterRole("system:auth-delegator"),
	{KindRole, "kube-system", "extension-apiserver-authentication-reader"}}

// defaultRoles returns the roles that clusters have by default. Of those of both, Kubernetes' count. What other
// releases and operators have of a role that aggregates others, or of one of OpenShift, is not known.
var defaultRoles = sync.OnceValue(func() map[Key]*Role {
	out := map[Key]*Role{}
	for _, file := range []string{rolesOfOpenShift, rolesOfKubernetes} {
		for line := range strings.Lines(file) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			var d DefaultRole
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				panic("a role of the program itself: " + err.Error())
			}
			r := &Role{Key: d.Key, Labels: labels.Set(d.Labels), AtLeast: !slices.Contains(exact, d.Key)}
			if d.Aggregates || file == rolesOfOpenShift {
				r.Selectors = []labels.Selector{labels.Nothing()}
			}
			r.setRules(d.Rules)
			out[r.Key] = r
		}
	}
	return out
})

// IsDefaultRole reports whether clusters have a ClusterRole by default, those of Kubernetes or of OpenShift.
func IsDefaultRole(name string) bool { return defaultRoles()[ClusterRole(name)] != nil }

// sccRoles is how the names of the ClusterRoles begin by which OpenShift lets pods use one of its
// SecurityContextConstraints (openshift/cluster-kube-apiserver-operator: bindata/assets/kube-apiserver).
const sccRoles = "system:openshift:scc:"

// defaultRole returns a role that clusters have by default, or nil.
func defaultRole(k Key) *Role {
	if r := defaultRoles()[k]; r != nil {
		return r
	}
	name, found := strings.CutPrefix(k.Name, sccRoles)
	if k.Kind != KindClusterRole || !found {
		return nil
	}
	r := &Role{Key: k}
	r.setRules([]rbacv1.PolicyRule{{Verbs: []string{"use"}, APIGroups: []string{"security.openshift.io"},
		Resources: []string{"securitycontextconstraints"}, ResourceNames: []string{name}}})
	return r
}

// defaultsBeside returns the default ClusterRoles of which the objects have none of the same name, sorted.
func defaultsBeside(objects []*Role) []*Role {
	of := maps.Clone(defaultRoles())
	for _, r := range objects {
		if r.Object != nil {
			delete(of, r.Key)
		}
	}
	maps.DeleteFunc(of, func(k Key, _ *Role) bool { return k.Kind != KindClusterRole })
	return slices.SortedFunc(maps.Values(of), func(a, b *Role) int { return a.Compare(b.Key) })
}
