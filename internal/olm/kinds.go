package olm

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// Kind is a kind of objects that an API server serves.
type Kind struct {
	Group, Name string // Name is empty of a resource that only rules have
	Plural      string
	Namespaced  bool
}

// The known kinds, a line for each: resource, kind and scope. kinds-kubernetes.txt is made by TestKinds.
var (
	//go:embed kinds-kubernetes.txt
	kubernetesKinds string
	//go:embed kinds-openshift.txt
	openShiftKinds string
	//go:embed kinds-others.txt
	otherKinds string
)

// kindTable has the known kinds, by API group.
type kindTable struct {
	groups  map[string][]Kind
	builtin map[string]bool
}

var kinds = sync.OnceValue(func() kindTable {
	// The group extensions is of Kubernetes before 1.22.
	t := kindTable{groups: map[string][]Kind{}, builtin: map[string]bool{"extensions": true}}
	for _, k := range readKinds(kubernetesKinds) {
		t.groups[k.Group] = append(t.groups[k.Group], k)
		t.builtin[k.Group] = k.Group != Group
	}
	for _, k := range readKinds(openShiftKinds + otherKinds) {
		t.groups[k.Group] = append(t.groups[k.Group], k)
	}
	return t
})

func readKinds(table string) (all []Kind) {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); f[0] != "#" {
			plural, group, _ := strings.Cut(f[0], ".")
			k := Kind{Group: group, Name: strings.Trim(f[1], "-"), Plural: plural, Namespaced: f[2] == "Namespaced"}
			all = append(all, k)
		}
	}
	return all
}

// KindOf returns a kind of Kubernetes, OLM, OpenShift, or of what is common beside operators.
func KindOf(group, name string) (Kind, bool) {
	k := lists.Find(kinds().groups[group], func(k Kind) bool { return k.Name == name })
	return k, k.Name != ""
}

// Kinds returns the known kinds of an API group, with the resources that only rules have.
func Kinds(group string) []Kind { return slices.Clip(kinds().groups[group]) }

// GroupsWith returns the known API groups that have a resource.
func GroupsWith(plural string) []string {
	return lists.Filter(lists.Keys(kinds().groups), func(group string) bool {
		return slices.ContainsFunc(kinds().groups[group], func(k Kind) bool { return k.Plural == plural })
	})
}

// NamespacedResource reports whether a resource, which a rule of RBAC names by its plural, is namespaced, and whether
// that is known. A resource of a known group that is not in the table, such as one of an old version, is namespaced,
// unless nothing of the group is.
func NamespacedResource(group, plural string) (namespaced, known bool) {
	if k := lists.Find(kinds().groups[group], func(k Kind) bool { return k.Plural == plural }); k.Plural != "" {
		return k.Namespaced, true
	}
	return !AllScoped(group, false), len(kinds().groups[group]) > 0
}

// AllScoped reports whether all kinds of an API group are namespaced, or all are cluster-scoped, as far as it is known.
func AllScoped(group string, namespaced bool) bool {
	list := kinds().groups[group]
	return len(list) > 0 && !slices.ContainsFunc(list, func(k Kind) bool { return k.Namespaced != namespaced })
}

// BuiltinGroup reports whether every Kubernetes API server serves an API group.
func BuiltinGroup(group string) bool { return kinds().builtin[group] }

// Resource returns the name of the kind's resource, as kubectl takes it.
func (k Kind) Resource() string {
	return strings.TrimSuffix(k.Plural+"."+k.Group, ".")
}

// Leaves reports whether OLM leaves an object that a bundle ships in the cluster when the ClusterServiceVersion is
// gone. It makes the ClusterServiceVersion the owner of Secrets, ConfigMaps and Services, and of other objects in a
// namespace. ServiceAccounts, roles and bindings have no owner, and neither has what is in no namespace (OLM:
// pkg/controller/operators/catalog/operator.go, ExecutePlan, which goes by the name of the kind alone).
func Leaves(o *manifest.Object) bool {
	switch o.Kind {
	case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return true
	}
	kind, known := KindOf(o.Group(), o.Kind)
	return known && !kind.Namespaced
}

// immutable lists, by group and kind, the fields that the API server does not let change (Kubernetes:
// pkg/apis/*/validation/validation.go, functions Validate...Update).
var immutable = map[string][]string{
	"apps/Deployment":                       {"spec.selector"},
	"apps/DaemonSet":                        {"spec.selector"},
	"apps/ReplicaSet":                       {"spec.selector"},
	"apps/StatefulSet":                      {"spec.selector"},
	"/Secret":                               {"type"},
	"/Service":                              {"spec.clusterIP"},
	"rbac.authorization.k8s.io/RoleBinding": {"roleRef"},
	"rbac.authorization.k8s.io/ClusterRoleBinding": {"roleRef"},
	"apiextensions.k8s.io/CustomResourceDefinition": {"spec.scope", "spec.group", "spec.names.plural",
		"spec.names.kind"},
	"scheduling.k8s.io/PriorityClass": {"value", "preemptionPolicy"},
	// by x-kubernetes-validations of the CRD of each release
	GroupV1 + "/ClusterExtension": {"spec.source.catalog.packageName", "spec.namespace", "spec.serviceAccount.name"},
}

// ImmutableFields returns the fields of a kind that the API server does not let change.
func ImmutableFields(group, kind string) []string { return immutable[group+"/"+kind] }

// Immutable reports whether a field of a kind stands at or below one that the API server does not let change.
func Immutable(group, kind, field string) bool {
	return slices.ContainsFunc(ImmutableFields(group, kind), func(f string) bool {
		return strings.HasPrefix(field+".", f+".")
	})
}
