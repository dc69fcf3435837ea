package config

import (
	"context"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/generate"
)

// withDependencies returns the RenderConfig with the operators that those of its groups require, if it asks for them,
// and a note about each. They are what OLM's resolver would install beside the operators in a new namespace: the result
// depends on the file and its catalogs only.
func (c *Config) withDependencies(ctx context.Context, o Options) (*Config, []Warning, error) {
	if !c.Resolve {
		return c, nil, nil
	}
	places, err := c.InCatalogs(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if len(places.catalogs) == 0 {
		return nil, nil, c.errorf("resolve", "take a bundle from a catalog, or leave this out",
			"needs a catalog, and no bundle has the source catalog:DIR")
	}
	d := &dependencies{Config: c, places: places}
	d.all = *c
	d.all.Groups = slices.Clone(c.Groups)
	for i := range c.Groups {
		if err := d.group(ctx, i, o); err != nil {
			return nil, nil, err
		}
	}
	return &d.all, d.notes, nil
}

// dependencies adds operators to a RenderConfig.
type dependencies struct {
	*Config
	places *CatalogPlaces
	all    Config // with what is added
	notes  []Warning
}

// group adds what the operators of a group require.
func (d *dependencies) group(ctx context.Context, group int, o Options) error {
	state, errs := d.places.State(ctx, group, false)
	if len(errs) > 0 {
		if _, err := d.load(ctx, o); err != nil { // it says where
			return err
		}
		return errs[0]
	}
	r, err := resolve.Run(ctx, state, resolve.Options{Steps: 1})
	if err != nil {
		return err
	}
	if r.Failure != nil {
		text := r.Failure.Text
		if len(r.Failure.Conflict) > 0 {
			text = strings.Join(r.Failure.Conflict, "; ")
		}
		return d.errorf(at(group, -1, "bundles"),
			"choose other versions, or add what is missing to a catalog of the file",
			"OLM would install nothing: %s", text)
	}
	for _, step := range r.Steps {
		for i := range step.CSVs {
			p := &step.CSVs[i]
			if !slices.ContainsFunc(state.Subscriptions, func(s resolve.Subscription) bool {
				return s.Package == p.Package
			}) {
				d.add(group, p, step.CSVs)
			}
		}
	}
	return nil
}

// add adds an operator. It is rendered like the one that requires it.
func (d *dependencies) add(group int, p *resolve.Planned, planned []resolve.Planned) {
	like := d.Groups[group].Bundles[d.requirer(group, p, planned)]
	b := Bundle{Package: p.Package, Channel: p.Channel, Version: p.Name, Settings: like.Settings,
		Descoped: like.Descoped}
	for _, c := range d.places.catalogs {
		if c.name == p.Source {
			b.Source = c.source
		}
	}
	if like.withDefaults(d.Defaults).Profile == generate.ProfileSubscription {
		s := Subscription{}
		if like.Subscription != nil {
			s = *like.Subscription
		}
		s.Name, s.StartingCSV = "", true
		b.Subscription = &s
	}
	name := p.Package
	if d.named(name) {
		b.Name = p.Package + "-" + d.Groups[group].Namespace
		name = b.Name
	}
	g := &d.all.Groups[group]
	g.Bundles = append(slices.Clip(g.Bundles), b)
	d.notes = append(d.notes, Warning{Operator: name, Message: "added: " + p.Name + ", " + p.Reason})
}

// requirer returns the operator of the file that needs a bundle, directly or not.
func (d *dependencies) requirer(group int, p *resolve.Planned, planned []resolve.Planned) int {
	csv := p.RequiredBy
	for range planned { // at most as many steps up
		for _, place := range d.places.all {
			if place.Group == group && place.Why == nil && place.Bundle.Name == csv {
				return place.Index
			}
		}
		i := slices.IndexFunc(planned, func(o resolve.Planned) bool { return o.Name == csv })
		if i < 0 {
			break
		}
		csv = planned[i].RequiredBy
	}
	return 0
}

// named reports whether an operator has a name already.
func (d *dependencies) named(name string) bool {
	for _, place := range d.places.all {
		if place.Name == name {
			return true
		}
	}
	for _, n := range d.notes {
		if n.Operator == name {
			return true
		}
	}
	return false
}
