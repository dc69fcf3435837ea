package olmv1

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

const defaultAccount = "default"

// serviceAccounts makes an account for each name in the CSV's permissions but "default", which Kubernetes makes
// (section 6).
func (r *renderer) serviceAccounts() {
	names := map[string]bool{}
	for _, p := range slices.Concat(r.install().Permissions, r.install().ClusterPermissions) {
		names[account(p.ServiceAccountName)] = true
	}
	if !r.does(versions.OnlyPermittedAccounts) {
		for _, d := range r.install().DeploymentSpecs {
			names[account(d.Spec.Template.Spec.ServiceAccountName)] = true
		}
	}
	delete(names, defaultAccount)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r.typed(&corev1.ServiceAccount{
			TypeMeta:   kind("v1", "ServiceAccount"),
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.Namespace},
		})
	}
}

// account returns the account that a permission means.
func account(name string) string { return cmp.Or(name, defaultAccount) }
