package predict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// judgeSources reports CatalogSources that OLM cannot use or that say nothing of their content, and Subscriptions to
// catalogs that the OperatorHub disables.
func (c *prediction) judgeSources(declared []resolve.Source) {
	for _, s := range declared {
		o := c.Source(s.Namespace, s.Name)
		switch {
		case o == nil:
		case s.Fault != "":
			c.note(ruleSource, findings.Error, o, "spec.sourceType", s.Fault,
				"repair or delete it: OLM resolves nothing in a namespace that sees it")
		case o.Has("spec", "address"):
			address, _ := o.Get("spec", "address")
			c.note(ruleAddress, findings.Note, o, "spec.address",
				fmt.Sprintf("OLM asks %v and starts nothing: the tree does not say what it serves", address),
				"name an image, or give its content")
		}
	}
	for _, s := range c.Subscriptions {
		if hub := c.Disabled(s.SourceNamespace, s.Source); hub != nil {
			c.note(ruleDisabled, findings.Error, s.Object, "spec.source",
				fmt.Sprintf("there is no CatalogSource %s/%s: %s (%s:%d) disables it", s.SourceNamespace, s.Source,
					hub.Identity(), hub.File, hub.LineOf("spec")),
				"enable it in spec.sources of the OperatorHub, or name another catalog")
		}
	}
}

// findUnknown finds the CatalogSources without known content: those of the tree, those that the distribution has
// without Git, and those that Subscriptions name where nobody says which ones there are.
func (r *resolution) findUnknown() {
	if r.catalogs.Others != nil {
		return
	}
	partial := r.catalogs.Partial || len(r.catalogs.Sources) == 0
	list := slices.Clone(r.declared)
	if r.openShift {
		for _, name := range olm.DefaultCatalogSources {
			list = append(list, resolve.Source{Name: name, Namespace: olm.NamespaceMarketplace})
		}
	}
	for _, s := range r.Subscriptions {
		if partial || olm.IsDefaultCatalogSource(s.SourceNamespace, s.Source) {
			list = append(list, resolve.Source{Name: s.Source, Namespace: s.SourceNamespace})
		}
	}
	byName := func(s resolve.Source) [2]string { return [2]string{s.Namespace, s.Name} }
	for _, same := range lists.Groups(list, byName) {
		s := same[0]
		if r.source(s.Name, s.Namespace) < 0 && r.Disabled(s.Namespace, s.Name) == nil {
			r.hidden = append(r.hidden, s)
		}
	}
}

// unknown returns why nothing is known about the catalog of a Subscription, or "".
func (r *resolution) unknown(s *cluster.Subscription) string {
	content, i := r.catalogs.Others, r.source(s.Source, s.SourceNamespace)
	if i >= 0 {
		content = r.catalogs.Sources[i].Catalog
	}
	switch {
	case content != nil:
		if err := content.Missing(s.Package); err != nil {
			return fmt.Sprintf("a release of package %s cannot be read: %v", s.Package, err)
		}
	case i >= 0, r.Disabled(s.SourceNamespace, s.Source) != nil:
	case len(r.catalogs.Sources) == 0:
		return "there is no catalog"
	case slices.ContainsFunc(r.hidden, resolve.Source{Name: s.Source, Namespace: s.SourceNamespace}.Same):
		return fmt.Sprintf("the content of CatalogSource %s/%s is not known", s.SourceNamespace, s.Source)
	}
	return ""
}

func (r *resolution) source(name, namespace string) int {
	return slices.IndexFunc(r.catalogs.Sources, resolve.Source{Name: name, Namespace: namespace}.Same)
}

// ofSubscription returns the CSV of a Subscription, if it is one of these: the one that its status names, or one
// without a cluster's status that its spec names, that has OLM's label for the package, or the name of the package.
func ofSubscription(s *cluster.Subscription, csvs []*csv) *csv {
	label := olm.Group + "/" + s.Package + "." + s.Namespace
	return cmp.Or(lists.Find(csvs, func(v *csv) bool { return v.Name == s.InstalledCSV }),
		lists.Find(csvs, func(v *csv) bool {
			_, labelled := v.Labels[label]
			return !v.observed && (labelled || v.Name == s.StartingCSV || bundle.BaseName(v.Name, "") == s.Package)
		}))
}

// where returns the object that findings about a CSV refer to.
func (v *csv) where() *manifest.Object {
	if v.sub != nil {
		return v.sub.Object
	}
	return v.Object
}
