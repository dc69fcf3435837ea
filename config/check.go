package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/source"
)

// check refuses what can be seen to be wrong without looking at a bundle.
func (c *Config) check() error {
	if c.Output.Directory == output.Stdout {
		return c.errorf("output.directory", "leave it out for stdout", "%q is not a directory", c.Output.Directory)
	}
	if len(c.Groups) == 0 {
		return c.errorf("groups", "list a group with its namespace and bundles",
			"there is no group, so nothing to render")
	}
	for _, check := range []func() error{c.checkWords, c.checkMetadata, c.checkGroups, c.checkUses, c.checkOptions} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkGroups() error {
	if _, err := c.cluster(); err != nil {
		return err
	}
	for i, p := range c.Patches {
		if err := p.Check(); err != nil {
			return c.errorf(fmt.Sprintf("patches[%d]", i), "", "%v", err)
		}
	}
	namespaces := map[string]int{}
	for i, g := range c.Groups {
		if g.Namespace == "" && !c.flags() {
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
		if j, ok := namespaces[g.Namespace]; ok {
			return c.errorf(at(i, -1, "namespace"), "put the bundles of both into one group",
				"namespace %q has a group already, groups[%d]: two OperatorGroups in one namespace are an error of OLM",
				g.Namespace, j)
		}
		namespaces[g.Namespace] = i
	}
	return nil
}

func (c *Config) checkOptions() error {
	if c.flags() {
		if err := c.checkHelm(c.Output.Layout, c.Output.HelmCRDs); err != nil {
			return err
		}
	}
	for i, g := range c.Groups {
		for j, b := range g.Bundles {
			if b.Installed != nil {
				if _, err := b.Installed.properties(); err != nil {
					return c.errorf(at(i, j, "installed.properties"),
						"copy the annotation operatorframework.io/properties of the CSV", "is not JSON: %v", err)
				}
			}
			if list := at(i, j, "descoped.bindNamespaces"); c.has(list) && len(b.Descoped.BindNamespaces) == 0 {
				return c.errorf(list, "name a namespace; bindNone binds the operator nowhere", "is empty")
			}
			var bad *generate.Error
			if err := c.options(i, j).CheckDescoped(); errors.As(err,
				&bad) && b.withDefaults(c.Defaults).Profile == generate.ProfileDescoped {
				return c.explain(c.blamed(i, j, bad), i, j, bad)
			}
		}
	}
	return nil
}

func (c *Config) checkHelm(layout output.Layout, crds helm.CRDs) error {
	if layout = cmp.Or(layout, output.LayoutFlat); crds != "" && layout != output.LayoutHelm {
		return c.errorf("output.helmCRDs", "leave it out: it is for layout helm", "has no effect with layout %s",
			layout)
	}
	return nil
}

func (c *Config) checkBundle(i, j int, b Bundle) error {
	switch {
	case b.Source == "":
		return c.errorf(at(i, j, "source"), "give a directory, an archive, an image as oci://... or catalog:...",
			"is missing")
	case source.IsStdin(b.Source) && !c.flags():
		return c.errorf(at(i, j, "source"), "name a file", "%q: a RenderConfig cannot read standard input", b.Source)
	case strings.ContainsRune(b.Source, 0):
		return c.errorf(at(i, j, "source"), "write the path without it", "%q has a NUL byte", b.Source)
	case source.RefuseCredentials(b.Source) != nil:
		err := source.RefuseCredentials(b.Source)
		return c.errorf(at(i, j, "source"), manifest.HintOf(err), "%v", err)
	case strings.ContainsAny(b.Name, "/\\") || strings.HasPrefix(b.Name, "."):
		return c.errorf(at(i, j, "name"), "", "%q cannot be the name of a directory", b.Name)
	}
	settings := b.withDefaults(c.Defaults)
	if issuer := settings.Certs.Issuer; issuer != nil && (issuer.Kind == "" || issuer.Name == "") {
		return c.errorf(at(i, j, "certs.issuer"), "write it as {kind: ClusterIssuer, name: ...}", "needs kind and name")
	}
	for k, p := range b.Patches {
		if err := p.Check(); err != nil {
			return c.errorf(at(i, j, fmt.Sprintf("patches[%d]", k)), "", "%v", err)
		}
	}
	return nil
}

func (c *Config) checkWords() error {
	return visit(c.document, declared, "", func(path string, o Option, value any) error {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for k, x := range list {
			word, isText := x.(string)
			if o.Words == nil || !isText || word == "" || slices.Contains(o.Words, word) {
				continue
			}
			if isList {
				path = fmt.Sprintf("%s[%d]", path, k)
			}
			unknown := text.Unknown("value", word, o.Words)
			return c.errorf(path, unknown.Hint(), "%v", unknown)
		}
		return nil
	})
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
			if olm.OwnKey(key) {
				return c.errorf(f.name, "take another key", "OLM sets %q itself", key)
			}
			if prefix, _, ok := strings.Cut(key, "/"); ok && slices.Contains(reserved, prefix) {
				return c.errorf(f.name, "patch the objects that need it",
					"%q has a meaning on single objects, and does harm on all", key)
			}
		}
	}
	for i, g := range c.Groups {
		if g.Selector == nil {
			continue
		}
		path := field.NewPath("selector")
		for _, e := range metav1validation.ValidateLabelSelector(g.Selector,
			metav1validation.LabelSelectorValidationOptions{}, path) {
			return c.errorf(at(i, -1, e.Field), "", "%s", strings.TrimPrefix(e.Error(), e.Field+": "))
		}
	}
	return nil
}

// reserved are the prefixes of keys that tools read on single objects. On all objects they do harm.
var reserved = []string{"kubernetes.io", "rbac.authorization.k8s.io", "cert-manager.io", "service.beta.openshift.io"}

// in returns a path relative to the directory of the file.
func in(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// inputFields are the fields of a RenderConfig that say which releases are in the cluster.
var inputFields = map[fit.Input]string{fit.InputOLM: "olmVersion", fit.InputOpenShift: "openshiftVersion",
	fit.InputKube: "kubeVersion"}

func (c *Config) cluster() (fit.Cluster, error) {
	cluster, err := fit.GivenBy(c.OLMVersion, c.OpenShiftVersion, c.KubeVersion).Read()
	if bad, ok := errors.AsType[*fit.InputError](err); ok {
		return cluster, c.errorf(inputFields[bad.Input], manifest.HintOf(err), "%v", err)
	}
	return cluster, err
}

func (c *Config) checkKube(all []*loaded, objects []generate.Shared) error {
	releases, err := c.cluster()
	cluster := releases.Kubernetes()
	if err != nil || cluster == nil {
		return err
	}
	field, release := "kubeVersion", c.KubeVersion
	if release == "" {
		field, release = "openshiftVersion", fmt.Sprintf("1.%d (OpenShift %s)", cluster.Minor, c.OpenShiftVersion)
	}
	for _, l := range all {
		unmet, err := releases.MinKube(l.Bundle.CSV.Spec.MinKubeVersion)
		if err == nil && unmet != "" { // what is no version is for "validate": not every profile asks
			return c.errorf(field, "choose an older version of the operator, or a newer cluster",
				"%s: spec.minKubeVersion: %s", l.Bundle.CSV.Name, unmet)
		}
	}
	for _, o := range objects {
		why := versions.Unserved(o.APIVersion, o.Kind, cluster.Minor)
		if why == "" {
			continue
		}
		err := c.errorf(field, "patch the object, or ask the operator's vendor for another version of it",
			"%s %s: Kubernetes %s %s, and the cluster has %s", o.Kind, o.Name, why, o.APIVersion, release)
		if o.Kind == "CustomResourceDefinition" && o.APIVersion == "apiextensions.k8s.io/v1beta1" {
			err.Tip = WithOptionNames("convert it", []manifest.Option{option.ConvertCRDs}, c.namer(-1, -1))
		}
		return err
	}
	return nil
}

// checkUses refuses options that have no effect: no profile uses them, of those of the bundle, the group or the file.
func (c *Config) checkUses() error {
	var everywhere []generate.Profile
	var certs []Certs
	var unused []*manifest.Error
	groups, _ := c.document["groups"].([]any)
	for i, g := range c.Groups {
		var profiles []generate.Profile
		document, _ := groups[i].(map[string]any)
		bundles, _ := document["bundles"].([]any)
		for j, b := range g.Bundles {
			settings := b.withDefaults(c.Defaults)
			certs = append(certs, settings.Certs)
			profiles = append(profiles, settings.Profile)
			fields, _ := bundles[j].(map[string]any)
			unused = append(unused, c.unused(fields, bundleFields, at(i, j, ""), settings.Profile)...)
		}
		unused = append(unused, c.unused(document, without(groupFields, "bundles"), at(i, -1, ""), profiles...)...)
		everywhere = append(everywhere, profiles...)
	}
	unused = append(unused, c.unused(c.document, without(declared, "groups"), "", everywhere...)...)
	if len(unused) > 1 {
		unused[0].Tip += "; the same goes for " + text.FirstOf(5, lists.Map(unused[1:],
			func(e *manifest.Error) string { return e.Field }))
	}
	if len(unused) > 0 {
		return unused[0]
	}
	return c.checkDefaultCerts(everywhere, certs)
}

func without(options []Option, name string) []Option {
	return slices.DeleteFunc(slices.Clone(options), func(o Option) bool { return o.Name == name })
}

// unused returns an error for each outermost field that no profile uses.
func (c *Config) unused(document map[string]any, options []Option, place string,
	profiles ...generate.Profile) (list []*manifest.Error) {
	last := ""
	_ = visit(document, options, place, func(path string, o Option, value any) error {
		isSet := value != nil && value != false // in a file; a flag that is given is always set
		if c.flags() {
			isSet = c.given[path]
		}
		inside := strings.HasPrefix(path, last+".") || strings.HasPrefix(path, last+"[")
		if slices.ContainsFunc(profiles, o.Uses) || !isSet || inside {
			return nil
		}
		last = path
		given := lists.Filter(generate.Profiles, func(p generate.Profile) bool { return slices.Contains(profiles, p) })
		list = append(list, c.errorf(path, "leave it out: it is for profile "+text.Or(o.Profiles),
			"has no effect with profile %s", text.Or(given)))
		return nil
	})
	return list
}

// checkDefaultCerts refuses certificate settings in the defaults that no bundle uses, with its profile and provider.
func (c *Config) checkDefaultCerts(profiles []generate.Profile, certs []Certs) error {
	const field = defaultsField + ".certs."
	takes := func(p generate.Profile) bool { return p.TakesCerts(c.Defaults.Certs.Provider) }
	if !slices.ContainsFunc(profiles, takes) && c.has(field+"provider") {
		return c.errorf(field+"provider", "choose cert-manager, service-ca or none",
			"OLM v1 has no certificate provider %q", c.Defaults.Certs.Provider)
	}
	for _, part := range []struct {
		name     string
		provider generate.Certs
	}{{"issuer", generate.CertsManager}, {"secret", generate.CertsUser}, {"caBundleFile", generate.CertsUser}} {
		other := c.Defaults.Certs.Provider != "" && c.Defaults.Certs.Provider != part.provider
		has := func(s Certs) bool { return s.Provider == part.provider }
		if c.has(field+part.name) && (other || !slices.ContainsFunc(certs, has)) {
			return c.errorf(field+part.name, "choose it with certs.provider, or leave this out",
				"is for certificates of %s only, and no bundle uses it", part.provider)
		}
	}
	return nil
}

// has reports whether the RenderConfig has a field, such as groups[0].name; false is nothing.
func (c *Config) has(field string) bool {
	v, _ := decoded.At(c.document, decoded.Segments(field))
	return v != nil && v != false
}

// blamed returns the place of what is wrong with an operator: the field that an error blames, else the bundle.
func (c *Config) blamed(group, index int, err *generate.Error) string {
	if path, has := c.pathOf(err.Option, group, index); has {
		return path
	}
	if err.Option == option.OperatorGroup { // it has the name of its namespace then
		return at(group, -1, "namespace")
	}
	return at(group, index, "")
}
