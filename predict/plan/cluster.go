// Package plan plays InstallPlans of OLM v0, and the installation of a ClusterServiceVersion, on the objects of a
// cluster, step by step. It knows no OperatorGroups and no phases: package predict asks it.
//
// The rules are those of OLM v0.46 (github.com/operator-framework/operator-lifecycle-manager:
// pkg/controller/operators/catalog/operator.go, ExecutePlan; step.go; step_ensurer.go; pkg/controller/install).
package plan

import (
	"slices"

	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

type key struct{ group, kind, namespace, name string }

// Cluster has the objects of a cluster. InstallPlans change it.
type Cluster struct {
	objects []*manifest.Object
	index   map[key]int
	whole   bool // it has CRDs that OLM did not make, so that one that it does not have is not there
}

// NewCluster returns the cluster of some objects. namespace is that of objects that name none. Of two objects with the
// same name, the first counts.
func NewCluster(objects []*manifest.Object, namespace string) *Cluster {
	c := &Cluster{index: make(map[key]int, len(objects))}
	for _, o := range objects {
		if known, _ := olm.KindOf(o.Group(), o.Kind); o.Namespace == "" && known.Namespaced {
			o = cluster.InNamespace(o, namespace)
		}
		if _, taken := c.index[keyOf(o)]; taken {
			continue
		}
		c.Put(o)
		if o.Kind == kindCRD && !o.Has("metadata", "labels", olm.LabelManaged) { // OLM's own CRDs are among them
			c.whole = true
		}
	}
	return c
}

func keyOf(o *manifest.Object) key { return key{o.Group(), o.Kind, o.Namespace, o.Name} }

// Put adds an object, or puts it in the place of the one with its name.
func (c *Cluster) Put(o *manifest.Object) {
	if i, ok := c.index[keyOf(o)]; ok {
		c.objects[i] = o
		return
	}
	c.index[keyOf(o)] = len(c.objects)
	c.objects = append(c.objects, o)
}

// Get returns an object, or nil.
func (c *Cluster) Get(group, kind, namespace, name string) *manifest.Object {
	if i, ok := c.index[key{group, kind, namespace, name}]; ok {
		return c.objects[i]
	}
	return nil
}

// CRD returns a CustomResourceDefinition, or nil.
func (c *Cluster) CRD(name string) *manifest.Object { return c.Get(groupCRD, kindCRD, "", name) }

// Delete removes an object, and returns what the garbage collector removes after it.
func (c *Cluster) Delete(o *manifest.Object) (lost []*manifest.Object) {
	if i, ok := c.index[keyOf(o)]; ok {
		c.objects[i] = nil
		delete(c.index, keyOf(o))
	}
	for _, other := range c.objects {
		if other == nil || other.Namespace != o.Namespace {
			continue
		}
		owners := ownersOf(other)
		if len(owners) > 0 && !slices.ContainsFunc(owners, func(r owner) bool {
			return c.Get(manifest.GroupOf(r.APIVersion), r.Kind, o.Namespace, r.Name) != nil
		}) && slices.ContainsFunc(owners, func(r owner) bool { return r.Kind == o.Kind && r.Name == o.Name }) {
			lost = append(lost, other)
		}
	}
	for _, other := range lost {
		c.Delete(other)
	}
	return lost
}

// Objects returns the objects in the order in which they were added.
func (c *Cluster) Objects() []*manifest.Object {
	return slices.DeleteFunc(slices.Clone(c.objects), func(o *manifest.Object) bool { return o == nil })
}

// definition returns the CRD of a kind, or nil, and whether another CRD serves the same version of its group.
func (c *Cluster) definition(group, version, kind string) (crd *manifest.Object, served bool) {
	for _, o := range c.objects {
		if o == nil || o.Kind != kindCRD {
			continue
		}
		if k, _ := olm.DefinedKind(o); k.Group == group && slices.Contains(olm.ServedVersions(o), version) {
			served = true
			if k.Name == kind {
				crd = o
			}
		}
	}
	return crd, served
}
