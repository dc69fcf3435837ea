package groups

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/manifest"
)

const olmGroup = "operators.coreos.com"

// cluster is what a tree of objects says of a cluster.
type cluster struct {
	namespaces map[string]labels.Set // those that are declared, and those that objects are in
	declared   bool                  // there are Namespaces in the tree
	groups     []*group              // in the order of their creation
	csvs       []*csv                // in the order of their creation, copies too
	subs       []*subscription
	crds       map[string]*manifest.Object
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

// before is the order of creation: by creationTimestamp, what has none after what has one, then as in the tree.
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

	exists   bool // in the course of events
	status   []string
	resolved bool  // the status is written
	refused  error // why OLM writes no status
	apis     apiSet
	text     *string // olm.providedAPIs; nil: none
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
	unmet           []string          // requirements
	rivals          []*group          // groups that provide the same APIs
	disputed        []api
}

// read takes what counts out of objects. A namespaced object without a namespace is in the default one, if there is any.
func read(objects []*manifest.Object, defaultNamespace string) *cluster {
	c := &cluster{namespaces: map[string]labels.Set{}, crds: map[string]*manifest.Object{}, rbac: newRBAC(), blind: map[string]bool{}, first: map[string]*manifest.Object{}}
	for i, o := range objects {
		if o.Namespace != "" {
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
		case olmGroup + "/OLMConfig":
			if o.Name == "cluster" {
				err = field(o, &c.noCopies, "spec", "features", "disableCopiedCSVs")
			}
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
	var set labels.Set
	err := field(o, &set, "metadata", "labels")
	c.namespace(o.Name, set)
	return err
}

func (c *cluster) addNamespaced(o *manifest.Object, defaultNamespace string, index int) *manifest.Error {
	namespace := cmp.Or(o.Namespace, defaultNamespace)
	if namespace == "" {
		c.note(ruleNoNamespace, findings.Note, o, "metadata.namespace", "none is given, so it is not looked at", "say with --namespace where such objects go")
		return nil
	}
	c.namespace(namespace, nil)
	if o.Namespace == "" {
		clone := *o
		clone.Namespace = namespace
		o = &clone
	}
	if c.duplicate(o, namespace) {
		return nil
	}
	p := placed{Object: o, index: index}
	if err := field(o, &p.created, "metadata", "creationTimestamp"); err != nil {
		return err
	}
	switch o.Kind {
	case "OperatorGroup":
		return c.addGroup(p)
	case "ClusterServiceVersion":
		return c.addCSV(p)
	}
	return c.addSubscription(p)
}

// duplicate reports whether an object is in the tree already. Of two that differ the first counts, and a finding says so.
func (c *cluster) duplicate(o *manifest.Object, namespace string) bool {
	key := o.Group() + "/" + o.Kind + "/" + namespace + "/" + o.Name
	first := c.first[key]
	if first == nil {
		c.first[key] = o
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
		g.exists, g.resolved = true, true
		g.status = slices.Sorted(slices.Values(status.Namespaces))
	}
	c.groups = append(c.groups, g)
	return nil
}

func (c *cluster) addCSV(p placed) *manifest.Error {
	v := &csv{placed: p, name: p.Name, namespace: p.Namespace, annotations: map[string]string{}}
	if err := v.read(p.Object); err != nil {
		return err
	}
	var set map[string]string
	var status struct {
		Phase   v1alpha1.ClusterServiceVersionPhase `json:"phase"`
		Reason  v1alpha1.ConditionReason            `json:"reason"`
		Message string                              `json:"message"`
	}
	for _, err := range []*manifest.Error{
		field(p.Object, &set, "metadata", "labels"),
		field(p.Object, &status.Phase, "status", "phase"),
		field(p.Object, &status.Reason, "status", "reason"),
		field(p.Object, &status.Message, "status", "message"),
	} {
		if err != nil {
			return err
		}
	}
	v.phase, v.reason, v.message = status.Phase, status.Reason, status.Message
	v.observed = v.phase != v1alpha1.CSVPhaseNone
	v.exists = v.observed
	for _, key := range groupAnnotations {
		if text, ok := v.given[key]; ok {
			v.annotations[key] = text
		}
	}
	// OLM: api, pkg/operators/v1alpha1/clusterserviceversion.go, IsCopied
	home, annotated := v.given[operatorsv1.OperatorGroupNamespaceAnnotationKey]
	v.source = set[v1alpha1.CopiedLabelKey]
	v.copied = v.reason == v1alpha1.CSVReasonCopied || annotated && home != v.namespace
	if _, labelled := set[v1alpha1.CopiedLabelKey]; labelled {
		v.copied = true
	} else if v.copied {
		v.source = home
	}
	c.csvs = append(c.csvs, v)
	return nil
}

// read takes what counts out of a ClusterServiceVersion, and no more: they are large.
func (v *csv) read(o *manifest.Object) *manifest.Error {
	var requiredServices []ownedAPI
	for _, err := range []*manifest.Error{
		field(o, &v.given, "metadata", "annotations"),
		field(o, &v.modes, "spec", "installModes"),
		field(o, &v.replaces, "spec", "replaces"),
		apisOf(o, &v.owned, "customresourcedefinitions", "owned"),
		apisOf(o, &v.required, "customresourcedefinitions", "required"),
		apisOf(o, &v.services, "apiservicedefinitions", "owned"),
		apisOf(o, &requiredServices, "apiservicedefinitions", "required"),
	} {
		if err != nil {
			return err
		}
	}
	v.provided, v.unusable = surface(v.owned, v.required, v.services)
	return nil
}

func apisOf(o *manifest.Object, into *[]ownedAPI, definitions, list string) *manifest.Error {
	for i := range o.Len("spec", definitions, list) {
		at := []string{"spec", definitions, list, strconv.Itoa(i)}
		var a ownedAPI
		for _, f := range []struct {
			key string
			to  *string
		}{{"name", &a.Name}, {"group", &a.Group}, {"version", &a.Version}, {"kind", &a.Kind}, {"deploymentName", &a.DeploymentName}} {
			if err := field(o, f.to, append(slices.Clip(at), f.key)...); err != nil {
				return err
			}
		}
		*into = append(*into, a)
	}
	return nil
}

// field decodes one field of an object, which keeps its zero value where there is none.
func field[T any](o *manifest.Object, into *T, path ...string) *manifest.Error {
	v, err := o.Get(path...)
	if err != nil {
		return asError(o, err)
	}
	switch to := any(into).(type) {
	case *string:
		if s, ok := v.(string); ok || v == nil {
			*to = s
			return nil
		}
	case *bool:
		if b, ok := v.(bool); ok || v == nil {
			*to = b
			return nil
		}
	}
	if v == nil {
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
