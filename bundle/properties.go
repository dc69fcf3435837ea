package bundle

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

// DeclaredProperties returns the properties that the author of the bundle wrote: those of metadata/properties.yaml, and
// those of the annotation olm.properties of the CSV. An annotation that is not JSON has none.
func (b *Bundle) DeclaredProperties() []Property {
	var annotated []Property
	if json.Unmarshal([]byte(b.CSV.Annotations[olm.AnnotationBundleProperties]), &annotated) != nil {
		annotated = nil
	}
	return slices.Concat(b.Properties, annotated)
}

// CatalogProperties returns the properties that a catalog has for the bundle, as opm render makes them: what the bundle
// is, provides and requires (spec 5.1 and 12.2).
func (b *Bundle) CatalogProperties() []Property {
	list := b.DeclaredProperties()
	add := func(kind string, value any) {
		raw, err := json.Marshal(value)
		if err == nil {
			list = append(list, Property{Type: kind, Value: raw})
		}
	}
	add("olm.package", map[string]string{"packageName": b.Package, "version": b.CSV.Spec.Version.String()})
	for _, a := range b.providedAPIs() {
		add("olm.gvk", gvk(a))
	}
	for _, a := range olm.RequiredAPIs(&b.CSV.Spec) {
		add("olm.gvk.required", gvk(a))
	}
	for _, d := range b.Dependencies {
		list = append(list, requirement(d))
	}
	slices.SortStableFunc(list, func(a, b Property) int {
		return strings.Compare(a.Type+"\x00"+string(a.Value), b.Type+"\x00"+string(b.Value))
	})
	return slices.CompactFunc(list, Property.Equal)
}

// Equal reports whether two properties say the same, wherever they stand.
func (p Property) Equal(o Property) bool {
	return p.Type == o.Type && string(p.Value) == string(o.Value)
}

func gvk(a olm.API) map[string]string {
	return map[string]string{"group": a.Group, "version": a.Version, "kind": a.Kind}
}

func (b *Bundle) providedAPIs() []olm.API {
	var shipped []olm.API
	for _, c := range b.CRDs {
		for _, v := range c.Versions {
			shipped = append(shipped,
				olm.API{Kind: c.ResourceKind, Version: v.Name, Group: c.Group, Plural: c.Plural, CRD: c.Name})
		}
	}
	return olm.CatalogAPIs(&b.CSV.Spec, shipped)
}

// requirement turns an entry of dependencies.yaml into the property that a catalog has for it.
func requirement(d Property) Property {
	switch d.Type {
	case "olm.gvk", "olm.label":
		d.Type += ".required"
	case "olm.package":
		var v struct {
			PackageName string `json:"packageName"`
			Version     string `json:"version"`
		}
		if json.Unmarshal(d.Value, &v) == nil {
			if raw, err := json.Marshal(map[string]string{"packageName": v.PackageName,
				"versionRange": v.Version}); err == nil {
				return Property{Type: "olm.package.required", Value: raw}
			}
		}
	}
	return d
}
