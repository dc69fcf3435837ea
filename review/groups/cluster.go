package groups

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/findings"
)

const (
	olmGroup    = "operators.coreos.com"
	placeholder = "placeholder" // the namespace of CSVs in bundles that operator-sdk generates
)

// cluster is what a tree of objects says of a cluster.
type cluster struct {
	namespaces map[string]labels.Set // those that are declared, and those that objects are in
	declared   bool                  // there are Namespaces in the tree
	groups     []*group              // in the order of their creation
	csvs       []*csv                // in the order of their creation, copies too
	subs       []*subscription
	crds       map[string]*manifest.Object
	apis       map[string]*manifest.Object // APIServices
	conditions map[string]*manifest.Object // OperatorConditions, by namespace/name
	rbac       rbac
	noCopies   bool // OLMConfig: copied CSVs of global groups are disabled

	blind    map[string]bool             // namespaces with a Subscription of which it is not known what it installs
	first    map[string]*manifest.Object // what has an identity, by it
	findings []findings.Finding
}

// placed is an object at its place in the order of creation.
type placed struct {
	*manifest.Object
	created string // creationTimestamp; empty where it is only a file
	index   int    // in the tree
}

// compare is the order of creation: by creationTimestamp, what has none after what has one, then as in the tree.
func (p placed) compare(o placed) int {
	if (p.created == "") != (o.created == "") {
		return cmp.Compare(o.created, p.created)
	}
	return cmp.Or(cmp.Compare(p.created, o.created), cmp.Compare(p.index, o.index))
}

// group is an OperatorGroup: as it was given, and as OLM makes it.
type group struct {
	placed
	spec    operatorsv1.OperatorGroupSpec
	given   string // olm.providedAPIs
	unknown bool   // its targets are not known, for lack of Namespaces
	targets []string
	refused error // why there are no targets, and OLM writes no status

	exists     bool // in the course of events
	hasAccount bool // the cluster has found its account
	status     []string
	resolved   bool // the status is written
	apis       apiSet
	text       *string // olm.providedAPIs; nil: none
}

// csv is a ClusterServiceVersion: as it was given, and as OLM makes it.
type csv struct {
	placed
	name, namespace string
	sub             *subscription // that it stands for; nil if it is in the tree
	modes           []v1alpha1.InstallMode
	provided        apiSet
	unusable        error      // why OLM does nothing with it
	owned, required []ownedAPI // CRDs
	services        []ownedAPI // owned APIServices
	needed          []ownedAPI // required APIServices
	replaces        string
	copied          bool
	given           map[string]string // annotations
	source          string            // olm.copiedFrom

	exists, deleted bool
	observed        bool // the phase is the cluster's, which knows more than the tree
	phase           v1alpha1.ClusterServiceVersionPhase
	reason          v1alpha1.ConditionReason
	message         string
	annotations     map[string]string // those three of the group
	needs           *needs
	rivals          []*group // groups that provide the same APIs
	disputed        apiSet
}

// read takes what counts out of objects. A namespaced object without a namespace is in the default one, if there is any.
func read(objects []*manifest.Object, defaultNamespace string) *cluster {
	c := &cluster{namespaces: map[string]labels.Set{}, crds: map[string]*manifest.Object{}, apis: map[string]*manifest.Object{}, conditions: map[string]*manifest.Object{},
		rbac: newRBAC(), blind: map[string]bool{}, first: map[string]*manifest.Object{}}
	for i, o := range objects {
		if o.Namespace != "" && o.Namespace != placeholder {
			c.namespace(o.Namespace, nil)
		}
		var err *manifest.Error
		switch o.Group() + "/" + o.Kind {
		case "/Namespace":
			err = c.addNamespace(o)
		case "/ServiceAccount", "rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/RoleBinding",
			"rbac.authorization.k8s.io/ClusterRole", "rbac.authorization.k8s.io/ClusterRoleBinding":
			err = c.rbac.add(o, defaultNamespace)
		case "apiextensions.k8s.io/CustomResourceDefinition":
			c.crds[o.Name] = o
		case "apiregistration.k8s.io/APIService":
			c.apis[o.Name] = o
		case olmGroup + "/OLMConfig":
			if o.Name == "cluster" {
				err = field(o, &c.noCopies, "spec", "features", "disableCopiedCSVs")
			}
		case olmGroup + "/OperatorCondition":
			c.conditions[cmp.Or(o.Namespace, defaultNamespace)+"/"+o.Name] = o
		case olmGroup + "/OperatorGroup", olmGroup + "/ClusterServiceVersion", olmGroup + "/Subscription":
			err = c.addNamespaced(o, defaultNamespace, i)
		}
		if err != nil {
			c.fault(err, o)
		}
	}
	slices.SortStableFunc(c.groups, func(a, b *group) int { return a.compare(b.placed) })
	slices.SortStableFunc(c.csvs, func(a, b *csv) int { return a.compare(b.placed) })
	for _, g := range c.groups {
		g.unknown = g.bySelector() && !c.declared
		g.targets, g.refused = g.resolve(c.namespaces)
	}
	return c
}

// namespace notes that a namespace exists. The API server gives it a label with its name.
func (c *cluster) namespace(name string, set labels.Set) {
	if c.namespaces[name] == nil {
		c.namespaces[name] = labels.Set{}
	}
	for k, v := range set {
		c.namespaces[name][k] = v
	}
	c.namespaces[name]["kubernetes.io/metadata.name"] = name
}

func (c *cluster) addNamespace(o *manifest.Object) *manifest.Error {
	if c.duplicate(o, "") {
		return nil
	}
	c.declared = true
	var set map[string]string
	err := field(o, &set, "metadata", "labels")
	c.namespace(o.Name, set)
	return err
}

func (c *cluster) addNamespaced(o *manifest.Object, defaultNamespace string, index int) *manifest.Error {
	namespace := cmp.Or(o.Namespace, defaultNamespace)
	if o.Namespace == placeholder {
		namespace = defaultNamespace
	}
	if namespace == "" {
		c.note(ruleNoNamespace, findings.Note, o, "metadata.namespace", "no namespace is given, so it is not looked at", "give the namespace of such objects")
		return nil
	}
	c.namespace(namespace, nil)
	if o.Namespace != namespace {
		clone := *o
		clone.Namespace = namespace
		o = &clone
	}
	if c.duplicate(o, namespace) {
		return nil
	}
	fits := c.fits(o)
	if err := c.addOLM(placed{Object: o, index: index}); err != nil && fits {
		return err
	}
	return nil // what does not fit is played as far as it can be read: the next mistake need not wait for the first to be mended
}

func (c *cluster) addOLM(p placed) *manifest.Error {
	if err := field(p.Object, &p.created, "metadata", "creationTimestamp"); err != nil {
		return err
	}
	switch p.Kind {
	case "OperatorGroup":
		return c.addGroup(p)
	case "ClusterServiceVersion":
		return c.addCSV(p)
	}
	return c.addSubscription(p)
}

func key(o *manifest.Object, namespace string) string {
	return o.Group() + "/" + o.Kind + "/" + namespace + "/" + o.Name
}

// duplicate reports whether an object is in the tree already. Of two that differ the first counts, and a finding says so.
func (c *cluster) duplicate(o *manifest.Object, namespace string) bool {
	k := key(o, namespace)
	first := c.first[k]
	if first == nil {
		c.first[k] = o
		return false
	}
	if !same(first, o) {
		c.note(ruleDuplicate, findings.Warning, o, "", "another one of that name is in "+first.File+", which counts", "check one environment at a time, as kustomize build makes it")
	}
	return true
}

func same(a, b *manifest.Object) bool {
	va, errA := a.Value()
	vb, errB := b.Value()
	ja, _ := json.Marshal(va) //nolint:errchkjson // a value that was read can be written
	jb, _ := json.Marshal(vb) //nolint:errchkjson
	return errA == nil && errB == nil && string(ja) == string(jb)
}

func (c *cluster) addGroup(p placed) *manifest.Error {
	g := &group{placed: p, apis: apiSet{}}
	var annotations map[string]string
	var status operatorsv1.OperatorGroupStatus
	for _, err := range []*manifest.Error{
		field(p.Object, &g.spec, "spec"),
		field(p.Object, &annotations, "metadata", "annotations"),
		field(p.Object, &status, "status"),
	} {
		if err != nil {
			return err
		}
	}
	if text, ok := annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey]; ok {
		g.given, g.text, g.apis = text, &text, parseAPIs(text)
	}
	if status.LastUpdated != nil || len(status.Namespaces) > 0 { // OLM has seen it
		g.exists, g.resolved, g.hasAccount = true, true, status.ServiceAccountRef != nil
		g.status = slices.Sorted(slices.Values(status.Namespaces))
	}
	c.groups = append(c.groups, g)
	return nil
}

// field decodes one field of an object, which keeps its zero value where there is none.
func field[T any](o *manifest.Object, into *T, path ...string) *manifest.Error {
	v, err := o.Get(path...)
	if err != nil {
		return asError(o, err)
	}
	if v == nil || direct(v, into) {
		return nil
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return o.Errorf(strings.Join(path, "."), "has the wrong type, the API server refuses it: %v", err)
	}
	return nil
}

// direct sets what most fields are, without the way over JSON.
func direct(v, into any) bool {
	switch into := into.(type) {
	case *string:
		s, ok := v.(string)
		*into = s
		return ok
	case *map[string]string:
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		set := make(map[string]string, len(m))
		for key, value := range m {
			s, ok := value.(string)
			if !ok {
				return false
			}
			set[key] = s
		}
		*into = set
		return true
	}
	return false
}
