package olmv1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

const defaultAccount = "default"

// serviceAccounts makes an account for each name in the CSV's permissions but "default", which Kubernetes makes
// (section 6).
func (r *renderer) serviceAccounts() ([]Object, error) {
	names := map[string]bool{}
	for _, p := range r.install().Permissions {
		names[account(p.ServiceAccountName)] = true
	}
	for _, p := range r.install().ClusterPermissions {
		names[account(p.ServiceAccountName)] = true
	}
	if !r.does(versions.OnlyPermittedAccounts) {
		for _, d := range r.install().DeploymentSpecs {
			names[account(d.Spec.Template.Spec.ServiceAccountName)] = true
		}
	}
	delete(names, defaultAccount)
	var out []Object
	for _, name := range slices.Sorted(maps.Keys(names)) {
		o, err := typed(&corev1.ServiceAccount{
			TypeMeta:   kind("v1", "ServiceAccount"),
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.Namespace},
		})
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// account returns the account that a permission means.
func account(name string) string {
	if name == "" {
		return defaultAccount
	}
	return name
}
