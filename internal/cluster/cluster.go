// Package cluster reads the OLM objects of a set of objects, each once: what a tree, a dump or a revision has in a
// cluster, for all who ask what OLM does with it. [Read] returns it. It decides which of two objects of one name
// counts, and what is not readable; it judges nothing.
package cluster

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

// Cluster is the state of a cluster, as far as objects describe it.
type Cluster struct {
	Namespaces    map[string]labels.Set // declared, or used by an object
	Declared      bool                  // there are Namespaces among the objects
	Groups        []*Group              // in the order of their creation
	CSVs          []*CSV                // in the order of their creation, with copies
	Subscriptions []*Subscription
	Sources       []*manifest.Object // CatalogSources
	ConfigMaps    []*manifest.Object
	InstallPlans  []*manifest.Object
	Policies      []*manifest.Object // OperatorPolicies, and Policies
	Hub           *Hub               // nil: there is none
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
	Faults     []Fault

	first map[string]*manifest.Object // the first object of each name, by key
}

// Duplicate is an object that differs from an earlier one of the same name, which counts.
type Duplicate struct{ Object, First *manifest.Object }

// Fault is why an object, or a field of it, cannot be read.
type Fault struct {
	Object *manifest.Object
	Error  *manifest.Error
}

// Read reads objects. Namespaced objects of OLM without a namespace go to the default namespace, if there is one.
func Read(objects []*manifest.Object, defaultNamespace string) *Cluster {
	c := &Cluster{
		Namespaces:  map[string]labels.Set{},
		CRDs:        map[string]*manifest.Object{},
		APIServices: map[string]*manifest.Object{},
		Conditions:  map[string]*manifest.Object{},
		Deployments: map[string]*manifest.Object{},
		first:       map[string]*manifest.Object{},
	}
	for i, o := range objects {
		if o.Namespace != "" && o.Namespace != Placeholder {
			c.namespace(o.Namespace, nil)
		}
		if err := c.add(o, defaultNamespace, i); err != nil {
			c.Faults = append(c.Faults, Fault{o, err})
		}
	}
	slices.SortStableFunc(c.Groups, func(a, b *Group) int { return a.Order(b.Ordered) })
	slices.SortStableFunc(c.CSVs, func(a, b *CSV) int { return a.Order(b.Ordered) })
	return c
}

// add adds an object. index is its position among the objects.
func (c *Cluster) add(o *manifest.Object, defaultNamespace string, index int) *manifest.Error {
	kind := o.Group() + "/" + o.Kind
	unique, known := kinds[kind]
	switch kind {
	case "/Namespace":
		return c.addNamespace(o)
	case olm.Group + "/OperatorGroup", olm.Group + "/ClusterServiceVersion", olm.Group + "/Subscription",
		olm.Group + "/CatalogSource":
		return c.addOLM(o, defaultNamespace, index)
	case olm.Group + "/InstallPlan":
		c.InstallPlans = append(c.InstallPlans, o)
		return nil
	case olm.GroupPolicy + "/" + olm.KindOperatorPolicy, olm.GroupPolicy + "/" + olm.KindPolicy:
		c.Policies = append(c.Policies, o)
		return nil
	}
	namespace := cmp.Or(o.Namespace, defaultNamespace)
	declared, _ := olm.KindOf(o.Group(), o.Kind)
	if unique && (!declared.Namespaced || namespace != "") && c.duplicate(o, namespace) {
		return nil
	}
	switch kind {
	case "apiextensions.k8s.io/CustomResourceDefinition":
		c.CRDs[o.Name] = o
	case "apiregistration.k8s.io/APIService":
		c.APIServices[o.Name] = o
	case olm.Group + "/OLMConfig":
		if o.Name == "cluster" {
			return o.Field(&c.NoCopies, "spec", "features", "disableCopiedCSVs")
		}
	case olm.Group + "/OperatorCondition":
		c.Conditions[namespace+"/"+o.Name] = o
	case "config.openshift.io/OperatorHub":
		if o.Name == "cluster" { // the marketplace operator reads no other
			c.Hub = &Hub{Object: o}
			return o.Field(&c.Hub.spec, "spec")
		}
	case "/ConfigMap":
		c.ConfigMaps = append(c.ConfigMaps, InNamespace(o, namespace))
	case "apps/Deployment":
		c.Deployments[namespace+"/"+o.Name] = o
	default:
		if !known {
			c.Others = append(c.Others, o)
			return nil
		}
		if err := c.RBAC.Add(o, namespace); err != nil {
			return o.AsError(err)
		}
	}
	return nil
}

// kinds are the kinds that a cluster reads, as group/kind. Of those with true, the first object of a name counts, as it
// does of those that OLM defines.
var kinds = map[string]bool{
	"/Namespace":      false,
	"/ConfigMap":      false,
	"/ServiceAccount": true,
	"apps/Deployment": false,
	"apiextensions.k8s.io/CustomResourceDefinition": true,
	"apiregistration.k8s.io/APIService":             true,
	"config.openshift.io/OperatorHub":               false,
	"rbac.authorization.k8s.io/Role":                true,
	"rbac.authorization.k8s.io/RoleBinding":         true,
	"rbac.authorization.k8s.io/ClusterRole":         true,
	"rbac.authorization.k8s.io/ClusterRoleBinding":  true,
	olm.Group + "/OperatorGroup":                    false,
	olm.Group + "/ClusterServiceVersion":            false,
	olm.Group + "/Subscription":                     false,
	olm.Group + "/CatalogSource":                    false,
	olm.Group + "/InstallPlan":                      false,
	olm.Group + "/OLMConfig":                        true,
	olm.Group + "/OperatorCondition":                true,
	olm.GroupPolicy + "/" + olm.KindOperatorPolicy:  false,
	olm.GroupPolicy + "/" + olm.KindPolicy:          false,
}

// Kinds returns the kinds that a cluster reads, sorted, as group/kind.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// namespace records that a namespace exists. The API server labels it with its name.
func (c *Cluster) namespace(name string, set labels.Set) {
	if c.Namespaces[name] == nil {
		c.Namespaces[name] = labels.Set{}
	}
	maps.Copy(c.Namespaces[name], set)
	c.Namespaces[name]["kubernetes.io/metadata.name"] = name
}

func (c *Cluster) addNamespace(o *manifest.Object) *manifest.Error {
	if c.duplicate(o, "") {
		return nil
	}
	c.Declared = true
	var set map[string]string
	err := o.Field(&set, "metadata", "labels")
	c.namespace(o.Name, set)
	return err
}

func (c *Cluster) addOLM(o *manifest.Object, defaultNamespace string, index int) *manifest.Error {
	namespace := cmp.Or(o.Namespace, defaultNamespace)
	if o.Namespace == Placeholder {
		namespace = defaultNamespace
	}
	if namespace == "" {
		c.Unplaced = append(c.Unplaced, o)
		return nil
	}
	c.namespace(namespace, nil)
	o = InNamespace(o, namespace)
	if c.duplicate(o, namespace) {
		for _, s := range c.Subscriptions { // what one of a cluster has installed counts for the same one of Git
			if o.Kind == s.Kind && o.Namespace == s.Namespace && o.Name == s.Name && s.InstalledCSV == "" {
				_ = o.Field(&s.InstalledCSV, "status", "installedCSV") // what is no text counts for nothing
			}
		}
		return nil
	}
	c.OLM = append(c.OLM, o)
	p := Ordered{Object: o, index: index}
	err := o.Field(&p.created, "metadata", "creationTimestamp")
	switch {
	case err != nil:
	case o.Kind == "OperatorGroup":
		err = add(&c.Groups, p, readGroup)
	case o.Kind == "ClusterServiceVersion":
		err = add(&c.CSVs, p, readCSV)
	case o.Kind == "Subscription":
		err = add(&c.Subscriptions, p, readSubscription)
	default:
		c.Sources = append(c.Sources, o)
	}
	if err != nil {
		c.Faults = append(c.Faults, Fault{o, err})
	}
	return nil
}

// Key identifies an object in a cluster. namespace is that of an object that names none.
func Key(o *manifest.Object, namespace string) string {
	namespace = cmp.Or(o.Namespace, namespace)
	if kind, known := olm.KindOf(o.Group(), o.Kind); known && !kind.Namespaced {
		namespace = ""
	}
	return o.Group() + "/" + o.Kind + "/" + namespace + "/" + o.Name
}

// add adds an object to a list, if it is readable.
func add[T any](to *[]*T, p Ordered, read func(Ordered) (*T, *manifest.Error)) *manifest.Error {
	x, err := read(p)
	if err == nil {
		*to = append(*to, x)
	}
	return err
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

func (c *Cluster) duplicate(o *manifest.Object, namespace string) bool {
	k := Key(o, namespace)
	first := c.first[k]
	if first == nil {
		c.first[k] = o
		return false
	}
	if !Same(first, o) {
		c.Duplicates = append(c.Duplicates, Duplicate{o, first})
	}
	return true
}
