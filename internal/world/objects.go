package world

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

type key struct{ group, kind, namespace, name string }

// keyOf returns what an object is to the API server, whatever its version. namespace is that of one that names none.
func keyOf(o *manifest.Object, namespace string) key {
	namespace = cmp.Or(o.Namespace, namespace)
	group := o.Group()
	if kind, known := olm.KindOf(group, o.Kind); known && !kind.Namespaced {
		namespace = ""
	}
	return key{group, o.Kind, namespace, o.Name}
}

// Key identifies an object in a cluster. namespace is that of an object that names none.
func Key(o *manifest.Object, namespace string) string {
	k := keyOf(o, namespace)
	return k.group + "/" + k.kind + "/" + k.namespace + "/" + k.name
}

// Duplicate is an object that a later one of the same name takes the place of.
type Duplicate struct{ Object, Counts *manifest.Object }

// Counted returns the objects that count if they are applied one after the other: of two of one name the last one, in
// the place of the first. That is what "kubectl apply -f", Argo CD within one Application (controller/state.go,
// DeduplicateTargetObjects) and OLM do. A status stays if the later object has none. hidden are those that differ from
// the one that counts; what comes from a cluster is no such object, as the later one is applied to it.
func Counted(objects []*manifest.Object, namespace string) (list []*manifest.Object, hidden []Duplicate) {
	at := make(map[key]int, len(objects))
	list = make([]*manifest.Object, 0, len(objects))
	for _, o := range objects {
		k := keyOf(o, namespace)
		i, known := at[k]
		switch {
		case !known || o.Name == "":
			at[k] = len(list)
			list = append(list, o)
		case list[i] == o:
		default:
			if !ofCluster(list[i]) && !Same(list[i], o) {
				hidden = append(hidden, Duplicate{Object: list[i]})
			}
			list[i] = applied(list[i], o)
		}
	}
	for i := range hidden {
		hidden[i].Counts = list[at[keyOf(hidden[i].Object, namespace)]]
	}
	return list, hidden
}

// ofCluster reports whether the API server has written an object.
func ofCluster(o *manifest.Object) bool { return o.Has("metadata", "uid") }

// applied returns an object that is applied over an older one: what only the API server and controllers write stays.
func applied(old, now *manifest.Object) *manifest.Object {
	if now.Has("status") || !old.Has("status") {
		return now
	}
	status, _ := old.Get("status")
	fields, _ := status.(map[string]any)
	return WithStatus(now, fields)
}

// Put adds an object, or puts it in the place of the one with its name. What is decoded stays as it was read.
func (w *World) Put(o *manifest.Object) {
	k := keyOf(o, "")
	if i, ok := w.index[k]; ok && o.Name != "" {
		w.objects[i] = o
		return
	}
	w.index[k] = len(w.objects)
	w.objects = append(w.objects, o)
}

// Get returns an object, or nil.
func (w *World) Get(group, kind, namespace, name string) *manifest.Object {
	if i, ok := w.index[key{group, kind, namespace, name}]; ok {
		return w.objects[i]
	}
	return nil
}

// Find returns the object of the name and the namespace of another one, or nil.
func (w *World) Find(o *manifest.Object) *manifest.Object {
	if i, ok := w.index[keyOf(placed(o, w.home), "")]; ok {
		return w.objects[i]
	}
	return nil
}

// CRD returns a CustomResourceDefinition, or nil.
func (w *World) CRD(name string) *manifest.Object { return w.Get(groupCRD, kindCRD, "", name) }

const groupCRD, kindCRD = "apiextensions.k8s.io", "CustomResourceDefinition"

// Delete removes an object, and returns what the garbage collector removes after it.
func (w *World) Delete(o *manifest.Object) (lost []*manifest.Object) {
	if i, ok := w.index[keyOf(o, "")]; ok {
		w.objects[i] = nil
		delete(w.index, keyOf(o, ""))
	}
	for _, other := range w.objects {
		if other == nil || other.Namespace != o.Namespace {
			continue
		}
		owners := OwnersOf(other)
		if len(owners) > 0 && !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool {
			return w.Get(manifest.GroupOf(r.APIVersion), r.Kind, o.Namespace, r.Name) != nil
		}) && slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool {
			return r.Kind == o.Kind && r.Name == o.Name
		}) {
			lost = append(lost, other)
		}
	}
	for _, other := range lost {
		w.Delete(other)
	}
	return lost
}

// OwnersOf returns the owners of an object. Those that cannot be read are none: the API server refuses them.
func OwnersOf(o *manifest.Object) (out []metav1.OwnerReference) {
	_ = o.Field(&out, "metadata", "ownerReferences")
	return out
}

// All returns the objects in the order in which they were added.
func (w *World) All() iter.Seq[*manifest.Object] {
	return func(yield func(*manifest.Object) bool) {
		for _, o := range w.objects {
			if o != nil && !yield(o) {
				return
			}
		}
	}
}

// Of returns the objects of a kind, as All does.
func (w *World) Of(group, kind string) (list []*manifest.Object) {
	for o := range w.All() {
		if o.Kind == kind && o.Group() == group {
			list = append(list, o)
		}
	}
	return list
}

// InNamespace returns an object in a namespace.
func InNamespace(o *manifest.Object, namespace string) *manifest.Object {
	if o.Namespace == namespace {
		return o
	}
	clone := *o
	clone.Namespace = namespace
	return &clone
}

// WithStatus returns an object with some fields of its status set.
func WithStatus(o *manifest.Object, fields map[string]any) *manifest.Object {
	value, err := o.Value()
	if err != nil || len(fields) == 0 {
		return o
	}
	value, status := normalize.CopyAt(value, "status")
	maps.Copy(status, fields)
	out := o.Derive(value, func(field string) string { return field })
	out.Namespace = o.Namespace
	return out
}

// Same reports whether two objects have the same content. One that cannot be read is equal to none.
func Same(a, b *manifest.Object) bool {
	x, errX := a.Value()
	y, errY := b.Value()
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
