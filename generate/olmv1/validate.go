package olmv1

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// validate runs the validators of the release, in OLM v1's order, and joins what they say (section 13). bundle.Read
// refuses some of it earlier.
func (r *renderer) validate() error {
	for _, x := range []struct {
		check    func()
		behavior string // of the releases that have it; empty: all
	}{
		{r.checkDeploymentsUnique, versions.Validates}, {r.checkDeploymentNames, versions.ValidatesNames},
		{r.checkCRDsUnique, versions.Validates}, {r.checkOwnedCRDs, versions.Validates},
		{r.checkPackage, versions.Validates}, {r.checkConversionModes, versions.ValidatesWebhooks},
		{r.checkWebhookDeployments, versions.ValidatesNames}, {r.checkWebhooksUnique, versions.ValidatesNames},
		{r.checkWebhookNames, versions.ValidatesNames}, {r.checkConvertedOnce, versions.ValidatesNames},
		{r.checkConvertedOwned, versions.ValidatesNames}, {r.checkWebhookRules, versions.ValidatesWebhooks},
		{r.checkKinds, ""},
	} {
		if x.behavior == "" || r.does(x.behavior) {
			x.check()
		}
	}
	return errors.Join(r.faults...)
}

// refuse adds a fault of the bundle.
func (r *renderer) refuse(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

func (r *renderer) deploymentNames() []string {
	return lists.Map(r.install().DeploymentSpecs, func(d v1alpha1.StrategyDeploymentSpec) string { return d.Name })
}

func (r *renderer) crdNames() []string {
	return lists.Map(r.crds, func(c *bundle.CRD) string { return c.Name })
}

func (r *renderer) ownedNames() []string {
	return lists.Map(r.csv.Spec.CustomResourceDefinitions.Owned,
		func(d v1alpha1.CRDDescription) string { return d.Name })
}

// refuseEach adds a fault for each name.
func (r *renderer) refuseEach(format string, names []string) {
	for _, name := range lists.SortedUnique(names) {
		r.refuse(format, name)
	}
}

// repeated returns the names that occur more than once.
func repeated(names []string) []string {
	var out []string
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			out = append(out, name)
		}
	}
	return out
}

func (r *renderer) checkDeploymentsUnique() {
	r.refuseEach("cluster service version contains duplicate strategy deployment spec '%s'",
		repeated(r.deploymentNames()))
}

func (r *renderer) checkDeploymentNames() {
	for _, name := range lists.SortedUnique(r.deploymentNames()) {
		if reasons := nameProblems(name, ", "); reasons != "" {
			r.refuse("invalid cluster service version strategy deployment name '%s': %s", name, reasons)
		}
	}
}

// nameProblems returns why a name is not an RFC 1123 subdomain, or "".
func nameProblems(name, separator string) string {
	return strings.Join(slices.Sorted(slices.Values(validation.IsDNS1123Subdomain(name))), separator)
}

func (r *renderer) checkCRDsUnique() {
	r.refuseEach("bundle contains duplicate custom resource definition '%s'", repeated(r.crdNames()))
}

func (r *renderer) checkOwnedCRDs() {
	shipped := r.crdNames()
	missing := slices.DeleteFunc(r.ownedNames(), func(name string) bool { return slices.Contains(shipped, name) })
	r.refuseEach("cluster service definition references owned custom resource definition '%s' not found in bundle",
		missing)
}

func (r *renderer) checkPackage() {
	if r.pkg == "" {
		r.refuse("package name is empty")
	}
}

func (r *renderer) checkConversionModes() {
	modes := r.installModes()
	if len(modes) == 1 && modes[0] == v1alpha1.InstallModeTypeAllNamespaces {
		return
	}
	for _, w := range r.definitions(v1alpha1.ConversionWebhook) {
		r.refuse("bundle contains conversion webhook %q and supports install modes %v - conversion webhooks "+
			"are only supported for bundles that only support AllNamespaces install mode", w.GenerateName, modes)
	}
}

func (r *renderer) checkWebhookDeployments() {
	webhooks := slices.Clone(r.csv.Spec.WebhookDefinitions)
	slices.SortStableFunc(webhooks, func(a, b v1alpha1.WebhookDescription) int {
		return cmp.Or(cmp.Compare(a.DeploymentName, b.DeploymentName), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.GenerateName, b.GenerateName))
	})
	deployments := r.deploymentNames()
	for _, w := range webhooks {
		if !slices.Contains(deployments, w.DeploymentName) {
			r.refuse("webhook of type '%s' with name '%s' references non-existent deployment '%s'", w.Type,
				w.GenerateName, w.DeploymentName)
		}
	}
}

// webhookNames returns the webhooks' names by type.
func (r *renderer) webhookNames() map[v1alpha1.WebhookAdmissionType][]string {
	out := map[v1alpha1.WebhookAdmissionType][]string{}
	for _, w := range r.csv.Spec.WebhookDefinitions {
		out[w.Type] = append(out[w.Type], w.GenerateName)
	}
	return out
}

func (r *renderer) checkWebhooksUnique() {
	names := r.webhookNames()
	for _, t := range slices.Sorted(maps.Keys(names)) {
		for _, name := range lists.SortedUnique(repeated(names[t])) {
			r.refuse("duplicate webhook '%s' of type '%s'", name, t)
		}
	}
}

func (r *renderer) checkWebhookNames() {
	names := r.webhookNames()
	for _, t := range slices.Sorted(maps.Keys(names)) {
		for _, name := range lists.SortedUnique(names[t]) {
			if reasons := nameProblems(name, ","); reasons != "" {
				r.refuse("webhook of type '%s' has invalid name '%s': %s", t, name, reasons)
			}
		}
	}
}

func (r *renderer) checkConvertedOnce() {
	webhooks := map[string][]string{} // by CRD
	for _, w := range r.definitions(v1alpha1.ConversionWebhook) {
		for _, crd := range w.ConversionCRDs {
			webhooks[crd] = append(webhooks[crd], w.GenerateName)
		}
	}
	for _, crd := range slices.Sorted(maps.Keys(webhooks)) {
		if names := webhooks[crd]; len(names) > 1 {
			slices.Sort(names)
			r.refuse("conversion webhooks [%s] reference same custom resource definition '%s'",
				strings.Join(names, ","), crd)
		}
	}
}

func (r *renderer) checkConvertedOwned() {
	webhooks, owned := r.definitions(v1alpha1.ConversionWebhook), r.ownedNames()
	slices.SortStableFunc(webhooks,
		func(a, b v1alpha1.WebhookDescription) int { return cmp.Compare(a.GenerateName, b.GenerateName) })
	for _, w := range webhooks {
		for _, crd := range slices.Sorted(slices.Values(w.ConversionCRDs)) {
			if !slices.Contains(owned, crd) {
				r.refuse("conversion webhook '%s' references custom resource definition '%s' not owned bundle",
					w.GenerateName, crd)
			}
		}
	}
}

// checkWebhookRules keeps webhooks away from everything, from OLM v1's API and from webhook configurations.
func (r *renderer) checkWebhookRules() {
	for _, w := range r.csv.Spec.WebhookDefinitions {
		if w.Type == v1alpha1.ConversionWebhook {
			continue
		}
		for _, rule := range w.Rules {
			for _, group := range rule.APIGroups {
				r.checkRule(w.GenerateName, group, rule.Resources)
			}
		}
	}
}

func (r *renderer) checkRule(webhook, group string, resources []string) {
	switch group {
	case "*", olm.GroupV1:
		r.refuse("webhook %q contains forbidden rule: admission webhook rules cannot reference API group %q", webhook,
			group)
		return
	case "admissionregistration.k8s.io":
	default:
		return
	}
	for _, resource := range resources {
		switch strings.ToLower(resource) {
		case "*", "mutatingwebhookconfiguration", "mutatingwebhookconfigurations",
			"validatingwebhookconfiguration", "validatingwebhookconfigurations":
			r.refuse("webhook %q contains forbidden rule: admission webhook rules cannot reference resource %q "+
				"for API group %q", webhook, resource, group)
		}
	}
}

func (r *renderer) checkKinds() {
	for _, o := range r.shipped {
		if scope(o.Kind) == bundle.ScopeUnknown {
			r.refuse("unsupported resource %q with kind %q", o.Name, o.Kind)
		} else if ok, source := r.release.Installs(o.Kind); !ok {
			r.refuse("unsupported resource %q with kind %q: %s does not know it (%s)", o.Name, o.Kind, r.release,
				source)
		}
	}
}

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
