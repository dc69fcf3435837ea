package generate

import (
	"errors"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
)

// All namespaces, as OLM writes a global OperatorGroup's targets.
const allNamespaces = ""

// An empty list of install modes marks a descoped operator (plan, Determining Scope).
const descopedHint = "choose the profile descoped: an operator without install modes is descoped"

const unsupportedOperatorGroup = string(v1alpha1.CSVReasonUnsupportedOperatorGroup)

// targets decides install mode and target namespaces: [""] for AllNamespaces, else the sorted names. What OLM would
// refuse is refused in its words (spec section 8; api: pkg/operators/v1alpha1/clusterserviceversion.go, Supports).
func (o Options) targets(b *bundle.Bundle) (v1alpha1.InstallModeType, []string, error) {
	if o.Profile == ProfileDescoped { // it serves the whole cluster, whatever its install modes say
		return v1alpha1.InstallModeTypeAllNamespaces, []string{allNamespaces}, nil
	}
	supports := supported(b.CSV)
	none := !slices.ContainsFunc(bundle.InstallModes, func(m v1alpha1.InstallModeType) bool { return supports[m] })
	if none && len(supports) > 0 {
		return "", nil, b.CSVObject.Errorf("spec.installModes",
			"the operator supports no install mode: none is marked as supported")
	}
	targets := slices.Sorted(slices.Values(o.TargetNamespaces))
	mode, err := o.mode(supports, targets)
	if e, ok := errors.AsType[*Error](err); ok && len(supports) == 0 && b.CSV.Spec.Version.String() == "0.0.0" {
		e.Tip, e.Options = "get the whole file: without spec.version too, it may be truncated", nil
	}
	if err != nil {
		return "", nil, err
	}
	if err := o.checkTargets(mode, targets); err != nil {
		return "", nil, err
	}
	switch mode {
	case v1alpha1.InstallModeTypeAllNamespaces:
		targets = []string{allNamespaces}
	case v1alpha1.InstallModeTypeOwnNamespace:
		targets = []string{o.Namespace}
	}
	if err := supports.Supports(o.Namespace, targets); err != nil {
		if len(supports) == 0 {
			return "", nil, refuse(descopedHint, "%s: %v", unsupportedOperatorGroup, err).with(option.Profile)
		}
		return "", nil, refuse(supportedHint(supports), "%s: %v", unsupportedOperatorGroup, err).
			with(option.InstallMode, option.TargetNamespaces)
	}
	if len(o.CopiedCSVNamespaces) > 0 && mode != v1alpha1.InstallModeTypeAllNamespaces {
		return "", nil, refuseOption(option.CopiedCSVNamespaces, "leave them out",
			"only AllNamespaces takes namespaces for copied CSVs: with %s each target namespace gets a copy", mode)
	}
	if slices.Contains(o.CopiedCSVNamespaces, o.Namespace) {
		return "", nil, refuseOption(option.CopiedCSVNamespaces, "",
			"the operator's own namespace %q has the CSV itself, no copy of it", o.Namespace)
	}
	return mode, targets, nil
}

func supported(csv *v1alpha1.ClusterServiceVersion) v1alpha1.InstallModeSet {
	supports := v1alpha1.InstallModeSet{}
	for _, m := range csv.Spec.InstallModes {
		supports[m.Type] = m.Supported
	}
	return supports
}

func (o Options) mode(supports v1alpha1.InstallModeSet, targets []string) (v1alpha1.InstallModeType, error) {
	switch {
	case o.InstallMode != "":
		return o.InstallMode, checkWord(option.InstallMode, "install mode", o.InstallMode, bundle.InstallModes)
	case len(targets) == 1 && targets[0] == o.Namespace:
		return v1alpha1.InstallModeTypeOwnNamespace, nil
	case len(targets) == 1:
		return v1alpha1.InstallModeTypeSingleNamespace, nil
	case len(targets) > 1:
		return v1alpha1.InstallModeTypeMultiNamespace, nil
	case o.Selector != nil:
		return "", refuseOption(option.Selector, "name them",
			"no targetNamespaces are matched operatorgroups namespace selection: the namespaces behind a selector "+
				"can't be known offline").with(option.TargetNamespaces)
	case supports[v1alpha1.InstallModeTypeAllNamespaces]:
		return v1alpha1.InstallModeTypeAllNamespaces, nil
	case supports[v1alpha1.InstallModeTypeOwnNamespace]:
		return v1alpha1.InstallModeTypeOwnNamespace, nil
	}
	if len(supports) == 0 {
		return "", refuse(descopedHint, "the operator supports no install mode, because spec.installModes is empty").
			with(option.Profile)
	}
	return "", refuse(supportedHint(supports),
		"the operator supports neither AllNamespaces nor OwnNamespace, so its target namespaces must be given").
		with(option.InstallMode, option.TargetNamespaces)
}

// checkTargets refuses targets that do not fit the install mode that was asked for.
func (o Options) checkTargets(mode v1alpha1.InstallModeType, targets []string) error {
	n, own := len(targets), slices.Contains(targets, o.Namespace)
	switch mode {
	case v1alpha1.InstallModeTypeAllNamespaces:
		if n > 0 || o.Selector != nil {
			return refuseOption(option.InstallMode, "leave out the targets, or choose another install mode",
				"AllNamespaces has no target namespaces and no selector")
		}
	case v1alpha1.InstallModeTypeOwnNamespace:
		if n > 1 || n == 1 && !own {
			return refuseOption(option.TargetNamespaces, "leave it out, or choose another install mode",
				"OwnNamespace has one target namespace, the operator's own, %s",
				o.Namespace).with(option.TargetNamespaces, option.InstallMode)
		}
	case v1alpha1.InstallModeTypeSingleNamespace:
		if n != 1 {
			return refuseOption(option.InstallMode, "name one",
				"SingleNamespace needs exactly one target namespace, not %d", n).with(option.TargetNamespaces)
		}
		if own {
			return refuseOption(option.InstallMode, "use OwnNamespace",
				"SingleNamespace needs a target namespace other than the operator's own, %s", o.Namespace)
		}
	case v1alpha1.InstallModeTypeMultiNamespace:
		if n < 2 {
			return refuseOption(option.InstallMode, "name them",
				"MultiNamespace needs at least two target namespaces, not %d: OLM asks for another install mode then",
				n).with(option.TargetNamespaces)
		}
	}
	return nil
}

func supportedHint(supports v1alpha1.InstallModeSet) string {
	list := lists.Filter(bundle.InstallModes, func(m v1alpha1.InstallModeType) bool { return supports[m] })
	switch {
	case len(list) == 0:
		return "the operator supports no install mode at all"
	case len(list) == 1 && supports[v1alpha1.InstallModeTypeAllNamespaces]:
		return "the operator supports AllNamespaces only: choose it, without target namespaces"
	case len(list) == 1:
		return "the operator supports " + join(list) + " only: choose it, or other target namespaces"
	}
	return "the operator supports " + join(list) + ": choose one of them, or other target namespaces"
}

func join[T ~string](list []T) string { return strings.Join(text.Words(list), ", ") }
