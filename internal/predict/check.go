// Package predict predicts what OLM does with the OperatorGroups and ClusterServiceVersions in a tree of manifests:
// the target namespaces and provided APIs of each group, and the phase, reason and message of each CSV in OLM's
// words. It never contacts a cluster.
//
// The rules are those of OLM v0.46 (github.com/operator-framework/operator-lifecycle-manager,
// pkg/controller/operators/olm: operatorgroup.go, groups.go, operator.go, requirements.go). docs/check.md lists them.
package predict

import (
	"cmp"
	"context"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

// Options configure Check. The zero value suits a tree of a whole cluster.
type Options struct {
	Namespace string // of objects that name no namespace; if empty, Check ignores them
	Catalogs  Catalogs
	// the releases in the cluster; without any, nothing is said of them, and Kubernetes is as new as a CSV needs it
	Target fit.Cluster
	// judges custom resources by their CRDs; nil if nobody does
	Checker crs.Checker
	// what the API server says to objects; nil if nobody asks
	API writes.Checker
	// the objects of the tree are asked about, too
	Applied bool
	// Unchanged reports whether another state has an object just so: it is not held against its CRD. It may be nil.
	Unchanged func(*manifest.Object) bool
	// how the bundles are fetched that OLM updates operators to; nil if these updates are not judged
	Bundles *catalog.Options

	// the CSVs that Subscriptions have installed by their status are there, although the tree lacks them
	Installed bool

	cluster string // of a tree; empty if the tree is one
}

// Report describes the state that OLM reaches with a tree.
type Report struct {
	Scope Scope // of a tree; zero for one cluster

	Groups   []Group            // by namespace and name
	CSVs     []CSV              // by namespace and name, without copies
	Findings []findings.Finding // by file and line

	Plans         []*InstallPlan      // by namespace, in OLM's order: the InstallPlans that OLM executes at once
	Subscriptions []SubscriptionState // in the order of the tree

	Installs []Install // by namespace, in OLM's order: what OLM installs and the tree does not have
	Updates  []Update  // in the same order: what OLM replaces
	Unknown  []Unknown // in the order of the tree
	// Unforeseen are Subscriptions whose operator is there, and of which nobody can say what OLM updates it to.
	Unforeseen []Unknown

	Extensions []*PlayedExtension // in the order of the tree

	Target    fit.Cluster // that was asked about
	Operators []Operator  // with what they mean for it, if it is known; in OLM's order, then those of OLM v1

	objects  jsonCounts // of the tree: those of OLM's metrics that are not about CSVs
	policies []*olm.OperatorPolicy
	brought  map[string]olm.Kind // by operators, with their CRDs

	// After is the cluster that OLM leaves: the objects of the tree and what OLM makes of them, OLM's own objects with
	// their status, without what is lost. It can be the cluster of another Check.
	After []*manifest.Object
}

// Group is an OperatorGroup after OLM has processed it. Its fields in JSON are those of the object in a cluster.
type Group struct {
	Cluster     string            `json:"cluster,omitempty"` // its directory in a tree; empty if the tree is one
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	File        string            `json:"file"`
	Line        int               `json:"line"`
	Annotations map[string]string `json:"annotations,omitempty"` // olm.providedAPIs, if it is there
	Status      GroupStatus       `json:"status"`
	Unknown     string            `json:"unknown,omitempty"` // why status.namespaces cannot be predicted
}

// GroupStatus is the status of an OperatorGroup.
type GroupStatus struct {
	Namespaces []string      `json:"namespaces"` // sorted; [""] means all namespaces
	Account    *GroupAccount `json:"serviceAccountRef,omitempty"`
	Conditions []Condition   `json:"conditions,omitempty"`
}

// GroupAccount is the ServiceAccount of an OperatorGroup.
type GroupAccount struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
}

// Condition is a status condition of an OperatorGroup.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// CSV is a ClusterServiceVersion after OLM has processed it.
type CSV struct {
	Cluster      string            `json:"cluster,omitempty"` // as in Group
	Namespace    string            `json:"namespace"`
	Name         string            `json:"name"`
	File         string            `json:"file"` // of the Subscription that installs it, or of the CSV itself
	Line         int               `json:"line"`
	Subscription string            `json:"subscription,omitempty"` // that installs it, if the tree has no such CSV
	Phase        string            `json:"phase"`                  // empty if OLM sets none
	Reason       string            `json:"reason"`
	Message      string            `json:"message"`
	Unknown      string            `json:"unknown,omitempty"` // why the phase cannot be predicted
	Annotations  map[string]string `json:"annotations,omitempty"`
	CopiedTo     []string          `json:"copiedTo,omitempty"` // namespaces with a copy, sorted

	NotLookedAt []string `json:"notLookedAt,omitempty"` // what Succeeded may depend on
}

// Check predicts what OLM does with the objects of a tree and reports what is wrong. The same tree yields the same
// report. An error is that of ctx or of a catalog that cannot be read again, or ErrTooMuch.
func Check(ctx context.Context, t *tree.Tree, o Options) (*Report, error) {
	o.Catalogs.OpenShift = o.Catalogs.OpenShift || o.Target.OpenShift != nil
	c := clusterOf(ctx, t, o)
	c.skipped(t)
	if err := inTurn(ctx, c.subscribe, c.judgeUpgrades, c.judgeUpdates, c.playExtensions, c.judgeTarget); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.csvs, func(a, b *csv) int { return a.Order(b.Ordered) })
	played := play(c)
	if err := cmp.Or(c.err, c.limit()); err != nil {
		return nil, err
	}
	played.shared = c.RBAC.Shared()
	if played.restless {
		c.report(ruleRestless, findings.Warning,
			&manifest.Error{Msg: "OLM never reaches a stable state with these objects"}, "")
	}
	r := &Report{Installs: c.installs, Unknown: c.unknown, Unforeseen: c.unforeseen, Target: o.Target,
		Operators: c.operators, Extensions: c.extensions, policies: c.Policies,
		objects: jsonCounts{Subscriptions: len(c.Subscriptions), InstallPlans: len(c.InstallPlans),
			Sources: len(c.Sources)}}
	played.leave(r)
	played.judgeConversions()
	played.judgeEach(r)
	played.judgeSubscriptions()
	played.judgeResources()
	played.judgeInheritance()
	played.judgeEngines(t.Engines)
	if err := inTurn(ctx, c.judgeFit, c.judgeApplied); err != nil {
		return nil, err
	}
	r.brought = olm.DefinedKinds(c.brought())
	c.judgeNothing()
	played.judgeNames()
	played.judgeCopies()
	played.judgeOwners()
	if err := c.limit(); err != nil {
		return nil, err
	}
	r.complete(c)
	return r, nil
}

// inTurn takes steps until one fails.
func inTurn(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// judgeEach adds the groups and the CSVs to a report, with what is found about each that two roots do not dispute.
func (sim *simulation) judgeEach(r *Report) {
	for _, g := range sim.groups {
		r.Groups = append(r.Groups, sim.group(g))
		if sim.Disputes.Groups[g.Namespace] == "" {
			sim.judgeGroup(g)
		}
	}
	for _, v := range sim.csvs {
		if !v.deleted || !v.updated {
			r.CSVs = append(r.CSVs, sim.csv(v))
			switch o := sim.going(v); {
			case sim.Disputes.CSV(v.CSV) != "" || sim.lacking[v.Namespace] != "":
			case o != nil:
				sim.judgeGoing(v, o)
			default:
				sim.judgeCSV(v)
				sim.judgeServices(v)
				sim.judgeNetwork(v)
			}
		}
	}
}

func (r *Report) complete(c *prediction) {
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(r.CSVs,
		func(a, b CSV) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) })
	for i := range r.Installs {
		r.Installs[i].Group = r.GroupOf(r.Installs[i].Namespace)
	}
	for _, plan := range c.plans {
		for _, u := range plan.updates {
			u.Group = r.GroupOf(u.Namespace)
			r.Updates = append(r.Updates, u)
		}
	}
	findings.Sort(c.findings)
	r.Findings = slices.Compact(c.findings)
}

// Refused returns findings about the CSVs of a namespace that OLM installs from catalogs, and that fail.
func (r *Report) Refused(namespace string) (list []findings.Finding) {
	for _, v := range r.CSVs {
		if v.Namespace == namespace && v.Subscription != "" && v.Phase == string(v1alpha1.CSVPhaseFailed) {
			list = append(list, findings.Finding{Rule: v.Reason, Level: findings.Error, File: v.File, Line: v.Line,
				Object: "ClusterServiceVersion " + v.Namespace + "/" + v.Name, Message: v.Message})
		}
	}
	return list
}

// clusterOf begins the prediction of a tree.
func clusterOf(ctx context.Context, t *tree.Tree, o Options) *prediction {
	c := predictionOf(World(ctx, t.Objects, o.Namespace, o.Catalogs), t.Hidden())
	c.ctx, c.options, c.objects = ctx, o, slices.Collect(c.All())
	c.taken = lists.By(olm.TakenNames(c.applied()), func(t olm.TakenName) string { return t.CRD.Name })
	c.files = lists.Set(c.objects, func(o *manifest.Object) string { return o.File })
	c.openShift = o.Catalogs.openShift(c.objects)
	c.findLacking()
	c.judgePolicies()
	return c
}

// GroupOf returns the OperatorGroup of a namespace: the last one that is reported.
func (r *Report) GroupOf(namespace string) (found Group) {
	for _, g := range r.Groups {
		if g.Namespace == namespace {
			found = g
		}
	}
	return found
}

// group returns an OperatorGroup as OLM leaves it, with its conditions, or why its status is not known.
func (sim *simulation) group(g *group) Group {
	r := Group{Cluster: sim.options.cluster, Namespace: g.Namespace, Name: g.Name, File: g.File, Line: g.Line,
		Status: GroupStatus{Namespaces: append([]string{}, g.status...)}}
	if text := g.annotation(); text != nil {
		r.Annotations = map[string]string{olm.AnnotationProvidedAPIs: *text}
	}
	if len(sim.groupsIn[g.Namespace]) > 1 {
		r.Status.Conditions = append(r.Status.Conditions,
			Condition{operatorsv1.MutlipleOperatorGroupCondition, "True", operatorsv1.MultipleOperatorGroupsReason,
				"Multiple OperatorGroup found in the same namespace"})
	}
	switch {
	case g.supposed:
		r.Unknown = sim.lacking[g.Namespace]
	case g.lacksAccount(sim.prediction):
		r.Status.Conditions = append(r.Status.Conditions,
			Condition{operatorsv1.OperatorGroupServiceAccountCondition, "True",
				operatorsv1.OperatorGroupServiceAccountReason,
				"ServiceAccount " + g.Spec.ServiceAccountName + " not found"})
		if !g.resolved {
			r.Unknown = "its ServiceAccount is not in the tree"
		}
	case g.refused != nil:
		r.Unknown = g.refused.Error()
	case g.untold():
		r.Unknown = cmp.Or(sim.Disputes.Labels, "there are no Namespaces in the tree")
	}
	r.Unknown = cmp.Or(sim.Disputes.Groups[g.Namespace], r.Unknown)
	if name := g.Spec.ServiceAccountName; name != "" && !g.lacksAccount(sim.prediction) {
		r.Status.Account = &GroupAccount{"v1", rbacv1.ServiceAccountKind, name, g.Namespace}
	}
	return r
}

func (sim *simulation) csv(v *csv) CSV {
	at := v.where()
	r := CSV{Cluster: sim.options.cluster, Namespace: v.Namespace, Name: v.Name, File: at.File, Line: at.Line,
		Phase: string(v.phase), Reason: string(v.reason), Message: v.message, CopiedTo: sim.copies(v),
		Annotations: v.ofGroup, NotLookedAt: sim.limits(v)}
	if v.sub != nil {
		r.Subscription = v.sub.Name
	}
	if sim.assumed[[2]string{v.Namespace, v.Name}] && v.phase == v1alpha1.CSVPhaseSucceeded {
		r.Phase, r.Reason, r.Message, r.NotLookedAt = "", "", "", nil
		r.Unknown = "the tree has no ClusterServiceVersions: it counts as installed"
	}
	why := cmp.Or(sim.Disputes.CSV(v.CSV), sim.lacking[v.Namespace])
	if o := sim.going(v); why == "" && o != nil {
		why = o.Identity() + " is being deleted"
	}
	if why != "" {
		r.Phase, r.Reason, r.Message, r.CopiedTo, r.Unknown = "", "", "", nil, why
	}
	return r
}

// uncopied lists the reasons for which OLM does not copy a CSV (api: v1alpha1/clusterserviceversion.go, IsUncopiable).
var uncopied = []v1alpha1.ConditionReason{
	v1alpha1.CSVReasonCopied, v1alpha1.CSVReasonInvalidInstallModes, v1alpha1.CSVReasonNoTargetNamespaces,
	v1alpha1.CSVReasonUnsupportedOperatorGroup, v1alpha1.CSVReasonNoOperatorGroup,
	v1alpha1.CSVReasonTooManyOperatorGroups,
	v1alpha1.CSVReasonInterOperatorGroupOwnerConflict, v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
}

// copies returns the namespaces that OLM copies a CSV to (operator.go, syncCopyCSV; operatorgroup.go,
// ensureCSVsInNamespaces).
func (sim *simulation) copies(v *csv) []string {
	groups := sim.groupsIn[v.Namespace]
	if v.deleted || v.phase == v1alpha1.CSVPhaseNone || slices.Contains(uncopied, v.reason) || len(groups) != 1 {
		return nil
	}
	g := groups[0]
	if isGlobal(g.status) && sim.NoCopies {
		return nil
	}
	sim.work(20 * len(sim.Namespaces))
	if sim.tooMuch() {
		return nil
	}
	var list []string
	for ns := range sim.Namespaces {
		if ns != v.Namespace && (isGlobal(g.status) || slices.Contains(g.status, ns)) {
			list = append(list, ns)
		}
	}
	if !sim.Declared && !isGlobal(g.status) { // without Namespaces in the tree, assume that all targets exist
		list = slices.DeleteFunc(slices.Clone(g.status), func(ns string) bool { return ns == v.Namespace })
	}
	slices.Sort(list)
	return list
}

func (c *prediction) note(rule findings.Rule, level findings.Severity, o *manifest.Object, at, message, hint string) {
	file, line := o.PlaceOf(at)
	c.findings = append(c.findings, findings.Finding{Rule: rule.ID, Level: level, File: file, Line: line,
		Object: o.Identity(), Message: message, Hint: hint})
}

// report adds an error as a finding. object may be empty.
func (c *prediction) report(rule findings.Rule, level findings.Severity, e *manifest.Error, object string) {
	c.findings = append(c.findings, findings.Finding{Rule: rule.ID, Level: level, File: e.File, Line: e.Line,
		Object: object, Field: e.Field, Message: e.Msg, Hint: e.Tip})
}

func (c *prediction) fault(e *manifest.Error, o *manifest.Object) {
	c.report(ruleInvalid, findings.Error, e, o.Identity())
}

func (c *prediction) skipped(t *tree.Tree) {
	for _, s := range t.Skipped {
		c.findings = append(c.findings,
			findings.Finding{Rule: ruleSkipped.ID, Level: findings.Note, File: s.Path, Message: "not read: " + s.Why})
	}
	for _, e := range t.Faults {
		c.report(ruleUnreadable, findings.Error, e, "")
	}
}
