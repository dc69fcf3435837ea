package world

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/rbac"
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

// Duplicate is two objects of one name that differ.
type Duplicate struct {
	Object, Other *manifest.Object // in their order
	Roots         bool             // two roots of one cluster apply them: neither counts. Otherwise Other does
}

// String returns a sentence that names both places.
func (d Duplicate) String() string {
	return fmt.Sprintf("%s (%s) %s", d.Object.Identity(), at(d.Object), d.Says())
}

// Says returns what is said of Object.
func (d Duplicate) Says() string {
	if d.Roots {
		says := fmt.Sprintf("differs from the object of the same name in another root of the cluster (%s): neither "+
			"counts", at(d.Other))
		if rbac.Relevant(d.Object.Group(), d.Object.Kind) {
			says += ", and rights are those of both"
		}
		return says
	}
	return fmt.Sprintf("differs from a later object of the same name (%s), which counts", at(d.Other))
}

// Level returns how bad it is.
func (d Duplicate) Level() findings.Severity {
	if d.Roots {
		return findings.Error
	}
	return findings.Warning
}

// Hint returns what to do.
func (d Duplicate) Hint() string {
	if d.Roots {
		return "leave it to one of them"
	}
	return "check one environment at a time, for example the output of kustomize build"
}

func at(o *manifest.Object) string { return fmt.Sprintf("%s:%d", o.File, o.Line) }

// Counted returns the objects that count. Of two of one name in one root that is the last one, in the place of the
// first, as "kubectl apply -f", Argo CD within one Application (controller/state.go, DeduplicateTargetObjects) and OLM
// have it. Two roots of one cluster overwrite each other again and again (Argo CD: SharedResourceWarning): neither
// counts, and rights are those of both. So the list has the roles and bindings of both, and of other kinds the last
// one, because there is one. What is in the cluster is of no root: Git is applied over it, and its status stays.
func Counted(objects []*manifest.Object, namespace string) (list []*manifest.Object, found []Duplicate) {
	c := counter{first: make(map[key]int, len(objects)), list: make([]*manifest.Object, 0, len(objects))}
	for _, o := range objects {
		k := keyOf(o, namespace)
		if i, known := c.first[k]; known && o.Name != "" {
			c.again(i, o)
			continue
		}
		c.first[k] = len(c.list)
		c.list = append(c.list, o)
	}
	for i := range c.hidden {
		c.hidden[i].Other = c.list[c.by[i]]
	}
	if len(c.next) == 0 {
		return c.list, c.hidden
	}
	return c.settled()
}

// counter counts objects by their places in a list.
type counter struct {
	first  map[key]int    // the place of a name
	next   map[int]int    // the place of the same name in another root
	last   map[int]int    // the last such place, by the first one
	roots  map[inRoot]int // the place of a name in a root, where several have it
	list   []*manifest.Object
	hidden []Duplicate
	by     []int // the place of what hides them

	read map[*manifest.Object]*manifest.Object // what an object with the status of the cluster was before
}

// inRoot is a root that has an object whose name is at a place first.
type inRoot struct {
	place int
	root  string
}

// again adds an object whose name is at a place already. What no root applies is alone there, or stands for the status
// of all that roots apply.
func (c *counter) again(place int, o *manifest.Object) {
	at, known := place, noRoot(c.list[place])
	switch {
	case known:
	case noRoot(o):
		for i, more := place, true; more; i, more = c.next[i] {
			c.list[i] = c.applied(o, c.list[i])
		}
		return
	default:
		if c.next == nil {
			c.next, c.last, c.roots = map[int]int{}, map[int]int{}, map[inRoot]int{}
		}
		if _, several := c.last[place]; !several {
			c.last[place], c.roots[inRoot{place, c.list[place].Root}] = place, place
		}
		at, known = c.roots[inRoot{place, o.Root}]
	}
	if !known {
		before := c.last[place]
		c.next[before], c.last[place], c.roots[inRoot{place, o.Root}] = len(c.list), len(c.list), len(c.list)
		c.list = append(c.list, c.applied(c.list[before], o))
		return
	}
	old := c.list[at]
	if old == o {
		return
	}
	if old.Root == o.Root && !ofCluster(old) && !Same(old, o) {
		c.hidden, c.by = append(c.hidden, Duplicate{Object: cmp.Or(c.read[old], old)}), append(c.by, at)
	}
	c.list[at] = c.applied(old, o)
}

// settled returns the objects that count where roots have objects of one name.
func (c *counter) settled() (list []*manifest.Object, found []Duplicate) {
	found = c.hidden
	for _, i := range slices.Sorted(maps.Keys(c.next)) {
		old, o := c.list[i], c.list[c.next[i]]
		switch {
		case Same(old, o):
			c.list[i] = nil
		default:
			found = append(found, Duplicate{Object: old, Other: o, Roots: true})
			if !bothStay(o) {
				c.list[i] = nil
			}
		}
	}
	return slices.DeleteFunc(c.list, func(o *manifest.Object) bool { return o == nil }), found
}

// bothStay reports whether both objects of two roots are in the list: rights are those of both, and package predict
// says itself what becomes of the objects of OLM v1.
func bothStay(o *manifest.Object) bool {
	return rbac.Relevant(o.Group(), o.Kind) || o.Group() == olm.GroupV1
}

// ofCluster reports whether the API server has written an object.
func ofCluster(o *manifest.Object) bool { return o.Has("metadata", "uid") }

// noRoot reports whether no root applies an object: it is in the cluster, and what a root has is applied over it.
func noRoot(o *manifest.Object) bool { return o.Root == "" || ofCluster(o) }

// Live returns an object as one that is in the cluster, whatever applied it.
func Live(o *manifest.Object) *manifest.Object {
	live := *o
	live.Root = ""
	return &live
}

// applied returns an object that is applied over an older one: what only the API server and controllers write stays.
func (c *counter) applied(old, now *manifest.Object) *manifest.Object {
	if now.Has("status") || !old.Has("status") {
		return now
	}
	out := WithStatus(now, olm.Mapping(olm.Get(old, "status")))
	if c.read == nil {
		c.read = map[*manifest.Object]*manifest.Object{}
	}
	c.read[out] = cmp.Or(c.read[now], now)
	return out
}

// Put adds an object, or puts it in the place of the one with its name. What is decoded stays as it was read.
func (w *World) Put(o *manifest.Object) {
	k := keyOf(o, "")
	i, ok := w.index[k]
	if ok && o.Name != "" {
		w.objects[i] = o
	} else {
		i = len(w.objects)
		w.index[k] = i
		w.objects = append(w.objects, o)
	}
	if w.owned != nil {
		w.note(i)
	}
}

// owner is what an object names in its metadata.ownerReferences, in its namespace.
type owner struct{ namespace, kind, name string }

// note keeps the place of an object by what takes it along when it goes.
func (w *World) note(i int) {
	o := w.objects[i]
	for _, r := range OwnersOf(o) {
		k := owner{o.Namespace, r.Kind, r.Name}
		w.owned[k] = append(w.owned[k], i)
	}
	if name := namedCSV(o); name != "" {
		w.marked[name] = append(w.marked[name], i)
	}
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
	if w.owned == nil {
		w.owned, w.marked = map[owner][]int{}, map[string][]int{}
		for i, other := range w.objects {
			if other != nil {
				w.note(i)
			}
		}
	}
	if i, ok := w.index[keyOf(o, "")]; ok {
		w.deleted = append(w.deleted, deletion{i, w.objects[i]})
		w.objects[i] = nil
		delete(w.index, keyOf(o, ""))
	}
	for _, i := range lists.SortedUnique(w.owned[owner{o.Namespace, o.Kind, o.Name}]) {
		other := w.objects[i]
		if other == nil {
			continue
		}
		owners := OwnersOf(other)
		if !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool {
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
	return derived(o, value)
}

// WithAnnotation returns an object with an annotation.
func WithAnnotation(o *manifest.Object, key, text string) *manifest.Object {
	value, err := o.Value()
	if err != nil {
		return o
	}
	value, annotations := normalize.CopyAt(value, "metadata", "annotations")
	annotations[key] = text
	return derived(o, value)
}

func derived(o *manifest.Object, value map[string]any) *manifest.Object {
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
