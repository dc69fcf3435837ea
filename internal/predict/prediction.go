package predict

import (
	"context"
	"errors"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// prediction is what OLM does with the objects of a tree.
type prediction struct {
	*world.World
	ctx       context.Context // of options.API
	err       error           // of options.API
	options   Options
	objects   []*manifest.Object // before anything is played
	files     map[string]bool    // that have them
	groups    []*group           // in the order of their creation
	csvs      []*csv             // in the order of their creation
	copied    []*csv             // that OLM made of them
	openShift bool               // the cluster is one of OpenShift

	taken      map[string]olm.TakenName        // CRDs of the tree that no API server serves
	dumped     map[string]bool                 // kinds of which the tree has objects of a cluster: see dumpedKinds
	open       bool                            // what the tree lacks may be in the cluster
	brings     []*manifest.Object              // CRDs of operators that the cluster did not have
	fitted     map[*manifest.Object]crs.Result // custom resources that are judged; nil until one is asked about
	unfitted   error                           // why not all of them are
	lacking    map[string]string               // by namespace: what OLM needs there, and the tree lacks
	unknownCSV map[string]bool                 // namespaces with a Subscription whose CSV is unknown
	unknown    []Unknown                       // these Subscriptions
	unforeseen []Unknown                       // Report.Unforeseen
	installs   []Install
	plans      []installPlan      // by namespace, in OLM's order
	played     []*InstallPlan     // those that were played
	extensions []*PlayedExtension // in the order of the tree
	operators  []Operator         // with what they mean for options.Target
	findings   []findings.Finding

	targetCSV map[*world.Subscription]string // what an InstallPlan installs for a Subscription
	stuck     map[*world.Subscription]bool   // they wait for a CSV that is not there
	assumed   map[[2]string]bool             // CSVs, by namespace and name, that only a Subscription's status names
	added     []*manifest.Object             // Subscriptions to dependencies
	failures  map[string]*resolve.Failure    // why OLM resolves nothing, by namespace
	steps     int                            // that OLM's loops have taken
}

// mostSteps is how often OLM's loops may look at an object, and how many pairs of an object and a namespace they may
// make: about 15 seconds. OLM looks at all of a namespace for each change.
const mostSteps = 100_000_000

func (c *prediction) work(steps int) { c.steps += steps }

func (c *prediction) tooMuch() bool { return c.steps > mostSteps }

// limit returns ErrTooMuch if the loops took too many steps.
func (c *prediction) limit() error {
	if c.tooMuch() {
		return ErrTooMuch
	}
	return nil
}

// ErrTooMuch is the error of a tree with more objects in its namespaces than OLM's loops can be played with.
var ErrTooMuch = errors.New("OLM's loops take too many steps with these objects: thousands of ClusterServiceVersions " +
	"are in one namespace, or OperatorGroups select thousands of namespaces; check parts of the tree")

// group is an OperatorGroup: first the manifest, then the state that OLM maintains.
type group struct {
	*world.Group
	unknown bool // it has a selector, and the tree does not say which Namespaces there are
	targets []string
	refused error // why OLM rejects the targets and writes no status

	exists     bool // the simulation has created it
	queued     bool // it waits for a reconcile loop
	hasAccount bool // OLM has found its ServiceAccount
	supposed   bool // the tree does not have its ServiceAccount, and the cluster may
	status     []string
	resolved   bool // OLM has written the status
	apis       apiSet
	pruned     bool    // a CSV provides each of apis
	text       *string // that annotation has returned
	written    bool    // OLM has written olm.providedAPIs
	dropped    apiSet  // what of that is no API
}

// csv is a ClusterServiceVersion: first the manifest, then the state that OLM maintains.
type csv struct {
	*world.CSV
	sub     *world.Subscription // the Subscription that installs it; nil if the CSV is in the tree
	updated bool                // the release of a catalog takes its place
	// it is a dependency of what sub installs, with a Subscription of its own that has no configuration
	dependency bool
	plan       *InstallPlan                    // that installs it; nil if it is not known
	typed      *v1alpha1.ClusterServiceVersion // of the plan
	provided   apiSet

	properties string // the annotation that OLM writes of what the catalog has

	exists, deleted bool
	queued          bool // it waits for the reconcile loop
	counted         bool // in simulation.queuedIn
	unsettled       bool // in simulation.unsettled
	position        int  // among the CSVs of its namespace
	observed        bool // the phase came from a cluster, which knows more than the tree
	moved           bool // OLM has set another one since
	phase           v1alpha1.ClusterServiceVersionPhase
	reason          v1alpha1.ConditionReason
	message         string
	problem         install.Problem   // of the CSV, which is why it has failed; empty if none is
	without         []install.Problem // Deployments without a ServiceAccount
	unknown         []string          // what its phase depends on and nobody looked at
	unasked         bool              // nobody answered for the API server
	ofGroup         map[string]string // the three annotations that OLM copies from the group
	needs           *needs
	rivals          []*group // groups that provide the same APIs
	disputed        apiSet
}

// predictionOf begins a prediction of a world. hidden are the objects that others take the place of.
func predictionOf(w *world.World, hidden []world.Duplicate) *prediction {
	c := &prediction{
		World:      w,
		unknownCSV: map[string]bool{},
		targetCSV:  map[*world.Subscription]string{},
		stuck:      map[*world.Subscription]bool{},
		assumed:    map[[2]string]bool{},
		failures:   map[string]*resolve.Failure{},
		lacking:    map[string]string{},
	}
	c.Duplicates = slices.Concat(hidden, c.Duplicates)
	c.judgeObjects()
	for _, of := range c.Groups {
		g := &group{Group: of, apis: apiSet{}}
		g.unknown = olm.TargetsOf(&of.Spec).BySelector() && (!c.Declared || c.Disputes.Labels != "")
		if g.unknown = g.unknown || c.tooMuch(); !g.unknown {
			c.work(len(c.Namespaces))
		}
		if g.Status.LastUpdated != nil || len(g.Status.Namespaces) > 0 { // OLM has processed it
			g.exists, g.resolved, g.hasAccount = true, true, g.Status.ServiceAccountRef != nil
			g.status = slices.Sorted(slices.Values(g.Status.Namespaces))
		}
		g.targets, g.refused = g.resolve(c.Namespaces)
		c.work(40 * len(g.targets))
		if text, ok := g.Annotations[olm.AnnotationProvidedAPIs]; ok {
			g.text, g.apis = &text, parseAPIs(text)
		}
		c.groups = append(c.groups, g)
	}
	for _, of := range c.CSVs {
		v := newCSV(of)
		if v.Copied {
			c.copied = append(c.copied, v)
			continue
		}
		c.csvs = append(c.csvs, v)
		if g := c.memberOf(v); g != nil && !g.exists { // a dump may lack the status
			g.exists, g.resolved, g.hasAccount = true, true, true
			g.status = strings.Split(v.ofGroup[olm.AnnotationTargets], ",")
			if g.unknown {
				g.targets = g.status
			}
		}
	}
	c.dumped = dumpedKinds(c.World)
	return c
}

// place is an object, or any one of a kind in a namespace.
type place struct{ kind, namespace, name string }

// findLacking finds what OLM needs in a namespace and the tree does not have, where the cluster may have it.
func (c *prediction) findLacking() {
	catalogs := c.options.Catalogs
	dumped := func(o *manifest.Object) bool { return o.Has("metadata", "uid") }
	c.open = catalogs.Open && !slices.ContainsFunc(c.OLM, dumped)
	if !catalogs.Open || slices.ContainsFunc(c.Groups, func(g *world.Group) bool { return dumped(g.Object) }) {
		return
	}
	groups := lists.Set(c.Groups, func(g *world.Group) string { return g.Namespace })
	asking := append(lists.Map(c.Subscriptions, func(s *world.Subscription) string { return s.Namespace }),
		lists.Map(c.csvs, func(v *csv) string { return v.Namespace })...)
	for _, ns := range asking {
		if at := (place{operatorsv1.OperatorGroupKind, ns, ""}); !groups[ns] && !catalogs.isGone(at.kind, ns, "") {
			c.lacking[ns] = "namespace " + ns + " has no OperatorGroup in the tree" + catalogs.where(at)
		}
	}
	if !c.open {
		return
	}
	bound := map[rbac.Account]bool{}
	for _, b := range c.RBAC.Bindings {
		for _, s := range b.Subjects {
			a, _ := rbac.AccountOf(s)
			bound[a] = true
		}
	}
	for _, g := range c.groups {
		at := place{rbacv1.ServiceAccountKind, g.Namespace, g.Spec.ServiceAccountName}
		account := "ServiceAccount " + at.name + " of OperatorGroup " + g.Name
		switch {
		case at.name == "", catalogs.isGone(at.kind, at.namespace, at.name),
			catalogs.isGone("RoleBinding", at.namespace, ""):
		case g.lacksAccount(c):
			g.supposed = true
			c.lacking[g.Namespace] = account + " is not in the tree" + catalogs.where(at)
		case !bound[rbac.Account{Namespace: at.namespace, Name: at.name}]:
			c.lacking[g.Namespace] = account + " has no rights in the tree"
		}
	}
}

// memberOf returns the group that OLM has made a CSV of a cluster a member of, as the annotations of the CSV say.
func (c *prediction) memberOf(v *csv) *group {
	targets, member := v.ofGroup[olm.AnnotationTargets]
	return lists.Find(c.groups, func(g *group) bool {
		return v.observed && member && g.Namespace == v.Namespace && v.ofGroup[olm.AnnotationGroup] == g.Name &&
			v.ofGroup[olm.AnnotationNamespace] == g.Namespace && (targets != allNamespaces ||
			olm.TargetsOf(&g.Spec).Global())
	})
}

func newCSV(of *world.CSV) *csv {
	v := &csv{CSV: of, ofGroup: map[string]string{}, phase: of.Phase, reason: of.Reason, message: of.Message}
	v.observed = v.phase != v1alpha1.CSVPhaseNone
	v.exists = v.observed
	if v.Unusable == nil {
		v.provided = sets.New(lists.Map(olm.OwnedAPIs(v.Spec()), olm.API.String)...)
	}
	for _, key := range groupAnnotations {
		if text, ok := v.Annotations[key]; ok {
			v.ofGroup[key] = text
		}
	}
	return v
}

// makes adds the ClusterServiceVersion that OLM makes for a Subscription.
func (c *prediction) makes(o *manifest.Object, i Install) (*csv, *manifest.Error) {
	of, err := world.CSVOf(o, i.sub.Namespace, i.sub.Ordered)
	if err != nil {
		return nil, err
	}
	of.Annotations = nil
	v := newCSV(of)
	v.sub, v.properties = i.sub, resolve.PropertiesAnnotation(i.Choice.Bundle, i.Choice.Package.Name)
	c.csvs = append(c.csvs, v)
	return v, nil
}

// judgeObjects reports objects that cannot be read, have no namespace, or are hidden by another one of their name.
func (c *prediction) judgeObjects() {
	for _, o := range c.Unplaced {
		c.note(ruleNoNamespace, findings.Note, o, "metadata.namespace", "no namespace is given, so it is not looked at",
			"set a namespace for such objects")
	}
	for _, d := range c.Duplicates {
		c.note(ruleDuplicate, d.Level(), d.Object, "", d.Says(), d.Hint())
	}
	for o := range c.All() {
		if e := olm.UnknownKind(o); e != nil {
			c.fault(e, o)
		}
	}
	invalid := map[*manifest.Object]bool{}
	for _, o := range c.OLM { // what the API server rejects, and the unknown fields that it drops
		rejected := olm.Rejected(o, "add it; if the file is a patch, list it as one in a kustomization.yaml")
		invalid[o] = len(rejected) > 0
		for _, e := range rejected {
			c.fault(e, o)
		}
		level := findings.Error
		if o.Kind == v1alpha1.ClusterServiceVersionKind {
			if _, copied := olm.CopiedObject(o); copied {
				continue // the original has the same fields
			}
			level = findings.Warning // published CSVs have some, and OLM installs them
		}
		for _, e := range olm.UnknownFields(o) {
			c.report(ruleUnknownField, level, e, o.Identity())
		}
	}
	for _, f := range c.Faults {
		if !invalid[f.Object] { // an invalid object is checked as far as it is readable: one run reports all mistakes
			c.fault(f.Error, f.Object)
		}
	}
	for _, o := range c.InstallPlans { // one of a cluster has a phase
		if phase, err := o.Get("status", "phase"); err == nil && phase == nil {
			c.note(ruleInstallPlan, findings.Warning, o, "", "InstallPlans do not belong into Git: OLM creates them",
				"remove it from the tree")
		}
	}
	for _, s := range c.Subscriptions {
		// operator-lifecycle-manager#1298: the type has it, nothing in pkg reads it
		if s.Has("spec", "config", "selector") {
			c.note(ruleIgnoredField, findings.Note, s.Object, "spec.config.selector",
				"OLM does not read the selector: the rest of the config applies to every Deployment of the operator",
				"")
		}
		approvals := text.Words([]v1alpha1.Approval{v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual})
		if a := s.Approval; a != "" && !slices.Contains(approvals, a) && !olm.HasPlaceholder(a) {
			c.note(ruleIgnoredField, findings.Warning, s.Object, "spec.installPlanApproval",
				"OLM takes "+text.Brief(a)+" for Automatic: only Manual has InstallPlans wait",
				"write "+text.Or(approvals))
		}
	}
}

// allNamespaces is the only target of a global OperatorGroup.
const allNamespaces = ""

// untold reports whether nobody can say the target namespaces: not by its selector, and not by its status.
func (g *group) untold() bool { return g.unknown && len(g.status) == 0 }

// resolve returns the target namespaces of an OperatorGroup, sorted. On an error OLM writes no status.
func (g *group) resolve(namespaces map[string]labels.Set) ([]string, error) {
	t := olm.TargetsOf(&g.Spec)
	list, err := t.Resolve(namespaces)
	if err == nil && t.BySelector() && g.unknown {
		return g.status, nil
	}
	return list, err
}

// apiSet is a set of provided APIs: Kind.version.group, as olm.providedAPIs has them.
type apiSet = sets.Set[string]

// parseAPIs reads olm.providedAPIs. It removes blanks and skips items with fewer than two dots (OLM:
// pkg/controller/registry/resolver/cache/operators.go, GVKStringToProvidedAPISet).
func parseAPIs(annotation string) apiSet {
	return sets.New(lists.Filter(olm.ListedAPIs(annotation), func(api string) bool {
		return strings.Count(api, ".") >= 2
	})...)
}

func listed(s apiSet) string { return strings.Join(sets.List(s), ",") }

func isGlobal(targets []string) bool { return len(targets) == 1 && targets[0] == allNamespaces }

// covered returns the namespaces that OLM compares between groups: the targets and the group's own namespace. A group
// without targets covers none and intersects with no group, not even a global one (OLM:
// pkg/controller/operators/olm/groups.go, NewOperatorGroup, Intersection).
func (g *group) covered() []string {
	if len(g.status) == 0 || isGlobal(g.status) {
		return g.status
	}
	return append(slices.Clip(g.status), g.Namespace)
}
