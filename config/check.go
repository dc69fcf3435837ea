package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/output/transform"
)

// check refuses what can be seen to be wrong without looking at a bundle.
func (c *Config) check() error {
	if c.Output.Directory == output.Stdout {
		return c.errorf("output.directory", "leave it out for stdout", "%q is no directory", c.Output.Directory)
	}
	if len(c.Groups) == 0 {
		return c.errorf("groups", "list a group with its namespace and bundles", "there is no group, so nothing to render")
	}
	if err := c.checkChoices(); err != nil {
		return err
	}
	if err := c.checkMetadata(); err != nil {
		return err
	}
	for i, p := range c.Patches {
		if err := p.Check(); err != nil {
			return c.errorf(fmt.Sprintf("patches[%d]", i), "", "%v", err)
		}
	}
	namespaces := map[string]int{}
	for i, g := range c.Groups {
		if err := c.checkGroup(i, g); err != nil {
			return err
		}
		if j, ok := namespaces[g.Namespace]; ok {
			return c.errorf(at(i, -1, "namespace"), "put the bundles of both into one group",
				"namespace %q has a group already, groups[%d]: OLM takes two OperatorGroups in one namespace for an error", g.Namespace, j)
		}
		namespaces[g.Namespace] = i
	}
	return c.checkUses()
}

func (c *Config) checkGroup(i int, g Group) error {
	if g.Namespace == "" {
		return c.errorf(at(i, -1, "namespace"), "say in which namespace the operators run", "is missing")
	}
	if len(g.Bundles) == 0 {
		return c.errorf(at(i, -1, "bundles"), "list a bundle with its source", "the group has no operator")
	}
	for j, b := range g.Bundles {
		if err := c.checkBundle(i, j, b); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkBundle(i, j int, b Bundle) error {
	switch {
	case b.Source == "":
		return c.errorf(at(i, j, "source"), "give a directory, an archive, an image as oci://... or catalog:...", "is missing")
	case source.IsStdin(b.Source):
		return c.errorf(at(i, j, "source"), "name a file", "%q: a declaration cannot read standard input", b.Source)
	case strings.ContainsAny(b.Name, "/\\") || strings.HasPrefix(b.Name, "."):
		return c.errorf(at(i, j, "name"), "", "%q cannot be the name of a directory", b.Name)
	}
	settings := b.over(c.Defaults)
	if issuer := settings.Certs.Issuer; issuer != nil && (issuer.Kind == "" || issuer.Name == "") {
		return c.errorf(at(i, j, "certs.issuer"), "write it as {kind: ClusterIssuer, name: ...}", "needs kind and name")
	}
	for _, part := range []struct {
		given   bool
		field   string
		profile generate.Profile
	}{
		{b.Descoped != nil, "descoped", generate.ProfileDescoped},
		{b.Subscription != nil, "subscription", generate.ProfileSubscription},
		{b.ClusterExtension != nil, "clusterExtension", generate.ProfileClusterExtension},
	} {
		if part.given && settings.Profile != part.profile {
			return c.errorf(at(i, j, part.field), fmt.Sprintf("add profile: %s, or leave it out", part.profile), "means nothing with another profile than %s", part.profile)
		}
	}
	for k, p := range b.Patches {
		if err := p.Check(); err != nil {
			return c.errorf(at(i, j, fmt.Sprintf("patches[%d]", k)), "", "%v", err)
		}
	}
	return nil
}

var (
	issuerKinds = []string{"Issuer", "ClusterIssuer"}
	approvals   = []v1alpha1.Approval{v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual}
	policies    = []generate.UpgradePolicy{generate.UpgradeCatalogProvided, generate.UpgradeSelfCertified}
	helmCRDs    = []helm.CRDs{helm.CRDsTemplates, helm.CRDsDirectory}
)

// choice is a field that takes one of a few words.
type choice struct {
	field, got string
	allowed    []string
}

func (c *Config) checkChoices() error {
	choices := append(c.Defaults.choices("defaults"), choice{"output.layout", string(c.Output.Layout), words(output.Layouts)},
		choice{"output.helmCRDs", string(c.Output.HelmCRDs), words(helmCRDs)},
		choice{"annotations", string(c.Annotations), words(transform.Engines)})
	for i, g := range c.Groups {
		choices = append(choices, choice{at(i, -1, "installMode"), string(g.InstallMode), words(bundle.InstallModes)})
		for j, b := range g.Bundles {
			choices = append(choices, b.choices(at(i, j, ""))...)
			if d := b.Descoped; d != nil {
				choices = append(choices, choice{at(i, j, "descoped.split"), string(d.Split), words(generate.Splits)})
				for k, role := range d.AggregateTo {
					choices = append(choices, choice{at(i, j, fmt.Sprintf("descoped.aggregateTo[%d]", k)), string(role), words(generate.DefaultRoles)})
				}
			}
			if s := b.Subscription; s != nil {
				choices = append(choices, choice{at(i, j, "subscription.approval"), string(s.Approval), words(approvals)})
			}
			if e := b.ClusterExtension; e != nil {
				choices = append(choices, choice{at(i, j, "clusterExtension.upgradeConstraintPolicy"), string(e.UpgradeConstraintPolicy), words(policies)})
			}
		}
	}
	for _, x := range choices {
		if x.got == "" || slices.Contains(x.allowed, x.got) {
			continue
		}
		hint := "choose one of " + strings.Join(x.allowed, ", ")
		if near := manifest.Nearest(x.got, x.allowed); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return c.errorf(x.field, hint, "%q is not known", x.got)
	}
	return nil
}

func (s Settings) choices(at string) []choice {
	choices := []choice{
		{at + ".profile", string(s.Profile), words(generate.Profiles)},
		{at + ".names", string(s.Names), words(generate.AllNames)},
		{at + ".copiedCSVs", string(s.CopiedCSVs), words(generate.AllCopiedCSVs)},
		{at + ".certs.provider", string(s.Certs.Provider), words(generate.AllCerts)},
	}
	if s.Certs.Issuer != nil {
		choices = append(choices, choice{at + ".certs.issuer.kind", s.Certs.Issuer.Kind, issuerKinds})
	}
	return choices
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

// checkMetadata refuses labels and annotations that the API server would refuse, and those that mean something to OLM.
func (c *Config) checkMetadata() error {
	errs := metav1validation.ValidateLabels(c.CommonLabels, field.NewPath("commonLabels"))
	errs = append(errs, validation.ValidateAnnotations(c.CommonAnnotations, field.NewPath("commonAnnotations"))...)
	for _, e := range errs {
		return c.errorf(e.Field, "", "%s", strings.TrimPrefix(e.Error(), e.Field+": "))
	}
	for _, f := range []struct {
		name string
		keys map[string]string
	}{{"commonLabels", c.CommonLabels}, {"commonAnnotations", c.CommonAnnotations}} {
		for _, key := range slices.Sorted(maps.Keys(f.keys)) {
			if ofOLM(key) {
				return c.errorf(f.name, "take another key", "%q is OLM's own", key)
			}
			if prefix, _, ok := strings.Cut(key, "/"); ok && slices.Contains(reserved, prefix) {
				return c.errorf(f.name, "patch the objects that are to have it", "%q means something on single objects, and harm on all", key)
			}
		}
	}
	for i, g := range c.Groups {
		if g.Selector == nil {
			continue
		}
		path := field.NewPath("selector")
		for _, e := range metav1validation.ValidateLabelSelector(g.Selector, metav1validation.LabelSelectorValidationOptions{}, path) {
			return c.errorf(at(i, -1, e.Field), "", "%s", strings.TrimPrefix(e.Error(), e.Field+": "))
		}
	}
	return nil
}

// reserved are the prefixes of keys that mean something to who reads them on single objects, and harm on all.
var reserved = []string{"kubernetes.io", "rbac.authorization.k8s.io", "cert-manager.io", "service.beta.openshift.io"}

func ofOLM(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return strings.HasPrefix(key, "olm.") || strings.HasSuffix("."+prefix, ".operators.coreos.com")
}

// in gives a path relative to the directory of the file.
func in(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
