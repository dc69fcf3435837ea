package pin

import (
	"context"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// verify plays all namespaces and ClusterExtensions on the pinned catalogs.
func (b *builder) verify(ctx context.Context, pinned []Catalog) error {
	for _, n := range b.input.Namespaces {
		for _, s := range n.starts {
			if err := n.verify(ctx, b.rename, pinned, s); err != nil {
				return err
			}
		}
	}
	for _, x := range b.input.Extensions {
		sources := x.pinnedSources(pinned)
		for _, from := range append([]string{""}, x.Installed...) {
			if _, err := x.play(sources, from); err != nil {
				return err
			}
		}
	}
	return nil
}

func pinnedOf(pinned []Catalog, s Source) *Catalog {
	i := slices.IndexFunc(pinned, func(c Catalog) bool { return c.Source == s })
	if i < 0 {
		return nil
	}
	return &pinned[i]
}

// pinnedSources returns the pinned catalogs that the ClusterExtension selects: the one of its approved release, which
// it is made to name, and the others if all keep their names.
func (x *Extension) pinnedSources(pinned []Catalog) (list []extension.Source) {
	for _, s := range x.Sources {
		c := pinnedOf(pinned, Source{Name: s.Name})
		if c != nil && (s.Name == x.source.Name || c.To == c.Source) {
			list = append(list, extension.Source{Name: c.To.Name, Priority: s.Priority, Catalog: c.Catalog})
		}
	}
	return list
}

// verify plays the namespace on the pinned catalogs. All Subscriptions, OLM's own too, have the new names of catalogs.
func (n *Namespace) verify(ctx context.Context, rename func(Source) Source, pinned []Catalog, from start) error {
	state := from.state.Clone()
	state.Catalogs = nil
	for _, s := range n.State.Catalogs {
		if c := pinnedOf(pinned, Source{s.Namespace, s.Name}); c != nil {
			s.Name, s.Namespace, s.Catalog, s.Unavailable, s.Fault = c.To.Name, c.To.Namespace, c.Catalog, false, ""
			state.Catalogs = append(state.Catalogs, s)
		}
	}
	for i := range state.Subscriptions {
		s := &state.Subscriptions[i]
		to := rename(Source{s.SourceNamespace, s.Source})
		s.SourceNamespace, s.Source = to.Namespace, to.Name
	}
	walks, err := n.play(ctx, state, from.what)
	if err != nil {
		return err
	}
	had := lists.Set(from.state.CSVs, func(c resolve.CSV) string { return c.Name })
	for _, r := range n.approved {
		had[r.Bundle] = true
	}
	for _, w := range walks {
		for _, name := range w.Installed {
			if !had[name] {
				return n.refuseAll(fmt.Sprintf("from %s, OLM keeps %s, which is not approved", from.what, name),
					"a release on the way requires it: approve the releases on the way one after the other, and pin "+
						"each time")
			}
		}
	}
	return nil
}
