package predict

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/generate/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict/plan"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

const placeholder = "placeholder" // the namespace of CSVs in bundles that operator-sdk generates

// cluster is the state of a cluster, as far as a tree describes it.
type cluster struct {
	namespaces  map[string]labels.Set // declared in the tree, or used by an object
	declared    bool                  // the tree has Namespaces
	groups      []*group              // in the order of their creation
	csvs        []*csv                // in the order of their creation, with copies
	subs        []*subscription
	sources     []*manifest.Object // CatalogSources
	configMaps  []*manifest.Object
	policies    []*manifest.Object // OperatorPolicies, and Policies
	hub         *hub               // nil: the tree has none
	crds        map[string]*manifest.Object
	apis        map[string]*manifest.Object // APIServices
	conditions  map[string]*manifest.Object // OperatorConditions, by namespace/name
	deployments map[string]*manifest.Object // by namespace/name
	unreviewed  []*manifest.Object          // of kinds that no rule reads, custom resources among them
	rbac        rbac.Objects
	releases    fit.Cluster
	openShift   bool // the cluster is one of OpenShift
	noCopies    bool // OLMConfig: copied CSVs of global groups are disabled

	unknownCSV map[string]bool // namespaces with a Subscription whose CSV is unknown
	unknown    []Unknown       // these Subscriptions
	installs   []Install
	plans      []installPlan               // by namespace, in OLM's order
	played     []*InstallPlan              // those that were played
	live       *plan.Cluster               // the objects, with what InstallPlans made
	first      map[string]*manifest.Object // the first object of each name, by key
	extensions []*PlayedExtension          // in the order of the tree
	findings   []findings.Finding

	asked    map[*subscription]string    // what an InstallPlan installs for a Subscription
	added    []*manifest.Object          // Subscriptions to dependencies
	failures map[string]*resolve.Failure // why OLM resolves nothing, by namespace
}

// ordered is an object with its position in the order of creation.
type ordered struct {
	*manifest.Object
	created string // creationTimestamp; empty for an object that was never in a cluster
	index   int    // position in the tree
}

// compare orders objects by creationTimestamp, then by their position in the tree. Objects without a timestamp come
// last.
func (p ordered) compare(o ordered) int {
	if (p.created == "") != (o.created == "") {
		return cmp.Compare(o.created, p.created)
	}
	return cmp.Or(cmp.Compare(p.created, o.created), cmp.Compare(p.index, o.index))
}

// group is an OperatorGroup: first the manifest, then the state that OLM maintains.
type group struct {
	ordered
	spec    operatorsv1.OperatorGroupSpec
	given   string // olm.providedAPIs
	unknown bool   // it has a selector, and the tree has no Namespaces
	targets []string
	refused error // why OLM rejects the targets and writes no status

	exists     bool // the simulation has created it
	queued     bool // it waits for a reconcile loop
	hasAccount bool // OLM has found its ServiceAccount
	status     []string
	resolved   bool // OLM has written the status
	apis       apiSet
	text       *string // olm.providedAPIs; nil if it is absent
}

// csv is a ClusterServiceVersion: first the manifest, then the state that OLM maintains.
type csv struct {
	ordered
	name, namespace string
	sub             *subscription                   // the Subscription that installs it; nil if the CSV is in the tree
	updated         bool                            // the release of a catalog takes its place
	plan            *InstallPlan                    // that installs it; nil if it is not known
	typed           *v1alpha1.ClusterServiceVersion // of the plan
	modes           []v1alpha1.InstallMode
	provided        apiSet
	unusable        error // why OLM ignores it
	crds            v1alpha1.CustomResourceDefinitions
	services        v1alpha1.APIServiceDefinitions
	replaces        string
	copied          bool
	given           map[string]string // annotations
	source          string            // olm.copiedFrom

	exists, deleted bool
	queued          bool // it waits for the reconcile loop
	position        int  // among the CSVs of its namespace
	observed        bool // the phase comes from a cluster, which knows more than the tree
	phase           v1alpha1.ClusterServiceVersionPhase
	reason          v1alpha1.ConditionReason
	message         string
	annotations     map[string]string // the three that OLM copies from the group
	needs           *needs
	rivals          []*group // groups that provide the same APIs
	disputed        apiSet
}

// read builds the state from objects. Namespaced objects without a namespace go to the default namespace, if there is
// one.
func read(objects []*manifest.Object, defaultNamespace string) *cluster {
	c := &cluster{
		namespaces:  map[string]labels.Set{},
		crds:        map[string]*manifest.Object{},
		apis:        map[string]*manifest.Object{},
		deployments: map[string]*manifest.Object{},
		conditions:  map[string]*manifest.Object{},
		unknownCSV:  map[string]bool{},
		asked:       map[*subscription]string{},
		failures:    map[string]*resolve.Failure{},
		first:       map[string]*manifest.Object{},
	}
	for i, o := range objects {
		if o.Namespace != "" && o.Namespace != placeholder {
			c.namespace(o.Namespace, nil)
		}
		if err := c.add(o, defaultNamespace, i); err != nil {
			c.fault(err, o)
		}
	}
	slices.SortStableFunc(c.groups, func(a, b *group) int { return a.compare(b.ordered) })
	slices.SortStableFunc(c.csvs, func(a, b *csv) int { return a.compare(b.ordered) })
	for _, g := range c.groups {
		g.unknown = olm.TargetsOf(&g.spec).BySelector() && !c.declared
		g.targets, g.refused = g.resolve(c.namespaces)
	}
	return c
}

// add adds an object. index is its position in the tree.
func (c *cluster) add(o *manifest.Object, defaultNamespace string, index int) *manifest.Error {
	kind := o.Group() + "/" + o.Kind
	switch kind {
	case "/Namespace":
		return c.addNamespace(o)
	case olm.Group + "/OperatorGroup", olm.Group + "/ClusterServiceVersion", olm.Group + "/Subscription",
		olm.Group + "/CatalogSource":
		return c.addNamespaced(o, defaultNamespace, index)
	case olm.Group + "/InstallPlan":
		c.judgeInstallPlan(o)
		return nil
	case olm.GroupPolicy + "/" + olm.KindOperatorPolicy, olm.GroupPolicy + "/" + olm.KindPolicy:
		c.policies = append(c.policies, o)
		return nil
	}
	namespace := cmp.Or(o.Namespace, defaultNamespace)
	unique := slices.Contains(uniqueKinds, kind)
	known, _ := olm.KindOf(o.Group(), o.Kind)
	if unique && !known.Namespaced {
		namespace = ""
	}
	if unique && (!known.Namespaced || namespace != "") && c.duplicate(o, namespace) {
		return nil
	}
	switch kind {
	case "apiextensions.k8s.io/CustomResourceDefinition":
		c.crds[o.Name] = o
	case "apiregistration.k8s.io/APIService":
		c.apis[o.Name] = o
	case olm.Group + "/OLMConfig":
		if o.Name == "cluster" {
			return field(o, &c.noCopies, "spec", "features", "disableCopiedCSVs")
		}
	case olm.Group + "/OperatorCondition":
		c.conditions[namespace+"/"+o.Name] = o
	case "config.openshift.io/OperatorHub":
		return c.addHub(o)
	case "/ConfigMap":
		c.configMaps = append(c.configMaps, inNamespace(o, namespace))
	case "apps/Deployment":
		c.deployments[namespace+"/"+o.Name] = o
	default:
		if unique {
			if err := c.rbac.Add(o, namespace); err != nil {
				return asError(o, err)
			}
			return nil
		}
		c.unreviewed = append(c.unreviewed, o)
	}
	return nil
}

// uniqueKinds are kinds of which the first object of a name counts.
var uniqueKinds = []string{
	"apiextensions.k8s.io/CustomResourceDefinition",
	"apiregistration.k8s.io/APIService",
	olm.Group + "/OLMConfig",
	olm.Group + "/OperatorCondition",
	"/ServiceAccount",
	"rbac.authorization.k8s.io/Role",
	"rbac.authorization.k8s.io/RoleBinding",
	"rbac.authorization.k8s.io/ClusterRole",
	"rbac.authorization.k8s.io/ClusterRoleBinding",
}

// namespace records that a namespace exists. The API server labels it with its name.
func (c *cluster) namespace(name string, set labels.Set) {
	if c.namespaces[name] == nil {
		c.namespaces[name] = labels.Set{}
	}
	maps.Copy(c.namespaces[name], set)
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
		c.note(
			ruleNoNamespace,
			findings.Note,
			o,
			"metadata.namespace",
			"no namespace is given, so it is not looked at",
			"set a namespace for such objects",
		)
		return nil
	}
	c.namespace(namespace, nil)
	o = inNamespace(o, namespace)
	if c.duplicate(o, namespace) {
		c.keepStatus(o)
		return nil
	}
	valid := c.judgeFields(o)
	if err := c.addOLM(ordered{Object: o, index: index}); err != nil && valid {
		return err
	}
	return nil // check an invalid object as far as it is readable, so that one run reports all mistakes
}

// keepStatus takes over what a Subscription of a cluster has installed, if the one that counts is the same one of Git.
func (c *cluster) keepStatus(o *manifest.Object) {
	for _, s := range c.subs {
		if o.Kind == s.Kind && o.Namespace == s.Namespace && o.Name == s.Name && s.installed == "" {
			_ = field(o, &s.installed, "status", "installedCSV") // what is no text counts for nothing
		}
	}
}

func inNamespace(o *manifest.Object, namespace string) *manifest.Object {
	if o.Namespace == namespace {
		return o
	}
	clone := *o
	clone.Namespace = namespace
	return &clone
}

func (c *cluster) addOLM(p ordered) *manifest.Error {
	if err := field(p.Object, &p.created, "metadata", "creationTimestamp"); err != nil {
		return err
	}
	switch p.Kind {
	case "OperatorGroup":
		return c.addGroup(p)
	case "ClusterServiceVersion":
		return c.addCSV(p)
	case "Subscription":
		return c.addSubscription(p)
	case "CatalogSource":
		c.sources = append(c.sources, p.Object)
	}
	return nil
}

func key(o *manifest.Object, namespace string) string {
	return o.Group() + "/" + o.Kind + "/" + namespace + "/" + o.Name
}

// duplicate reports whether the tree has an object of the same name already. If the two differ, the first counts, and
// duplicate adds a finding.
func (c *cluster) duplicate(o *manifest.Object, namespace string) bool {
	k := key(o, namespace)
	first := c.first[k]
	if first == nil {
		c.first[k] = o
		return false
	}
	if !same(first, o) {
		c.note(
			ruleDuplicate,
			findings.Warning,
			o,
			"",
			"differs from the object of the same name in "+first.File+", which counts",
			"check one environment at a time, for example the output of kustomize build",
		)
	}
	return true
}

func same(a, b *manifest.Object) bool {
	va, errA := a.Value()
	vb, errB := b.Value()
	ja, _ := json.Marshal(va) //nolint:errchkjson // the value comes from a parsed document
	jb, _ := json.Marshal(vb) //nolint:errchkjson
	return errA == nil && errB == nil && string(ja) == string(jb)
}

func (c *cluster) addGroup(p ordered) *manifest.Error {
	g := &group{ordered: p, apis: apiSet{}}
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
	if text, ok := annotations[olm.AnnotationProvidedAPIs]; ok {
		g.given, g.text, g.apis = text, &text, parseAPIs(text)
	}
	if status.LastUpdated != nil || len(status.Namespaces) > 0 { // OLM has processed it
		g.exists, g.resolved, g.hasAccount = true, true, status.ServiceAccountRef != nil
		g.status = slices.Sorted(slices.Values(status.Namespaces))
	}
	c.groups = append(c.groups, g)
	return nil
}

// field decodes one field of an object. If the field is absent, into keeps its value.
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

// direct sets the types of most fields without a detour over JSON.
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
