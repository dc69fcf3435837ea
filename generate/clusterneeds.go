package generate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// needs returns a note for each thing that the cluster must have beside the objects of the operator: packages and APIs
// that the bundle requires, and kinds of other projects that it ships. OLM v0 resolves the requirements from its
// catalogs (spec 12.2); without OLM nobody does. What another operator of the same rendering provides is left out.
func needs(b *bundle.Bundle, o Options) []manifest.Message {
	n := needed{bundle: b, options: o}
	for _, p := range slices.Concat(o.Properties, b.CatalogProperties()) {
		n.property(p)
	}
	for _, x := range b.Others {
		n.object(x)
	}
	return n.notes
}

type needed struct {
	bundle  *bundle.Bundle
	options Options
	notes   []manifest.Message
}

// add adds a note, each once.
func (n *needed) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(n.notes, func(m manifest.Message) bool { return m.Msg == text }) {
		n.notes = append(n.notes, manifest.Message{Msg: text})
	}
}

// how returns who installs a requirement.
func (n *needed) how() string {
	if n.options.Profile == ProfileSubscription {
		return "OLM looks for it in its catalogs"
	}
	return "install it in the cluster"
}

// property adds the note for a property that is a requirement (operator-framework/api: pkg/constraints).
func (n *needed) property(p bundle.Property) {
	var v struct {
		PackageName, VersionRange, Version string
		Group, Kind                        string
		FailureMessage, Label              string
	}
	if json.Unmarshal(p.Value, &v) != nil {
		return
	}
	switch p.Type {
	case "olm.package.required":
		versions := cmp.Or(v.VersionRange, v.Version)
		if n.options.neighbors.hasPackage(v.PackageName, versions) {
			return
		}
		if v.PackageName == "" {
			n.add("the operator requires version %s of a package without a name, which its dependencies.yaml "+
				"has to give",
				cmp.Or(versions, "any"))
			return
		}
		n.add("the operator requires the package %s: %s", strings.TrimSpace(v.PackageName+" "+versions), n.how())
	case "olm.gvk.required":
		if v.Kind != "" && v.Version != "" && !n.served(v.Group, v.Version, v.Kind) {
			n.add("the operator requires the API %s.%s.%s: %s", v.Kind, v.Version, v.Group, n.how())
		}
	case "olm.label.required":
		n.add("the operator requires an operator with the label %s: %s", v.Label, n.how())
	case "olm.constraint":
		text := cmp.Or(v.FailureMessage, string(p.Value))
		n.add("the operator requires what its olm.constraint says (%s): %s", text, n.how())
	}
}

// object adds the note for an object whose API is neither of Kubernetes nor of the bundle.
func (n *needed) object(o *manifest.Object) {
	apiVersion := bundle.APIVersionOf(o)
	group, version, ok := strings.Cut(apiVersion, "/")
	if ok && !olm.BuiltinGroup(group) && !n.served(group, version, o.Kind) {
		n.add("the bundle ships objects of kind %s: the cluster must serve %s", o.Kind, apiVersion)
	}
}

// served reports whether the bundle, or an operator that is rendered together with it, provides an API.
func (n *needed) served(group, version, kind string) bool {
	for _, c := range n.bundle.CRDs {
		if c.Group == group && c.ResourceKind == kind && serves(c, version) {
			return true
		}
	}
	for _, d := range n.bundle.CSV.Spec.APIServiceDefinitions.Owned {
		if d.Group == group && d.Version == version && d.Kind == kind {
			return true
		}
	}
	return n.options.neighbors.apis[olm.API{Group: group, Version: version, Kind: kind}.String()]
}

func serves(c *bundle.CRD, version string) bool {
	return slices.ContainsFunc(c.Versions, func(v bundle.CRDVersion) bool { return v.Name == version && v.Served })
}

// hasPackage reports whether one of the operators is of a package, in a range of versions (OLM: semver.ParseRange of
// blang/semver).
func (o neighbors) hasPackage(name, versions string) bool {
	in, err := semver.ParseRange(versions)
	return slices.ContainsFunc(o.packages[name], func(v semver.Version) bool { return err == nil && in(v) })
}
