package resolvercase

import (
	"context"
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
)

// Opened are the catalogs of a case, as olmgen reads them.
type Opened struct {
	Refusals map[string]string // why opm does not serve a catalog

	catalogs map[string]*catalog.Catalog
	sources  []resolve.Source
}

// ReadOpened reads the question of a case, and its catalogs.
func ReadOpened(dir string) (*Case, *Opened, error) {
	c, err := Read(dir)
	if err != nil {
		return nil, nil, err
	}
	o, err := c.Open(dir)
	return c, o, err
}

// Open reads the catalogs of a case.
func (c *Case) Open(dir string) (*Opened, error) {
	o := &Opened{Refusals: map[string]string{}, catalogs: map[string]*catalog.Catalog{}}
	for _, each := range c.Catalogs {
		s := resolve.Source{Name: each.Name, Namespace: each.Namespace, Priority: each.Priority,
			Unavailable: each.Unavailable}
		if !each.Unavailable {
			read, err := catalog.Read(context.Background(), CatalogDir(dir, each.Name), catalog.Options{})
			if err != nil {
				return nil, err
			}
			s.Catalog, o.catalogs[each.Name] = read, read
			if r := read.Refusal(); r != nil {
				o.Refusals[each.Name] = r.Error()
				s.Unavailable = !each.Unvalidated
			}
		}
		o.sources = append(o.sources, s)
	}
	return o, nil
}

// State returns the namespace that a scenario asks about.
func (c *Case) State(s *Scenario, o *Opened) (*resolve.State, error) {
	count, group := c.Groups()
	state := &resolve.State{Namespace: c.Namespace, GlobalNamespace: c.GlobalCatalogNamespace, OperatorGroups: count,
		ExcludeGlobal: group.ExcludeGlobalCatalogs, Catalogs: o.sources,
		FailForward: group.UpgradeStrategy == string(operatorsv1.UpgradeStrategyUnsafeFailForward)}
	for _, sub := range s.Subscriptions {
		state.Subscriptions = append(state.Subscriptions, sub.state())
	}
	for _, each := range s.Installed {
		csv, err := each.state(o.catalogs[each.From])
		if err != nil {
			return nil, err
		}
		state.CSVs = append(state.CSVs, csv)
	}
	return state, nil
}

func (s *Subscription) state() resolve.Subscription {
	out := resolve.Subscription{Name: s.Name, Package: s.Package, Channel: s.Channel, Source: s.Source,
		SourceNamespace: s.SourceNamespace, StartingCSV: s.StartingCSV, InstalledCSV: s.InstalledCSV,
		CurrentCSV: s.CurrentCSV}
	if s.CurrentCSV == "" {
		out.CurrentCSV = s.InstalledCSV
	}
	return out
}

func (c *CSV) state(from *catalog.Catalog) (resolve.CSV, error) {
	out := resolve.CSV{Name: c.Name, Properties: c.Properties, Annotated: c.Properties != nil, Owned: gvks(c.Provided),
		Required: gvks(c.Required)}
	if c.From != "" {
		b, pkg := findBundle(from, c.Name)
		if b == nil {
			return out, fmt.Errorf("catalog %s has no bundle %s", c.From, c.Name)
		}
		out = resolve.Installed(b, pkg)
	}
	if c.Version != "" {
		out.Version = c.Version
	}
	out.Replaces, out.Phase, out.Copied = c.Replaces, c.Phase, c.CopiedFrom != ""
	if out.Phase == "" {
		out.Phase = "Succeeded"
	}
	return out, nil
}

func gvks(list []GVK) []catalog.GVK {
	var out []catalog.GVK
	for _, g := range list {
		out = append(out, catalog.GVK{Group: g.Group, Version: g.Version, Kind: g.Kind})
	}
	return out
}

func findBundle(c *catalog.Catalog, name string) (*catalog.Bundle, string) {
	if c == nil {
		return nil, ""
	}
	for _, pkg := range c.Names() {
		if b := c.Packages[pkg].Bundle(name); b != nil {
			return b, pkg
		}
	}
	return nil, ""
}
