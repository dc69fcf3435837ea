package olm

import "github.com/olmgen/olmgen/manifest"

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
