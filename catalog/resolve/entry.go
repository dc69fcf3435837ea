package resolve

import (
	"encoding/json"
	"fmt"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/olm"
)

// entry is a bundle in a channel, or an installed CSV (OLM: cache.Entry).
type entry struct {
	name    string
	updates olm.Edges
	version *semver.Version

	source         sourceKey
	pkg, channel   string
	defaultChannel bool
	subscription   string // that names an installed CSV

	*facts
	deprecations deprecations
	bundle       *catalog.Bundle
}

// deprecations are the messages of the catalog's olm.deprecations.
type deprecations struct{ pkg, channel, bundle string }

func (e *entry) id() string { return fmt.Sprintf("%s/%s/%s", e.source, e.channel, e.name) }

// facts are the properties of an entry, read once.
type facts struct {
	properties []catalog.Property
	packages   []packageFact
	gvks       []catalog.GVK
	labels     map[string]bool
	deprecated bool
	cel        []map[string]any // the properties as CEL sees them; made when a rule asks for them

	requirements []requirement
	unreadable   error // why a requirement cannot be read
	converted    bool
}

type packageFact struct {
	name    string
	version *semver.Version
}

// readFacts reads properties. As in OLM, a property that cannot be read counts for nothing.
func readFacts(properties []catalog.Property) *facts {
	f := &facts{properties: properties, labels: map[string]bool{}}
	for _, p := range properties {
		switch p.Type {
		case catalog.TypePackage:
			var v catalog.PackageProperty
			if json.Unmarshal(p.Value, &v) != nil {
				continue
			}
			fact := packageFact{name: v.PackageName}
			if version, err := semver.Parse(v.Version); err == nil {
				fact.version = &version
			}
			f.packages = append(f.packages, fact)
		case catalog.TypeGVK:
			var v catalog.GVK
			if json.Unmarshal(p.Value, &v) == nil {
				f.gvks = append(f.gvks, v)
			}
		case catalog.TypeLabel:
			var v struct {
				Label string `json:"label"`
			}
			if json.Unmarshal(p.Value, &v) == nil {
				f.labels[v.Label] = true
			}
		case catalog.TypeDeprecated:
			f.deprecated = true
		}
	}
	return f
}

// celProperties returns the properties as OLM hands them to a CEL rule (OLM: cache/predicates.go, celPredicate.Test).
func (f *facts) celProperties() []map[string]any {
	if f.cel == nil {
		f.cel = make([]map[string]any, len(f.properties))
		for i, p := range f.properties {
			var v any
			if json.Unmarshal(p.Value, &v) == nil {
				f.cel[i] = map[string]any{"type": p.Type, "value": v}
			}
		}
	}
	return f.cel
}

// propertiesOf returns the properties of a bundle as OLM keeps them, and writes them into the annotation of the CSV.
// opm repeats required APIs and packages as dependencies, which OLM appends as properties (operator-registry:
// pkg/api/model_to_api.go; OLM: source_registry.go, newOperatorFromBundle).
func propertiesOf(b *catalog.Bundle, pkg string) []catalog.Property {
	var list, dependencies []catalog.Property
	hasPackage := false
	for _, p := range b.Properties {
		switch p.Type {
		case catalog.TypeObject, catalog.TypeCSVMetadata:
			continue
		case catalog.TypePackage:
			hasPackage = true
		case catalog.TypeGVKRequired:
			dependencies = appendProperty(dependencies, p, &gvkProperty{})
		case catalog.TypePackageRequired:
			dependencies = appendProperty(dependencies, p, &catalog.PackageRequired{})
		}
		list = append(list, p)
	}
	list = append(list, dependencies...)
	if !hasPackage {
		value, _ := json.Marshal(catalog.PackageProperty{PackageName: pkg}) // two strings: it cannot fail
		list = append(list, catalog.Property{Type: catalog.TypePackage, Value: value})
	}
	return list
}

// gvkProperty is the value of a property in OLM's order of fields.
type gvkProperty struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func appendProperty(list []catalog.Property, p catalog.Property, into any) []catalog.Property {
	if json.Unmarshal(p.Value, into) != nil {
		return list // opm refuses the catalog
	}
	value, _ := json.Marshal(into) // texts: it cannot fail
	return append(list, catalog.Property{Type: p.Type, Value: value})
}
