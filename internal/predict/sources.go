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
