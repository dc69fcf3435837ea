package cluster

import (
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Hub has the fields of an OperatorHub that decide which default CatalogSources there are (openshift/api:
// config/v1/types_operatorhub.go).
type Hub struct {
	Object *manifest.Object
	spec   struct {
		DisableAll bool `json:"disableAllDefaultSources"`
		Sources    []struct {
			Name     string `json:"name"`
			Disabled bool   `json:"disabled"`
		} `json:"sources"`
	}
}

func (c *Cluster) addHub(o *manifest.Object) *manifest.Error {
	if o.Name != "cluster" {
		return nil // the marketplace operator reads no other
	}
	c.Hub = &Hub{Object: o}
	return o.Field(&c.Hub.spec, "spec")
}

// Source returns a CatalogSource among the objects, or nil.
func (c *Cluster) Source(namespace, name string) *manifest.Object {
	return lists.Find(c.Sources, func(o *manifest.Object) bool { return o.Name == name && o.Namespace == namespace })
}

// Disabled returns the OperatorHub that disables a CatalogSource, or nil. spec.sources overrides
// disableAllDefaultSources. A CatalogSource of that name among the objects is not OpenShift's.
func (c *Cluster) Disabled(namespace, name string) *manifest.Object {
	if c.Hub == nil || !olm.IsDefaultCatalogSource(namespace, name) || c.Source(namespace, name) != nil {
		return nil
	}
	disabled := c.Hub.spec.DisableAll
	for _, s := range c.Hub.spec.Sources {
		if s.Name == name {
			disabled = s.Disabled
		}
	}
	if !disabled {
		return nil
	}
	return c.Hub.Object
}
