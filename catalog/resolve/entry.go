package resolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
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
	deprecations Deprecation // the messages of the catalog's olm.deprecations
	bundle       *catalog.Bundle
}

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
		case olm.PropertyPackage:
			var v catalog.PackageProperty
			if json.Unmarshal(p.Value, &v) != nil {
				continue
			}
			fact := packageFact{name: v.PackageName}
			if version, err := semver.Parse(v.Version); err == nil {
				fact.version = &version
			}
			f.packages = append(f.packages, fact)
		case olm.PropertyGVK:
			var v catalog.GVK
			if json.Unmarshal(p.Value, &v) == nil {
				f.gvks = append(f.gvks, v)
			}
		case olm.PropertyLabel:
			var v struct {
				Label string `json:"label"`
			}
			if json.Unmarshal(p.Value, &v) == nil {
				f.labels[v.Label] = true
			}
		case olm.PropertyDeprecated:
			f.deprecated = true
		}
	}
	return f
}

// propertiesOf returns the properties of a bundle as OLM keeps them, and writes them into the annotation of the CSV.
// opm repeats required APIs and packages as dependencies, which OLM appends as properties (operator-registry:
// pkg/api/model_to_api.go; OLM: source_registry.go, newOperatorFromBundle).
func propertiesOf(b *catalog.Bundle, pkg string) []catalog.Property {
	var list, dependencies []catalog.Property
	hasPackage := false
	for _, p := range b.Properties {
		switch p.Type {
		case olm.PropertyObject, olm.PropertyCSVMetadata:
			continue
		case olm.PropertyPackage:
			hasPackage = true
		case olm.PropertyGVKRequired:
			dependencies = appendProperty(dependencies, p, &gvkProperty{})
		case olm.PropertyPackageRequired:
			dependencies = appendProperty(dependencies, p, &catalog.PackageRequired{})
		}
		list = append(list, p)
	}
	list = append(list, dependencies...)
	if !hasPackage {
		list = append(list, catalog.PropertyOf(catalog.PackageProperty{PackageName: pkg}))
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

// installedSnapshot returns the CSVs of the namespace as OLM's resolver sees them (OLM: source_csvs.go).
func installedSnapshot(s *State) *snapshot {
	snap := &snapshot{key: sourceKey{existing, s.Namespace}}
	for _, c := range slices.SortedFunc(slices.Values(s.CSVs), func(a, b CSV) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		if c.Copied {
			continue
		}
		if c.fault != nil {
			return &snapshot{key: snap.key, err: c.fault}
		}
		if s.FailForward {
			failed, err := s.chainFails(c)
			if err != nil {
				return &snapshot{key: snap.key, err: err}
			}
			if failed && c.Phase == "Replacing" {
				continue
			}
		}
		snap.entries = append(snap.entries, s.installedEntry(snap.key, c))
	}
	snap.index()
	return snap
}

// chainFails reports whether the CSVs that replace one another end in one that failed (OLM: fail_forward.go).
func (s *State) chainFails(c CSV) (bool, error) {
	seen := map[string]bool{}
	for {
		i := slices.IndexFunc(s.CSVs, func(o CSV) bool { return o.Replaces != "" && o.Replaces == c.Name })
		if i < 0 {
			return c.Phase == "Failed", nil
		}
		if c.Phase != "Replacing" {
			return false, fmt.Errorf("csv %s/%s in phase %s instead of Replacing", s.Namespace, c.Name, c.Phase)
		}
		if seen[c.Name] {
			return false, fmt.Errorf("csv %s/%s has already been seen", s.Namespace, c.Name)
		}
		seen[c.Name] = true
		c = s.CSVs[i]
	}
}

func (s *State) installedEntry(key sourceKey, c CSV) *entry {
	e := &entry{name: c.Name, source: key, version: &semver.Version{}}
	if v, err := semver.Parse(c.Version); err == nil {
		e.version = &v
	}
	for _, sub := range s.Subscriptions {
		if sub.InstalledCSV == c.Name {
			e.subscription = sub.Name
		}
	}
	properties := c.Properties
	if !c.Annotated {
		properties = s.inferred(c, e.version)
	}
	e.facts = readFacts(properties)
	for _, p := range e.packages {
		e.pkg = p.name
	}
	return e
}

// inferred returns the properties of a CSV without annotation: its APIs, and the package of its Subscriptions.
func (s *State) inferred(c CSV, version *semver.Version) []catalog.Property {
	list := apiProperties(olm.PropertyGVK, c.Owned)
	list = append(list, apiProperties(olm.PropertyGVKRequired, c.Required)...)
	var packages []string
	for _, sub := range s.Subscriptions {
		if sub.InstalledCSV == c.Name && sub.Package != "" && !slices.Contains(packages, sub.Package) {
			packages = append(packages, sub.Package)
		}
	}
	if len(packages) != 1 {
		return list
	}
	p := catalog.PackageProperty{PackageName: packages[0]}
	if !version.Equals(semver.Version{}) {
		p.Version = version.String()
	}
	return append(list, catalog.PropertyOf(p))
}

// apiProperties returns properties in OLM's order, which is that of their text.
func apiProperties(kind string, apis []catalog.GVK) []catalog.Property {
	list := lists.Map(lists.Unique(apis), func(a catalog.GVK) catalog.Property {
		value, _ := json.Marshal(gvkProperty{a.Group, a.Version, a.Kind}) // strings: it cannot fail
		return catalog.Property{Type: kind, Value: value}
	})
	slices.SortFunc(list, func(a, b catalog.Property) int { return cmp.Compare(string(a.Value), string(b.Value)) })
	return list
}
