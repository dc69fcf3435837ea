package olmv1

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// validate runs the validators of the release, in OLM v1's order, and joins what they say (section 13). bundle.Read
// refuses some of it earlier.
func (r *renderer) validate() error {
	var errs []error
	for _, x := range []struct {
		check    func() []error
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
			errs = append(errs, x.check()...)
		}
	}
	return errors.Join(errs...)
}

func (r *renderer) deploymentNames() []string {
	return lists.Map(r.install().DeploymentSpecs, func(d v1alpha1.StrategyDeploymentSpec) string { return d.Name })
}

func (r *renderer) crdNames() []string {
	return lists.Map(r.crds, func(c *bundle.CRD) string { return c.Name })
}

func (r *renderer) ownedNames() []string {
	var names []string
	for _, d := range r.csv.Spec.CustomResourceDefinitions.Owned {
		names = append(names, d.Name)
	}
	return names
}

// errorsOf makes an error of each name: sorted, each name once.
func errorsOf(format string, names []string) []error {
	var errs []error
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		errs = append(errs, fmt.Errorf(format, name))
	}
	return errs
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

func (r *renderer) checkDeploymentsUnique() []error {
	return errorsOf("cluster service version contains duplicate strategy deployment spec '%s'",
		repeated(r.deploymentNames()))
}

func (r *renderer) checkDeploymentNames() []error {
	var errs []error
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.deploymentNames()))) {
		if reasons := nameProblems(name, ", "); reasons != "" {
			errs = append(errs,
				fmt.Errorf("invalid cluster service version strategy deployment name '%s': %s", name, reasons))
		}
	}
	return errs
}

// nameProblems returns why a name is not an RFC 1123 subdomain, or "".
func nameProblems(name, separator string) string {
	return strings.Join(slices.Sorted(slices.Values(validation.IsDNS1123Subdomain(name))), separator)
}

func (r *renderer) checkCRDsUnique() []error {
	return errorsOf("bundle contains duplicate custom resource definition '%s'", repeated(r.crdNames()))
}

func (r *renderer) checkOwnedCRDs() []error {
	shipped := r.crdNames()
	missing := slices.DeleteFunc(r.ownedNames(), func(name string) bool { return slices.Contains(shipped, name) })
	return errorsOf("cluster service definition references owned custom resource definition '%s' not found in bundle",
		missing)
}

func (r *renderer) checkPackage() []error {
	if r.pkg == "" {
		return []error{errors.New("package name is empty")}
	}
	return nil
}

// conversions returns the definitions of conversion webhooks.
func (r *renderer) conversions() []v1alpha1.WebhookDescription {
	var out []v1alpha1.WebhookDescription
	for _, w := range r.csv.Spec.WebhookDefinitions {
		if w.Type == v1alpha1.ConversionWebhook {
			out = append(out, w)
		}
	}
	return out
}

func (r *renderer) checkConversionModes() []error {
	modes := r.installModes()
	if len(modes) == 1 && modes[0] == v1alpha1.InstallModeTypeAllNamespaces {
		return nil
	}
	var errs []error
	for _, w := range r.conversions() {
		errs = append(errs,
			fmt.Errorf("bundle contains conversion webhook %q and supports install modes %v - conversion webhooks "+
				"are only supported for bundles that only support AllNamespaces install mode", w.GenerateName, modes))
	}
	return errs
}

func (r *renderer) checkWebhookDeployments() []error {
	webhooks := slices.Clone(r.csv.Spec.WebhookDefinitions)
	slices.SortStableFunc(webhooks, func(a, b v1alpha1.WebhookDescription) int {
		return cmp.Or(cmp.Compare(a.DeploymentName, b.DeploymentName), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.GenerateName, b.GenerateName))
	})
	deployments := r.deploymentNames()
	var errs []error
	for _, w := range webhooks {
		if !slices.Contains(deployments, w.DeploymentName) {
			errs = append(errs,
				fmt.Errorf("webhook of type '%s' with name '%s' references non-existent deployment '%s'", w.Type,
					w.GenerateName, w.DeploymentName))
		}
	}
	return errs
}

// webhookNames returns the webhooks' names by type.
func (r *renderer) webhookNames() map[v1alpha1.WebhookAdmissionType][]string {
	out := map[v1alpha1.WebhookAdmissionType][]string{}
	for _, w := range r.csv.Spec.WebhookDefinitions {
		out[w.Type] = append(out[w.Type], w.GenerateName)
	}
	return out
}

func (r *renderer) checkWebhooksUnique() []error {
	names := r.webhookNames()
	var errs []error
	for _, t := range slices.Sorted(maps.Keys(names)) {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(repeated(names[t])))) {
			errs = append(errs, fmt.Errorf("duplicate webhook '%s' of type '%s'", name, t))
		}
	}
	return errs
}

func (r *renderer) checkWebhookNames() []error {
	names := r.webhookNames()
	var errs []error
	for _, t := range slices.Sorted(maps.Keys(names)) {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names[t]))) {
			if reasons := nameProblems(name, ","); reasons != "" {
				errs = append(errs, fmt.Errorf("webhook of type '%s' has invalid name '%s': %s", t, name, reasons))
			}
		}
	}
	return errs
}

func (r *renderer) checkConvertedOnce() []error {
	webhooks := map[string][]string{} // by CRD
	for _, w := range r.conversions() {
		for _, crd := range w.ConversionCRDs {
			webhooks[crd] = append(webhooks[crd], w.GenerateName)
		}
	}
	var errs []error
	for _, crd := range slices.Sorted(maps.Keys(webhooks)) {
		if names := webhooks[crd]; len(names) > 1 {
			slices.Sort(names)
			errs = append(errs,
				fmt.Errorf("conversion webhooks [%s] reference same custom resource definition '%s'",
					strings.Join(names, ","), crd))
		}
	}
	return errs
}

func (r *renderer) checkConvertedOwned() []error {
	webhooks, owned := r.conversions(), r.ownedNames()
	slices.SortStableFunc(webhooks,
		func(a, b v1alpha1.WebhookDescription) int { return cmp.Compare(a.GenerateName, b.GenerateName) })
	var errs []error
	for _, w := range webhooks {
		for _, crd := range slices.Sorted(slices.Values(w.ConversionCRDs)) {
			if !slices.Contains(owned, crd) {
				errs = append(errs,
					fmt.Errorf("conversion webhook '%s' references custom resource definition '%s' not owned bundle",
						w.GenerateName, crd))
			}
		}
	}
	return errs
}

// checkWebhookRules keeps webhooks away from everything, from OLM v1's API and from webhook configurations.
func (r *renderer) checkWebhookRules() []error {
	var errs []error
	for _, w := range r.csv.Spec.WebhookDefinitions {
		if w.Type == v1alpha1.ConversionWebhook {
			continue
		}
		for _, rule := range w.Rules {
			for _, group := range rule.APIGroups {
				errs = append(errs, ruleProblems(w.GenerateName, group, rule.Resources)...)
			}
		}
	}
	return errs
}

func ruleProblems(webhook, group string, resources []string) []error {
	switch group {
	case "*", olm.GroupV1:
		return []error{fmt.Errorf("webhook %q contains forbidden rule: admission webhook rules cannot reference API "+
			"group %q", webhook, group)}
	case "admissionregistration.k8s.io":
	default:
		return nil
	}
	var errs []error
	for _, resource := range resources {
		switch strings.ToLower(resource) {
		case "*", "mutatingwebhookconfiguration", "mutatingwebhookconfigurations",
			"validatingwebhookconfiguration", "validatingwebhookconfigurations":
			errs = append(errs,
				fmt.Errorf("webhook %q contains forbidden rule: admission webhook rules cannot reference resource %q "+
					"for API group %q", webhook, resource, group))
		}
	}
	return errs
}

func (r *renderer) checkKinds() []error {
	var errs []error
	for _, o := range r.shipped {
		if scope(o.Kind) == bundle.ScopeUnknown {
			errs = append(errs, fmt.Errorf("unsupported resource %q with kind %q", o.Name, o.Kind))
		} else if ok, source := r.release.Installs(o.Kind); !ok {
			errs = append(errs, fmt.Errorf("unsupported resource %q with kind %q: %s does not know it (%s)", o.Name,
				o.Kind, r.release, source))
		}
	}
	return errs
}
