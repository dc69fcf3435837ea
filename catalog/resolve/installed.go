package resolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
)

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
	list := apiProperties(catalog.TypeGVK, c.Owned)
	list = append(list, apiProperties(catalog.TypeGVKRequired, c.Required)...)
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
	value, _ := json.Marshal(p) // strings: it cannot fail
	return append(list, catalog.Property{Type: catalog.TypePackage, Value: value})
}

// apiProperties returns properties in OLM's order, which is that of their text.
func apiProperties(kind string, apis []catalog.GVK) []catalog.Property {
	var list []catalog.Property
	seen := map[catalog.GVK]bool{}
	for _, a := range apis {
		if seen[a] {
			continue
		}
		seen[a] = true
		value, _ := json.Marshal(gvkProperty{a.Group, a.Version, a.Kind}) // strings: it cannot fail
		list = append(list, catalog.Property{Type: kind, Value: value})
	}
	slices.SortFunc(list, func(a, b catalog.Property) int { return cmp.Compare(string(a.Value), string(b.Value)) })
	return list
}
