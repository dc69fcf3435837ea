package permissions

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// What the tests of other packages in this folder look at.
const APIVersion = apiVersion
const Kind = kind

var Schema = schema

// Empty reports whether nobody gains or loses anything.
func (d Diff) Empty() bool { return len(d.Permissions)+len(d.Users) == 0 }

// UsersGain returns the rules that the roles for users gain from objects, in the order of the controller.
func UsersGain(objects []*manifest.Object) (map[string][]rbacv1.PolicyRule, error) {
	v, err := readInventory(objects, "")
	if err != nil {
		return nil, err
	}
	out := map[string][]rbacv1.PolicyRule{}
	for _, name := range UserRoles {
		if rules := v.Role(rbac.ClusterRole(name)).PolicyRules(); len(rules) > 0 {
			out[name] = rules
		}
	}
	return out, nil
}
