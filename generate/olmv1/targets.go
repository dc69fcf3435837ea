package olmv1

import (
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

// installModes returns the supported install modes, sorted.
func (r *renderer) installModes() []v1alpha1.InstallModeType {
	modes := []v1alpha1.InstallModeType{}
	for _, m := range r.csv.Spec.InstallModes {
		if m.Supported {
			modes = append(modes, m.Type)
		}
	}
	slices.Sort(modes)
	return slices.Compact(modes)
}

func (r *renderer) supports(mode v1alpha1.InstallModeType) bool {
	return slices.Contains(r.installModes(), mode)
}

// checkTargets returns an error if the install modes do not allow the target namespaces (section 3).
func (r *renderer) checkTargets() error {
	targets := slices.Compact(slices.Sorted(slices.Values(r.TargetNamespaces)))
	const (
		own    = v1alpha1.InstallModeTypeOwnNamespace
		single = v1alpha1.InstallModeTypeSingleNamespace
		multi  = v1alpha1.InstallModeTypeMultiNamespace
		all    = v1alpha1.InstallModeTypeAllNamespaces
	)
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("supported install modes %v do not support %s", r.installModes(),
			fmt.Sprintf(format, args...))
	}
	hasOwn, ownNeeded := slices.Contains(targets, r.Namespace), r.does(versions.NeedsOwnNamespace)
	hasAll := slices.Contains(targets, metav1.NamespaceAll)
	needed, refusal := multi, refuse("target namespaces %v", r.TargetNamespaces)
	switch {
	case len(targets) == 0 && r.supports(multi):
		return errors.New("at least one target namespace must be specified")
	case len(targets) == 0:
		return errors.New("exactly one target namespace must be specified")
	case len(targets) == 1 && hasAll:
		needed, refusal = all, refuse("targeting all namespaces")
	case len(targets) == 1 && hasOwn && (ownNeeded || !r.supports(single)):
		needed, refusal = own, refuse("targeting own namespace")
	case len(targets) == 1:
		needed = single
	case hasOwn && ownNeeded && !r.supports(own):
		return refuse("targeting own namespace")
	case hasAll:
		return refusal
	}
	if !r.supports(needed) {
		return refusal
	}
	return nil
}

// unique returns the list without repetitions, in its order.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
