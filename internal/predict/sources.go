package predict

import (
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// judgeSources reports CatalogSources that OLM cannot use, and Subscriptions to catalogs that the OperatorHub disables.
func (c *cluster) judgeSources(declared []resolve.Source) {
	for _, s := range declared {
		o := c.catalogSource(s.Name, s.Namespace)
		if s.Fault == "" || o == nil {
			continue
		}
		c.note(ruleSource, findings.Error, o, "spec.sourceType", s.Fault,
			"repair or delete it: OLM resolves nothing in a namespace that sees it")
	}
	for _, s := range c.subs {
		if hub := c.disabled(s.source, s.sourceNamespace); hub != nil {
			c.note(ruleDisabled, findings.Error, s.Object, "spec.source",
				fmt.Sprintf("there is no CatalogSource %s/%s: %s (%s:%d) disables it", s.sourceNamespace, s.source,
					hub.Identity(), hub.File, hub.LineOf("spec")),
				"enable it in spec.sources of the OperatorHub, or name another catalog")
		}
	}
}

func (c *cluster) catalogSource(name, namespace string) *manifest.Object {
	i := slices.IndexFunc(c.sources, func(o *manifest.Object) bool {
		return o.Name == name && o.Namespace == namespace
	})
	if i < 0 {
		return nil
	}
	return c.sources[i]
}

// hub has the fields of an OperatorHub that decide which default CatalogSources there are (openshift/api:
// config/v1/types_operatorhub.go).
type hub struct {
	object *manifest.Object
	spec   struct {
		DisableAll bool `json:"disableAllDefaultSources"`
		Sources    []struct {
			Name     string `json:"name"`
			Disabled bool   `json:"disabled"`
		} `json:"sources"`
	}
}

func (c *cluster) addHub(o *manifest.Object) *manifest.Error {
	if o.Name != "cluster" {
		return nil // the marketplace operator reads no other
	}
	h := &hub{object: o}
	err := field(o, &h.spec, "spec")
	c.hub = h
	return err
}

// disabled returns the OperatorHub that disables a CatalogSource, or nil. spec.sources overrides
// disableAllDefaultSources. A CatalogSource of that name in the tree is not OpenShift's.
func (c *cluster) disabled(name, namespace string) *manifest.Object {
	if c.hub == nil || !olm.IsDefaultCatalogSource(namespace, name) ||
		c.catalogSource(name, namespace) != nil {
		return nil
	}
	disabled := c.hub.spec.DisableAll
	for _, s := range c.hub.spec.Sources {
		if s.Name == name {
			disabled = s.Disabled
		}
	}
	if !disabled {
		return nil
	}
	return c.hub.object
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
	for _, s := range r.cluster.subs {
		if partial || olm.IsDefaultCatalogSource(s.sourceNamespace, s.source) {
			list = append(list, resolve.Source{Name: s.source, Namespace: s.sourceNamespace})
		}
	}
	for _, s := range list {
		if r.source(s.Name, s.Namespace) < 0 && r.disabled(s.Name, s.Namespace) == nil &&
			!slices.ContainsFunc(r.hidden, s.Same) {
			r.hidden = append(r.hidden, s)
		}
	}
}

// unknown returns why nothing is known about the catalog of a Subscription, or "".
func (r *resolution) unknown(s *subscription) string {
	content, i := r.catalogs.Others, r.source(s.source, s.sourceNamespace)
	if i >= 0 {
		content = r.catalogs.Sources[i].Catalog
	}
	if content != nil {
		if err := content.Missing(s.pkg); err != nil {
			return fmt.Sprintf("a release of package %s cannot be read: %v", s.pkg, err)
		}
	}
	switch {
	case content != nil, i >= 0,
		r.disabled(s.source, s.sourceNamespace) != nil:
		return ""
	case len(r.catalogs.Sources) == 0:
		return "there is no catalog"
	case slices.ContainsFunc(r.hidden, resolve.Source{Name: s.source, Namespace: s.sourceNamespace}.Same):
		return fmt.Sprintf("the content of CatalogSource %s/%s is not known", s.sourceNamespace, s.source)
	}
	return ""
}

func (r *resolution) source(name, namespace string) int {
	return slices.IndexFunc(r.catalogs.Sources, resolve.Source{Name: name, Namespace: namespace}.Same)
}
