package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// Upgrade applies a tree, and another one over it with pruning. Then the cluster has exactly what it has when only the
// second one is applied. In the end nothing of both is left.
func (a *Applier) Upgrade(ctx context.Context, from, to Tree) (Result, []error) {
	if err := a.Namespaces(ctx, from, to); err != nil {
		return Result{}, []error{err}
	}
	before, err := a.objects(ctx)
	if err != nil {
		return Result{}, []error{err}
	}
	first, errs := a.Apply(ctx, from)
	errs = append(errs, a.exactly(ctx, before, first)...)
	second, more := a.Apply(ctx, to)
	errs = append(errs, more...)
	if err := a.Remove(ctx, from.Without(to)); err != nil {
		return second, append(errs, err)
	}
	errs = append(errs, a.exactly(ctx, before, second)...)
	upgraded, err := a.objects(ctx)
	if err != nil {
		return second, append(errs, err)
	}
	for key := range second.maybe {
		delete(upgraded, key) // still the older one
	}
	errs = append(errs, a.fresh(ctx, before, to, upgraded)...)
	if len(errs) > 0 {
		_ = a.Remove(ctx, from) // or the next ones would fail too
		_ = a.Remove(ctx, to)
	}
	return second, errs
}

// fresh applies a tree to the cluster as it was before, and compares with what an upgrade gave.
func (a *Applier) fresh(ctx context.Context, before map[id]*unstructured.Unstructured, t Tree,
	upgraded map[id]*unstructured.Unstructured) []error {
	if err := a.Remove(ctx, t); err != nil {
		return []error{err}
	}
	errs := a.exactly(ctx, before, Result{})
	r, more := a.Apply(ctx, t)
	errs = append(errs, more...)
	objects, err := a.objects(ctx)
	if err != nil {
		return append(errs, err)
	}
	for _, key := range sorted(r.ids) {
		if objects[key] == nil || upgraded[key] == nil {
			continue // exactly has said so, or it was refused
		}
		if was, is := installed(upgraded[key]), installed(objects[key]); was != is {
			errs = append(errs, fmt.Errorf("%s is not after an upgrade what it is without:\n%s", key, unequal(was, is)))
		}
	}
	if err := a.Remove(ctx, t); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// installed is the content of an object without what differs each time that it is made.
func installed(o *unstructured.Unstructured) string {
	c := o.DeepCopy()
	for _, path := range [][]string{
		{"metadata", "uid"}, {"metadata", "creationTimestamp"}, {"metadata", "generation"}, {"spec", "clusterIP"},
		{"spec", "clusterIPs"},
	} {
		unstructured.RemoveNestedField(c.Object, path...)
	}
	switch {
	case c.Object["aggregationRule"] != nil:
		delete(c.Object, "rules") // the controller's
	case c.Object["type"] == "kubernetes.io/service-account-token":
		delete(c.Object, "data")
		unstructured.RemoveNestedField(c.Object, "metadata", "annotations", "kubernetes.io/service-account.uid")
	}
	return content(c)
}

// objects are those that someone made.
func (a *Applier) objects(ctx context.Context) (map[id]*unstructured.Unstructured, error) {
	list, err := a.cluster.Objects(ctx, cluster.ByTheWay)
	all := map[id]*unstructured.Unstructured{}
	for n := range list {
		all[idOf(&list[n])] = &list[n]
	}
	return all, err
}

// exactly returns what exists beyond the objects that existed before or were applied, and what is missing of them.
// Objects that are being deleted have ten seconds.
func (a *Applier) exactly(ctx context.Context, before map[id]*unstructured.Unstructured, r Result) (errs []error) {
	for try := range 50 {
		if try > 0 {
			time.Sleep(200 * time.Millisecond)
		}
		now, err := a.objects(ctx)
		if err != nil {
			return []error{err}
		}
		errs = nil
		for _, key := range sorted(now) {
			if before[key] == nil && !r.ids[key] && !r.maybe[key] {
				if Revived(now[key]) {
					_ = a.cluster.Delete(ctx, now[key])
				}
				errs = append(errs, fmt.Errorf("%s is an orphan", key))
			}
		}
		for _, key := range sorted(r.ids) {
			if now[key] == nil {
				errs = append(errs, fmt.Errorf("%s is missing", key))
			}
		}
		if len(errs) == 0 || ctx.Err() != nil {
			return errs
		}
	}
	return errs
}

// Revived reports whether an object is a ClusterRole that the aggregation controller created again after it was
// deleted: the controller applies the rules from a cache, and nobody else has written to the object.
func Revived(o *unstructured.Unstructured) bool {
	for _, f := range o.GetManagedFields() {
		if f.Manager != "clusterrole-aggregation-controller" {
			return false
		}
	}
	return o.GetKind() == "ClusterRole"
}

func sorted[V any](m map[id]V) []id {
	return slices.SortedFunc(maps.Keys(m), func(a, b id) int {
		return slices.Compare([]string{a.group, a.kind, a.namespace, a.name},
			[]string{b.group, b.kind, b.namespace, b.name})
	})
}
