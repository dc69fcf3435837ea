// Package world has the objects of one cluster, with those of OLM decoded once: what a tree, a dump or a revision says,
// for all who ask what becomes of it. [Read] returns it. It decides which of two objects of one name counts, and what
// is not readable; it judges nothing.
package world

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// Placeholder is the namespace of CSVs in bundles that operator-sdk generates.
const Placeholder = "placeholder"

// World is the state of a cluster, as far as objects describe it.
type World struct {
	Namespaces    map[string]labels.Set // declared, or used by an object
	Declared      bool                  // there are Namespaces among the objects
	Groups        []*Group              // in the order of their creation
	CSVs          []*CSV                // in the order of their creation, with copies
	Subscriptions []*Subscription
	Sources       []*manifest.Object // CatalogSources
	ConfigMaps    []*manifest.Object
	InstallPlans  []*manifest.Object
	Policies      []*olm.OperatorPolicy
	Hub           *Hub // nil: there is none
	CRDs          map[string]*manifest.Object
	APIServices   map[string]*manifest.Object
	Conditions    map[string]*manifest.Object // OperatorConditions, by namespace/name
	Deployments   map[string]*manifest.Object // by namespace/name
	RBAC          rbac.Objects
	NoCopies      bool               // OLMConfig: copied CSVs of global groups are disabled
	Others        []*manifest.Object // of kinds that OLM does not read, custom resources among them

	OLM        []*manifest.Object // OperatorGroups, CSVs, Subscriptions and CatalogSources, each with its namespace
	Unplaced   []*manifest.Object // such objects that name no namespace: they are left out
	Duplicates []Duplicate
	Disputes   Disputes
	Faults     []Fault
	Made       []*manifest.Object // by OperatorPolicies

	// Whole says that the objects have CRDs that OLM did not make: one that is not among them is not there.
	Whole bool

	home    string             // the namespace of objects that name none
	objects []*manifest.Object // all of them, in their namespaces; nil for one that is deleted
	index   map[key]int        // their places
	owned   map[owner][]int    // the places of those that have an owner; nil until one is deleted
	marked  map[string][]int   // the places of those that name a ClusterServiceVersion and are not in its namespace
	deleted []deletion         // in their order

	policies []*manifest.Object // OperatorPolicies, and Policies
}

// deletion is an object that is deleted, and its place.
type deletion struct {
	place  int
	object *manifest.Object
}

// Fault is why an object, or a field of it, cannot be read.
type Fault struct {
	Object *manifest.Object
	Error  *manifest.Error
}

// Read reads objects. Namespaced objects of OLM without a namespace go to the default namespace, if there is one.
func Read(objects []*manifest.Object, defaultNamespace string) *World {
	w := read(objects, defaultNamespace)
	w.Policies = decodePolicies(w.policies)
	return w
}

// Index returns a world that has the objects and has decoded none of them.
func Index(objects []*manifest.Object, defaultNamespace string) *World {
	w := &World{home: defaultNamespace, index: make(map[key]int, len(objects))}
	for _, o := range objects {
		w.store(o, defaultNamespace)
	}
	return w
}

// decodePolicies is a variable so that a test counts its calls.
var decodePolicies = olm.OperatorPolicies

func read(objects []*manifest.Object, defaultNamespace string) *World {
	w := &World{
		Namespaces:  map[string]labels.Set{},
		CRDs:        map[string]*manifest.Object{},
		APIServices: map[string]*manifest.Object{},
		Conditions:  map[string]*manifest.Object{},
		Deployments: map[string]*manifest.Object{},
		home:        defaultNamespace,
		index:       make(map[key]int, len(objects)),
	}
	objects, w.Duplicates = Counted(objects, defaultNamespace)
	w.Disputes = disputesOf(w.Duplicates, defaultNamespace)
	for i, o := range objects {
		w.take(o, defaultNamespace, i)
	}
	slices.SortStableFunc(w.Groups, func(a, b *Group) int { return a.Order(b.Ordered) })
	slices.SortStableFunc(w.CSVs, func(a, b *CSV) int { return a.Order(b.Ordered) })
	return w
}

// take adds an object of any kind. index is its position among the objects.
func (w *World) take(o *manifest.Object, defaultNamespace string, index int) {
	w.store(o, defaultNamespace)
	if o.Namespace != "" && o.Namespace != Placeholder {
		w.namespace(o.Namespace, nil)
	}
	if err := w.add(o, defaultNamespace, index); err != nil {
		w.Faults = append(w.Faults, Fault{o, err})
	}
}

// add adds an object to those of its kind.
func (w *World) add(o *manifest.Object, defaultNamespace string, index int) *manifest.Error {
	kind := o.Group() + "/" + o.Kind
	switch kind {
	case "/Namespace":
		return w.addNamespace(o)
	case olm.Group + "/OperatorGroup", olm.Group + "/ClusterServiceVersion", olm.Group + "/Subscription",
		olm.Group + "/CatalogSource":
		return w.addOLM(o, defaultNamespace, index)
	case olm.Group + "/InstallPlan":
		w.InstallPlans = append(w.InstallPlans, o)
		return nil
	case olm.GroupPolicy + "/" + olm.KindOperatorPolicy, olm.GroupPolicy + "/" + olm.KindPolicy:
		w.policies = append(w.policies, o)
		return nil
	}
	namespace := cmp.Or(o.Namespace, defaultNamespace)
	switch kind {
	case "apiextensions.k8s.io/CustomResourceDefinition":
		w.CRDs[o.Name] = o
	case "apiregistration.k8s.io/APIService":
		w.APIServices[o.Name] = o
	case olm.Group + "/OLMConfig":
		if o.Name == "cluster" {
			return o.Field(&w.NoCopies, "spec", "features", "disableCopiedCSVs")
		}
	case olm.Group + "/OperatorCondition":
		w.Conditions[namespace+"/"+o.Name] = o
	case "config.openshift.io/OperatorHub":
		if o.Name == "cluster" { // the marketplace operator reads no other
			w.Hub = &Hub{Object: o}
			return o.Field(&w.Hub.spec, "spec")
		}
	case "/ConfigMap":
		w.ConfigMaps = append(w.ConfigMaps, InNamespace(o, namespace))
	case "apps/Deployment":
		w.Deployments[namespace+"/"+o.Name] = o
	default:
		if !rbac.Relevant(o.Group(), o.Kind) {
			w.Others = append(w.Others, o)
			return nil
		}
		if err := w.RBAC.Add(o, namespace); err != nil {
			return o.AsError(err)
		}
	}
	return nil
}

// store keeps an object in its namespace.
func (w *World) store(o *manifest.Object, defaultNamespace string) {
	if w.Find(o) != nil && bothStay(o) { // of another root
		w.objects = append(w.objects, placed(o, defaultNamespace))
	} else {
		w.Put(placed(o, defaultNamespace))
	}
	w.Whole = w.Whole || o.Kind == kindCRD && !o.Has("metadata", "labels", olm.LabelManaged)
}

// placed returns an object of Kubernetes or OLM that names no namespace, and needs one, in the default namespace.
func placed(o *manifest.Object, defaultNamespace string) *manifest.Object {
	if kind, _ := olm.KindOf(o.Group(), o.Kind); o.Namespace == "" && kind.Namespaced {
		return InNamespace(o, defaultNamespace)
	}
	return o
}

// namespace records that a namespace exists. The API server labels it with its name.
func (w *World) namespace(name string, set labels.Set) {
	if w.Namespaces[name] == nil {
		w.Namespaces[name] = labels.Set{}
	}
	maps.Copy(w.Namespaces[name], set)
	w.Namespaces[name]["kubernetes.io/metadata.name"] = name
}

func (w *World) addNamespace(o *manifest.Object) *manifest.Error {
	w.Declared = true
	var set map[string]string
	err := o.Field(&set, "metadata", "labels")
	w.namespace(o.Name, set)
	return err
}

// addOLM adds an object of OLM in its namespace. One that has none is left out.
func (w *World) addOLM(o *manifest.Object, defaultNamespace string, index int) *manifest.Error {
	namespace := cmp.Or(o.Namespace, defaultNamespace)
	if o.Namespace == Placeholder {
		namespace = defaultNamespace
	}
	if namespace == "" {
		w.Unplaced = append(w.Unplaced, o)
		return nil
	}
	w.namespace(namespace, nil)
	o = InNamespace(o, namespace)
	w.OLM = append(w.OLM, o)
	p := Ordered{Object: o, index: index}
	err := o.Field(&p.created, "metadata", "creationTimestamp")
	switch {
	case err != nil:
	case o.Kind == "OperatorGroup":
		err = add(&w.Groups, p, readGroup)
	case o.Kind == "ClusterServiceVersion":
		err = add(&w.CSVs, p, readCSV)
	case o.Kind == "Subscription":
		err = add(&w.Subscriptions, p, readSubscription)
	default:
		w.Sources = append(w.Sources, o)
	}
	if err != nil {
		w.Faults = append(w.Faults, Fault{o, err})
	}
	return nil
}
