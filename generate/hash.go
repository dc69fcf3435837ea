package generate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/olm"
)

// The hashes of spec section 0.3.

// base62 writes SHA-224 of b as one big number, digits 0-9a-zA-Z.
func base62(b []byte) string { return olm.Digits(b, 62) }

// deepHash is H2: of the JSON with a final newline (OLM: pkg/lib/kubernetes/pkg/util/hash/hash.go).
func deepHash(v any) string { return olm.Hash(v, 62) }

// contentHash is H3: of the JSON without a final newline (OLM: pkg/controller/registry/resolver/rbac.go).
func contentHash(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base62(b)
}

// fnvHex is H4 and H5: FNV-1a, 64 bits, hexadecimal without padding.
func fnvHex(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return fmt.Sprintf("%x", h.Sum64())
}

// RoleName returns the name of the Role, or of the ClusterRole, that OLM makes of an entry of a CSV's permissions.
func RoleName(csv, namespace string, p v1alpha1.StrategyDeploymentPermissions, cluster bool) string {
	if cluster {
		return permissionName(csv, csv, namespace, p)
	}
	return permissionName(csv+"-"+p.ServiceAccountName, csv, "", p)
}

// permissionName returns N1 (namespaced, no namespace in the hash) or N2 (cluster-wide, with it) of spec 4.1.
func permissionName(base, csv, namespace string, p v1alpha1.StrategyDeploymentPermissions) string {
	hash := deepHash(struct {
		Name       string                                 `json:"name"`
		Namespace  string                                 `json:"namespace,omitempty"`
		Permission v1alpha1.StrategyDeploymentPermissions `json:"permission"`
	}{csv, namespace, p})
	// OLM forgets the dash when it compares, so 63 characters of base and hash become a name of 64
	if len(base)+len(hash) > 63 {
		base = base[:62-len(hash)]
	}
	return base + "-" + hash
}

// bindingHash is the label olm.permissions.hash of a binding.
func bindingHash(ref rbacv1.RoleRef, subjects []rbacv1.Subject) string {
	return contentHash(struct {
		RoleRef  rbacv1.RoleRef
		Subjects []rbacv1.Subject
	}{ref, subjects})
}

// GroupRoleName returns the name that OLM gives a ClusterRole of an OperatorGroup; suffix is admin, edit or view (spec
// section 2; OLM: pkg/controller/operators/olm/operatorgroup.go, getClusterRoleName).
func GroupRoleName(namespace, group, suffix string) string {
	hash := base62([]byte(namespace + "/" + group + "/" + suffix))
	const literal = len("olm.og..-")
	if room := 253 - literal - len(suffix) - len(hash); len(group) >= room {
		group = group[:room]
	}
	return strings.Join([]string{"olm.og.", group, ".", suffix, "-", hash}, "")
}
