package olmv1

import (
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
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
	return olm.Supports(r.csv.Spec.InstallModes, mode)
}

// checkTargets returns an error if the install modes do not allow the target namespaces (section 3).
func (r *renderer) checkTargets() error {
	targets := lists.SortedUnique(r.TargetNamespaces)
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

// CheckWatchNamespace returns OLM v1's refusal of a ClusterExtension with a watchNamespace in its configuration, or
// without one (section 14; operator-controller: internal/operator-controller/config/config.go,
// rukpak/bundle/registryv1.go); nil if it takes it.
func CheckWatchNamespace(csv *v1alpha1.ClusterServiceVersion, watch, install string) error {
	modes := csv.Spec.InstallModes
	own := olm.Supports(modes, v1alpha1.InstallModeTypeOwnNamespace)
	single := olm.Supports(modes, v1alpha1.InstallModeTypeSingleNamespace)
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("invalid ClusterExtension configuration: invalid configuration: "+format, args...)
	}
	invalid := func(mode, why string) error {
		return refuse(`invalid format for field "watchNamespace": '%s' is not valid %sInstallMode: `+
			"invalid value %q: %s", watch, mode, watch, why)
	}
	switch {
	case watch == "" && (own || single) && !olm.Supports(modes, v1alpha1.InstallModeTypeAllNamespaces):
		return refuse(`required field "watchNamespace" is missing`)
	case watch == "":
		return nil
	case !own && !single:
		return refuse(`unknown field "watchNamespace"`)
	case own && !single && watch != install:
		return invalid("ownNamespace", fmt.Sprintf("must be %q (the namespace where the operator is installed) "+
			"because this operator only supports OwnNamespace install mode", install))
	case single && !own && watch == install:
		return invalid("singleNamespace", fmt.Sprintf("must be different from %q (the install namespace) because this "+
			"operator uses SingleNamespace install mode to watch a different namespace", install))
	}
	return nil
}
