package config

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// withDependencies returns the RenderConfig with the operators that those of its groups require, if it asks for them,
// and a note about each. They are what OLM's resolver would install beside them in a new namespace.
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
	d.findProviders(ctx)
	for i := range c.Groups {
		if err := d.group(ctx, i, o); err != nil {
			return nil, nil, err
		}
	}
	return &d.all, d.notes, nil
}

type dependencies struct {
	*Config
	places *CatalogPlaces
	all    Config // with what is added
	notes  []Warning

	providers []provider // the operators of the file, and those that are added
}

// provider is an operator with what it provides. A descoped one provides it for every namespace: "If an operator
// provides an API, it provides it for the entire cluster" (plan).
type provider struct {
	*catalog.Bundle
	name, pkg string
	group     int
	profile   generate.Profile
}

// findProviders reads what the operators of the file provide, without those that OLM v0 or v1 installs.
func (d *dependencies) findProviders(ctx context.Context) {
	for i := range d.places.all {
		place := &d.places.all[i]
		b := d.Groups[place.Group].Bundles[place.Index]
		p := provider{place.Bundle, place.Name, "", place.Group, b.withDefaults(d.Defaults).Profile}
		switch {
		case p.profile.HandsOver() || d.places.OfOLMv1(place):
			continue
		case place.Why == nil && place.Package != nil:
			p.pkg = place.Package.Name
		default:
			r := d.places.read(ctx, place)
			if r.err != nil {
				continue // group says so, if it matters
			}
			p.Bundle, p.pkg = r.Bundle, r.pkg
		}
		d.providers = append(d.providers, p)
	}
}

// blocked returns an error if an operator would be added beside one of another namespace that owns an API of it, and
// one of them is descoped: these "can be blocked by issues with scoped operators" (plan).
func (d *dependencies) blocked(group int, p provider) error {
	if p.profile.HandsOver() {
		return nil // OLM resolves as if the others were not there
	}
	ours := p.apis()
	for _, other := range d.providers {
		scoped := other.profile != generate.ProfileDescoped
		if other.group == group || scoped && p.profile != generate.ProfileDescoped {
			continue
		}
		for _, a := range other.apis() {
			if !slices.Contains(ours, a) {
				continue
			}
			what, hint := "is descoped, in a version that does not fit", "choose versions that fit each other"
			if scoped {
				what = "is scoped, which blocks a descoped operator"
				hint = "descope that one too, or take it out of the file"
			}
			return d.errorf(at(group, -1, "bundles"), hint, "%s is required, but %s of namespace %s owns its API %s "+
				"and %s", p.Name, other.name, d.Groups[other.group].Namespace, a, what)
		}
	}
	return nil
}

// apis returns the names of the APIs that an operator provides, without versions, such as Ship.example.com.
func (p provider) apis() (names []string) {
	for _, property := range p.Properties {
		var api struct{ Group, Kind string }
		if property.Type == olm.PropertyGVK && json.Unmarshal(property.Value, &api) == nil {
			names = append(names, api.Kind+"."+api.Group)
		}
	}
	return names
}

func (d *dependencies) group(ctx context.Context, group int, o Options) error {
	state, errs := d.places.State(ctx, group, false)
	if len(errs) > 0 {
		if _, err := d.load(ctx, o); err != nil { // it says where
			return err
		}
		return errs[0]
	}
	handsOver := slices.ContainsFunc(d.Groups[group].Bundles, func(b Bundle) bool {
		return b.withDefaults(d.Defaults).Profile.HandsOver()
	})
	for _, p := range d.providers {
		asked := slices.ContainsFunc(state.Subscriptions,
			func(s resolve.Subscription) bool { return s.Package == p.pkg })
		if p.group != group && p.profile == generate.ProfileDescoped && !handsOver && !asked {
			state.CSVs = append(state.CSVs, resolve.Installed(p.Bundle, p.pkg))
		}
	}
	r, err := resolve.Run(ctx, state, resolve.Options{Steps: 1})
	if err != nil {
		return err
	}
	if r.Failure != nil {
		return d.errorf(at(group, -1, "bundles"),
			"choose other versions, or add what is missing to a catalog of the file",
			"OLM would install nothing: %s", r.Failure.Why())
	}
	for _, step := range r.Steps {
		for i := range step.CSVs {
			p := &step.CSVs[i]
			if !slices.ContainsFunc(state.Subscriptions, func(s resolve.Subscription) bool {
				return s.Package == p.Package
			}) {
				if err := d.add(group, p, step.CSVs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// add adds an operator. It is rendered like the one that requires it.
func (d *dependencies) add(group int, p *resolve.Planned, planned []resolve.Planned) error {
	like := d.Groups[group].Bundles[d.requirer(group, p, planned)]
	b := Bundle{Package: p.Package, Channel: p.Channel, Version: p.Name, Settings: like.Settings,
		Descoped: like.Descoped}
	b.Source = lists.Find(d.places.catalogs, func(c named) bool { return c.name == p.Source }).source
	if like.withDefaults(d.Defaults).Profile == generate.ProfileSubscription {
		s := Subscription{}
		if like.Subscription != nil {
			s = *like.Subscription
		}
		s.Name, s.StartingCSV = "", true
		b.Subscription = &s
	}
	name := p.Package
	if slices.ContainsFunc(d.places.all, func(p CatalogPlace) bool { return p.Name == name }) ||
		slices.ContainsFunc(d.notes, func(n Warning) bool { return n.Operator == name }) {
		b.Name = p.Package + "-" + d.Groups[group].Namespace
		name = b.Name
	}
	g := &d.all.Groups[group]
	g.Bundles = append(slices.Clip(g.Bundles), b)
	d.notes = append(d.notes, Warning{Operator: name, Message: "added: " + p.Name + ", " + p.Reason})
	one := provider{p.Bundle(), name, p.Package, group, like.withDefaults(d.Defaults).Profile}
	if err := d.blocked(group, one); err != nil {
		return err
	}
	d.providers = append(d.providers, one)
	return nil
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
