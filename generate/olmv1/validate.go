package olmv1

import (
	"cmp"
	"errors"
	"fmt"
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
	deployments := lists.Map(r.install().DeploymentSpecs,
		func(d v1alpha1.StrategyDeploymentSpec) string { return d.Name })
	crds := lists.Map(r.crds, func(c *bundle.CRD) string { return c.Name })
	owned := lists.Map(r.csv.Spec.CustomResourceDefinitions.Owned,
		func(d v1alpha1.CRDDescription) string { return d.Name })
	for _, x := range []struct {
		behavior string // of the releases that have it; empty: all
		check    func()
	}{
		{versions.Validates, func() {
			r.refuseEach("cluster service version contains duplicate strategy deployment spec '%s'",
				repeated(deployments))
		}},
		{versions.ValidatesNames, func() {
			r.refuseInvalid("invalid cluster service version strategy deployment name '%[1]s': %[2]s", ", ",
				deployments)
		}},
		{versions.Validates, func() {
			r.refuseEach("bundle contains duplicate custom resource definition '%s'", repeated(crds))
		}},
		{versions.Validates, func() {
			r.refuseEach("cluster service definition references owned custom resource definition '%s' not found in "+
				"bundle", lists.Filter(owned, func(name string) bool { return !slices.Contains(crds, name) }))
		}},
		{versions.Validates, func() {
			if r.pkg == "" {
				r.refuse("package name is empty")
			}
		}},
		{versions.ValidatesWebhooks, r.checkConversionModes},
		{versions.ValidatesNames, func() { r.checkWebhookDeployments(deployments) }},
		{versions.ValidatesNames, func() {
			r.eachType(func(t v1alpha1.WebhookAdmissionType, names []string) {
				r.refuseEach("duplicate webhook '%s' of type '%s'", repeated(names), t)
			})
		}},
		{versions.ValidatesNames, func() {
			r.eachType(func(t v1alpha1.WebhookAdmissionType, names []string) {
				r.refuseInvalid("webhook of type '%[3]s' has invalid name '%[1]s': %[2]s", ",", names, t)
			})
		}},
		{versions.ValidatesNames, r.checkConvertedOnce},
		{versions.ValidatesNames, func() { r.checkConvertedOwned(owned) }},
		{versions.ValidatesWebhooks, r.checkWebhookRules}, {"", r.checkKinds},
	} {
		if x.behavior == "" || r.does(x.behavior) {
			x.check()
		}
	}
	return errors.Join(r.faults...)
}

func (r *renderer) refuse(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

func (r *renderer) refuseEach(format string, names []string, of ...any) {
	for _, name := range lists.SortedUnique(names) {
		r.refuse(format, append([]any{name}, of...)...)
	}
}

// refuseInvalid adds a fault for each name that is not an RFC 1123 subdomain, with the reasons.
func (r *renderer) refuseInvalid(format, separator string, names []string, of ...any) {
	for _, name := range lists.SortedUnique(names) {
		if reasons := validation.IsDNS1123Subdomain(name); len(reasons) > 0 {
			slices.Sort(reasons)
			r.refuse(format, append([]any{name, strings.Join(reasons, separator)}, of...)...)
		}
	}
}

func repeated(names []string) []string {
	var out []string
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			out = append(out, name)
		}
	}
	return out
}

func (r *renderer) eachType(f func(t v1alpha1.WebhookAdmissionType, names []string)) {
	webhooks := lists.Group(r.csv.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) v1alpha1.WebhookAdmissionType { return w.Type })
	for _, t := range lists.Keys(webhooks) {
		f(t, lists.Map(webhooks[t], func(w v1alpha1.WebhookDescription) string { return w.GenerateName }))
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

func (r *renderer) checkWebhookDeployments(deployments []string) {
	webhooks := slices.SortedStableFunc(slices.Values(r.csv.Spec.WebhookDefinitions),
		func(a, b v1alpha1.WebhookDescription) int {
			return cmp.Or(cmp.Compare(a.DeploymentName, b.DeploymentName), cmp.Compare(a.Type, b.Type),
				cmp.Compare(a.GenerateName, b.GenerateName))
		})
	for _, w := range webhooks {
		if !slices.Contains(deployments, w.DeploymentName) {
			r.refuse("webhook of type '%s' with name '%s' references non-existent deployment '%s'", w.Type,
				w.GenerateName, w.DeploymentName)
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
	for _, crd := range lists.Keys(webhooks) {
		if names := webhooks[crd]; len(names) > 1 {
			slices.Sort(names)
			r.refuse("conversion webhooks [%s] reference same custom resource definition '%s'",
				strings.Join(names, ","), crd)
		}
	}
}

func (r *renderer) checkConvertedOwned(owned []string) {
	webhooks := r.definitions(v1alpha1.ConversionWebhook)
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
				switch group {
				case "*", olm.GroupV1:
					r.refuse("webhook %q contains forbidden rule: admission webhook rules cannot reference API group "+
						"%q", w.GenerateName, group)
				case "admissionregistration.k8s.io":
					r.checkResources(w.GenerateName, group, rule.Resources)
				}
			}
		}
	}
}

func (r *renderer) checkResources(webhook, group string, resources []string) {
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

func (r *renderer) installModes() []v1alpha1.InstallModeType {
	return slices.Sorted(slices.Values(bundle.SupportedModes(r.csv)))
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
