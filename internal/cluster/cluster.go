// Package cluster reads the OLM objects of a set of objects, each once: what a tree, a dump or a revision has in a
// cluster, for all who ask what OLM does with it. [Read] returns it. It decides which of two objects of one name
// counts, and what is not readable; it judges nothing.
package cluster

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/operator-framework/api/pkg/lib/version"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
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

// Ordered is an object with its position in the order of creation.
type Ordered struct {
	*manifest.Object
	created string // creationTimestamp; empty for an object that was never in a cluster
	index   int    // position among the objects
}

// Order compares objects by creationTimestamp, then by their position. Objects without a timestamp come last.
func (p Ordered) Order(o Ordered) int {
	if (p.created == "") != (o.created == "") {
		return cmp.Compare(o.created, p.created)
	}
	return cmp.Or(cmp.Compare(p.created, o.created), cmp.Compare(p.index, o.index))
}

// Group is an OperatorGroup.
type Group struct {
	Ordered
	Spec        operatorsv1.OperatorGroupSpec
	Annotations map[string]string
	Status      operatorsv1.OperatorGroupStatus
}

func readGroup(p Ordered) (*Group, *manifest.Error) {
	g := &Group{Ordered: p}
	return g, cmp.Or(
		p.Field(&g.Spec, "spec"),
		p.Field(&g.Annotations, "metadata", "annotations"),
		p.Field(&g.Status, "status"),
	)
}

// Subscription is a Subscription to a package.
type Subscription struct {
	Ordered
	Package, Channel, Source, SourceNamespace, StartingCSV, Approval string // of its spec
	InstalledCSV, CurrentCSV                                         string // of its status
}

func readSubscription(p Ordered) (*Subscription, *manifest.Error) {
	s := &Subscription{Ordered: p}
	if !p.Has("spec") {
		return nil, p.Errorf("spec", "is missing")
	}
	return s, cmp.Or(
		p.Field(&s.Package, "spec", "name"),
		p.Field(&s.Channel, "spec", "channel"),
		p.Field(&s.Source, "spec", "source"),
		p.Field(&s.SourceNamespace, "spec", "sourceNamespace"),
		p.Field(&s.StartingCSV, "spec", "startingCSV"),
		p.Field(&s.Approval, "spec", "installPlanApproval"),
		p.Field(&s.InstalledCSV, "status", "installedCSV"),
		p.Field(&s.CurrentCSV, "status", "currentCSV"),
	)
}

// Asked returns the place that says what the Subscription asks for: a patch of a field of its spec, or the object.
func (s *Subscription) Asked() (file string, line int) {
	for _, field := range []string{"channel", "name", "source", "sourceNamespace", "startingCSV"} {
		if file, line = s.PlaceOf("spec." + field); file != s.File {
			return file, line
		}
	}
	return s.File, s.Line
}

// CSV is a ClusterServiceVersion, without what its InstallPlan and its pods need.
type CSV struct {
	Ordered
	Labels      map[string]string
	Annotations map[string]string
	Version     string
	Replaces    string
	Modes       []v1alpha1.InstallMode
	CRDs        v1alpha1.CustomResourceDefinitions // names, versions and kinds
	APIServices v1alpha1.APIServiceDefinitions     // names, versions, kinds and deployments
	Phase       v1alpha1.ClusterServiceVersionPhase
	Reason      v1alpha1.ConditionReason
	Message     string
	Unusable    error  // why OLM ignores it
	Copied      bool   // by OLM, from another namespace
	Original    string // the namespace that it is copied from
}

func readCSV(p Ordered) (*CSV, *manifest.Error) {
	v, o := &CSV{Ordered: p}, p.Object
	var release version.OperatorVersion
	if err := cmp.Or(
		o.Field(&v.Labels, "metadata", "labels"),
		o.Field(&v.Annotations, "metadata", "annotations"),
		o.Field(&v.Modes, "spec", "installModes"),
		o.Field(&release, "spec", "version"),
		o.Field(&v.Replaces, "spec", "replaces"),
		crdsOf(o, &v.CRDs.Owned, "owned"),
		crdsOf(o, &v.CRDs.Required, "required"),
		servicesOf(o, &v.APIServices.Owned, "owned"),
		servicesOf(o, &v.APIServices.Required, "required"),
		o.Field(&v.Phase, "status", "phase"),
		o.Field(&v.Reason, "status", "reason"),
		o.Field(&v.Message, "status", "message"),
	); err != nil {
		return nil, err
	}
	v.Version = release.String()
	v.Unusable = olm.CheckCRDNames(v.Spec())
	v.Original, v.Copied = olm.Copied(
		metav1.ObjectMeta{Namespace: o.Namespace, Labels: v.Labels, Annotations: v.Annotations}, v.Reason)
	return v, nil
}

// CSVOf returns the ClusterServiceVersion that OLM makes of one in a namespace, as old as what asks for it.
func CSVOf(o *manifest.Object, namespace string, like Ordered) (*CSV, *manifest.Error) {
	like.Object = InNamespace(o, namespace)
	return readCSV(like)
}

// Spec returns the APIs that the CSV owns and requires.
func (v *CSV) Spec() *v1alpha1.ClusterServiceVersionSpec {
	return &v1alpha1.ClusterServiceVersionSpec{CustomResourceDefinitions: v.CRDs, APIServiceDefinitions: v.APIServices}
}

func crdsOf(o *manifest.Object, into *[]v1alpha1.CRDDescription, list string) *manifest.Error {
	return itemsOf(o, into, []string{"spec", "customresourcedefinitions", list},
		func(d *v1alpha1.CRDDescription) map[string]*string {
			return map[string]*string{"name": &d.Name, "version": &d.Version, "kind": &d.Kind}
		})
}

func servicesOf(o *manifest.Object, into *[]v1alpha1.APIServiceDescription, list string) *manifest.Error {
	return itemsOf(o, into, []string{"spec", "apiservicedefinitions", list},
		func(d *v1alpha1.APIServiceDescription) map[string]*string {
			return map[string]*string{"name": &d.Name, "group": &d.Group, "version": &d.Version, "kind": &d.Kind,
				"deploymentName": &d.DeploymentName}
		})
}

// itemsOf reads some texts of each item of a list.
func itemsOf[T any](o *manifest.Object, into *[]T, at []string, texts func(*T) map[string]*string) *manifest.Error {
	*into = make([]T, o.Len(at...))
	for i := range *into {
		to := texts(&(*into)[i])
		for _, key := range lists.Keys(to) {
			if err := o.Field(to[key], append(slices.Clip(at), strconv.Itoa(i), key)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Distinct returns the first object of each name, which counts, and the later ones that differ from it.
func Distinct(objects []*manifest.Object) (first, others []*manifest.Object) {
	seen := make(map[string]*manifest.Object, len(objects))
	for _, o := range objects {
		key := Key(o, "")
		switch had := seen[key]; {
		case had == nil || o.Name == "":
			seen[key] = o
			first = append(first, o)
		case !Same(had, o):
			others = append(others, o)
		}
	}
	return first, others
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

// NotUpgradeable returns why OLM does not replace the operator of an OperatorCondition, or "" (OLM: pkg/controller/
// operators/olm/operatorconditions.go, isOperatorUpgradeable). One that cannot be read, an error, does not block.
func NotUpgradeable(o *manifest.Object) (string, *manifest.Error) {
	var overrides, asked, conditions []metav1.Condition
	var generation int64
	if err := cmp.Or(
		o.Field(&overrides, "spec", "overrides"),
		o.Field(&asked, "spec", "conditions"),
		o.Field(&conditions, "status", "conditions"),
		o.Field(&generation, "metadata", "generation"),
	); err != nil {
		return "", err
	}
	if override := meta.FindStatusCondition(overrides, operatorsv2.Upgradeable); override != nil {
		if override.Status == metav1.ConditionTrue {
			return "", nil
		}
		return "the operator is not upgradeable: " + override.Message, nil
	}
	// OLM copies spec.conditions to the status (OLM: pkg/controller/operators/operatorcondition_controller.go,
	// syncOperatorConditionStatus).
	for _, a := range asked {
		said := meta.FindStatusCondition(conditions, a.Type)
		if said == nil || said.Status != a.Status || said.ObservedGeneration != generation {
			a.ObservedGeneration = generation
			meta.SetStatusCondition(&conditions, a)
		}
	}
	switch said := meta.FindStatusCondition(conditions, operatorsv2.Upgradeable); {
	case said == nil:
	case said.ObservedGeneration != generation:
		return `the operatorcondition status "` + said.Type + `"="` + string(said.Status) + `" is outdated`, nil
	case said.Status == metav1.ConditionFalse:
		return "the operator is not upgradeable: " + said.Message, nil
	}
	return "", nil
}
