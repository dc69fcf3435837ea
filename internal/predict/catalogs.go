package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Catalogs are what Subscriptions install from. The zero value says that nothing is known about them.
type Catalogs struct {
	Sources []resolve.Source // the content of CatalogSources
	// Others is the content of each CatalogSource that is not in Sources. If it is nil and there are Sources, a
	// CatalogSource that is neither in Sources nor in the tree does not exist.
	Others   *catalog.Catalog
	Prepared *resolve.Prepared // what resolve.Prepare makes of Others; nil if nobody has
	// ClusterCatalogs are the content of ClusterCatalogs of OLM v1. Others is that of those that are not in it.
	ClusterCatalogs []extension.Source

	Gone []*manifest.Object // objects that are not there, whatever is known of them

	// Open: beside Gone, what a tree lacks may be there all the same, unless the tree has objects of a cluster.
	Open      bool
	elsewhere func(place) string // where other clusters of the tree have it, as the end of a sentence; may be nil

	Partial    bool   // a CatalogSource that is not in Sources may exist
	OpenShift  bool   // the cluster is one of OpenShift, whatever the tree says
	Global     string // the namespace whose catalogs serve all namespaces; empty: that of OpenShift or of OLM
	ApproveAll bool   // somebody approves every InstallPlan that waits for approval
}

func (c Catalogs) openShift(objects []*manifest.Object) bool {
	return c.OpenShift || olm.OpenShift(objects)
}

// Without returns the catalogs without those among objects, which have left the cluster.
func (c Catalogs) Without(objects []*manifest.Object) Catalogs {
	c.Gone = slices.Concat(c.Gone, objects)
	return c
}

// gone reports whether a catalog has left the cluster. That of OLM v1 has no namespace.
func (c Catalogs) gone(namespace, name string) bool {
	return c.isGone(v1alpha1.CatalogSourceKind, namespace, name) || c.isGone(olm.KindClusterCatalog, namespace, name)
}

// where returns which other cluster of the tree has what this one lacks, as the end of a sentence.
func (c Catalogs) where(at place) string {
	if c.elsewhere == nil {
		return ""
	}
	return c.elsewhere(at)
}

// isGone reports whether an object of a kind has left a namespace. An empty name is any.
func (c Catalogs) isGone(kind, namespace, name string) bool {
	return slices.ContainsFunc(c.Gone, func(o *manifest.Object) bool {
		return o.Kind == kind && o.Namespace == namespace && (name == "" || o.Name == name)
	})
}

// with returns the catalogs with those that the CatalogSources of a tree say enough about.
func (c Catalogs) with(declared []resolve.Source) Catalogs {
	known := slices.Clone(c.Sources)
	for _, d := range declared {
		i := slices.IndexFunc(known, d.Same)
		switch {
		case i >= 0:
			if known[i].Priority == 0 {
				known[i].Priority = d.Priority
			}
			if d.Fault != "" {
				known[i].Unavailable, known[i].Fault = true, d.Fault
			}
		case d.Catalog != nil || d.Unavailable:
			known = append(known, d)
			c.Partial = c.Partial || len(c.Sources) == 0
		}
	}
	c.Sources = known
	return c
}

// Has reports whether one of the catalogs has a bundle of a package.
func (c Catalogs) Has(pkg, bundle string) bool {
	has := func(c *catalog.Catalog) bool {
		return c != nil && c.Packages[pkg] != nil && c.Packages[pkg].Bundle(bundle) != nil
	}
	return has(c.Others) || slices.ContainsFunc(c.Sources, func(s resolve.Source) bool { return has(s.Catalog) })
}

// subscribe predicts what OLM's resolver does with the Subscriptions, and adds the CSVs that it installs.
func (c *prediction) subscribe(ctx context.Context) error {
	tree, catalogs := resolve.Of(c.World), c.options.Catalogs
	c.judgeSources(tree.CatalogSources)
	r := c.resolution(tree, catalogs)
	for _, state := range tree.Namespaces {
		if err := r.resolve(ctx, state); err != nil {
			return err
		}
	}
	if err := r.install(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(c.csvs, func(a, b *csv) int { return a.Order(b.Ordered) })
	return nil
}

// resolution begins a resolution from catalogs. It notes the Subscriptions whose catalogs are not known.
func (c *prediction) resolution(tree *resolve.Cluster, catalogs Catalogs) *resolution {
	csvs := lists.Group(c.csvs, func(v *csv) string { return v.Namespace })
	r := &resolution{prediction: c, catalogs: catalogs.with(tree.CatalogSources), csvs: csvs,
		subs: map[string][]*world.Subscription{}, known: map[*world.Subscription]bool{}, declared: tree.CatalogSources,
		named: map[[2]string]*world.Subscription{}, asked: map[[2]string]bool{}}
	r.catalogs.Sources = slices.DeleteFunc(r.catalogs.Sources, func(s resolve.Source) bool {
		return c.disputedSource(s.Namespace, s.Name) != ""
	})
	r.findUnknown()
	for _, s := range c.Subscriptions {
		name := [2]string{s.Namespace, s.Name}
		r.named[name], r.asked[[2]string{s.SourceNamespace, s.Source}] = cmp.Or(r.named[name], s), true
		switch u := r.unknown(s); {
		case u == nil:
			r.subs[s.Namespace], r.known[s] = append(r.subs[s.Namespace], s), true
		case ofSubscription(s, csvs[s.Namespace]) != nil:
			c.unforeseen = append(c.unforeseen, *u)
			said := cmp.Or(saidOf(s, v1alpha1.SubscriptionResolutionFailed), c.PlanSays(s))
			if said != "" && r.believes(s, u) {
				c.noteHindered(s, "status.conditions", "OLM updates nothing in the namespace: "+said)
			}
		default:
			u.OfCatalog = u.OfCatalog && r.content(s) == nil
			r.noteUnknown(s, *u)
		}
	}
	r.others = cmp.Or(catalogs.Prepared, resolve.Prepare(catalogs.Others))
	r.refused = catalogs.Others != nil && catalogs.Others.Refusal() != nil
	return r
}

// passCatalog is what makes an operator known of which no catalog is.
const passCatalog = "pass the content of its catalog"

// noteUnknown reports a Subscription without operator whose catalog is not known: what OLM has said of it, or that
// nobody can say what it installs.
func (r *resolution) noteUnknown(s *world.Subscription, u Unknown) {
	said := cmp.Or(saidOf(s, v1alpha1.SubscriptionResolutionFailed, v1alpha1.SubscriptionBundleUnpackFailed,
		v1alpha1.SubscriptionInstallPlanFailed, v1alpha1.SubscriptionInstallPlanMissing), r.PlanSays(s),
		saidOf(s, v1alpha1.SubscriptionCatalogSourcesUnhealthy))
	switch {
	case said != "" && r.believes(s, &u):
		u.Why, u.Nothing = beginsNothing+said, true
		r.unknownCSV[s.Namespace] = true
		r.note(ruleSubscription, findings.Error, s.Object, "status.conditions", u.Why, "")
	case u.OfCatalog && !r.lacksSource(s):
		r.noteUnchecked(s, u.Why, passCatalog)
	default:
		r.noteUnchecked(s, u.Why, "")
	}
	r.prediction.unknown = append(r.prediction.unknown, u)
}

// believes reports whether what OLM says of a Subscription counts: two roots do not differ about what decides. That its
// OperatorGroup is not among the objects takes nothing from it.
func (r *resolution) believes(s *world.Subscription, u *Unknown) bool {
	return !u.Disputed || u.Why == r.lacking[s.Namespace]
}

// lacksSource reports whether a cluster has CatalogSources and not that of a Subscription.
func (r *resolution) lacksSource(s *world.Subscription) bool {
	return r.Source(s.SourceNamespace, s.Source) == nil && s.Has("metadata", "uid") &&
		slices.ContainsFunc(r.Sources, func(o *manifest.Object) bool { return o.Has("metadata", "uid") })
}

// saidOf returns the first of these conditions that the status of a Subscription has, with OLM's message; "" if it has
// none.
func saidOf(s *world.Subscription, conditions ...v1alpha1.SubscriptionConditionType) string {
	list, _ := olm.Get(s.Object, "status", "conditions").([]any)
	for _, kind := range conditions {
		for _, c := range list {
			if c, _ := c.(map[string]any); c["type"] == string(kind) && c["status"] == string(corev1.ConditionTrue) {
				return fmt.Sprintf("%s: %s", kind, text.OneLine(cmp.Or(olm.Text(c["message"]), olm.Text(c["reason"]))))
			}
		}
	}
	return ""
}

func (c *prediction) noteUnchecked(s *world.Subscription, why, hint string) {
	c.unknownCSV[s.Namespace] = true
	c.note(resolve.RuleUnknown, findings.Note, s.Object, "spec.name", "the CSV that it installs is not checked: "+why,
		hint)
}

// resolution predicts what OLM's resolver does, namespace by namespace.
type resolution struct {
	*prediction
	catalogs Catalogs
	csvs     map[string][]*csv                // of the tree, by namespace
	subs     map[string][]*world.Subscription // whose catalogs are known, by namespace
	known    map[*world.Subscription]bool     // those of subs
	named    map[[2]string]*world.Subscription
	others   *resolve.Prepared  // what is read of the other catalogs
	refused  bool               // opm does not serve the other catalogs
	declared []resolve.Source   // CatalogSources of the tree
	asked    map[[2]string]bool // catalogs that Subscriptions name, by namespace and name
	hidden   []resolve.Source   // CatalogSources without known content
	planned  []Install
}

// Install is an operator that OLM installs from a catalog, and that the tree does not have.
type Install struct {
	Subscription *manifest.Object // that asks for it, or for what needs it
	Namespace    string
	Name         string // of the ClusterServiceVersion
	Catalog      string // NAMESPACE/NAME of the CatalogSource
	Choice       catalog.Choice
	Group        Group // the OperatorGroup
	Dependency   bool  // the Subscription is that of another operator
	Approval     bool  // somebody has to approve its InstallPlan

	sub *world.Subscription
}

// Update is an operator that OLM installs, in the place of an older release if Replaces is not empty.
type Update struct {
	Install
	Replaces string // the name of the ClusterServiceVersion

	from catalog.Choice // has no Bundle if the catalog does not have it
}

// Unknown is an object that hands an operator over to OLM, and why nobody can say which one OLM installs.
type Unknown struct {
	Object    *manifest.Object
	Why       string
	OfCatalog bool // the content of its catalog is not known
	Unread    bool // the bundle cannot be read
	Disputed  bool // two roots of the cluster differ: no catalog makes it known
	Nothing   bool // OLM installs nothing: that is known
}

// beginsNothing begins why nothing is installed.
const beginsNothing = "OLM installs nothing: "

func installsNothing(o *manifest.Object, why string) Unknown {
	return Unknown{Object: o, Why: beginsNothing + why, Nothing: true}
}

// resolve predicts what OLM does with a namespace.
func (r *resolution) resolve(ctx context.Context, state *resolve.State) error {
	ns := state.Namespace
	if len(r.subs[ns]) == 0 && state.Disputed == "" {
		r.look(state)
		state.Disputed = r.lacking[ns]
		r.findings = append(r.findings, state.Shown()...)
	}
	if len(r.subs[ns]) == 0 || !r.prepare(state) {
		return nil
	}
	result, err := resolve.Run(ctx, state, resolve.Options{ApproveAll: r.catalogs.ApproveAll})
	if err != nil {
		return err
	}
	r.report(state, result)
	if result.Failure != nil {
		r.unknownCSV[ns] = true
	}
	if end := result.End(); result.Outcome == resolve.UpgradePending || result.Outcome == resolve.Withheld {
		for _, s := range end.Subscriptions {
			sub := r.sub(ns, s.Name)
			if sub == nil || !end.Lacks(s.CurrentCSV) {
				continue
			}
			r.stuck[sub] = true
			if !r.installed(sub) {
				r.prediction.unknown = append(r.prediction.unknown, installsNothing(sub.Object,
					"its status names "+s.CurrentCSV+", which is not there"))
			}
		}
	}
	if result.ByPolicy { // a Subscription gets no operator if no OperatorPolicy approves its InstallPlan
		for _, m := range result.Waiting.Subscriptions {
			if s := r.sub(ns, m.Name); s != nil && m.From == "" && !r.installed(s) {
				names := lists.Map(result.Waiting.CSVs, func(c resolve.Planned) string { return c.Name })
				r.prediction.unknown = append(r.prediction.unknown, installsNothing(s.Object,
					"no OperatorPolicy approves the InstallPlan of "+strings.Join(names, ", ")))
			}
		}
	}
	if result.Failure != nil && len(result.Steps) == 0 {
		r.failures[ns] = result.Failure
		why := result.Failure.Text
		if result.Outcome == resolve.Unknown {
			why = fmt.Sprintf("without %s, whose content is not known: %s", text.And(state.Hidden()), why)
		}
		r.installsNothing(ns, why, result.Outcome != resolve.Unknown)
	}
	steps := result.Steps
	if result.Waiting != nil && !result.ByPolicy { // the tree asks for it, if no OperatorPolicy says what is approved
		steps = append(slices.Clip(steps), *result.Waiting)
	}
	asking := r.asking(ns, steps)
	r.plans = append(r.plans, r.updates(state, steps, asking)...)
	r.plan(state, steps, asking)
	return nil
}

// prepare completes a namespace by what the tree and the catalogs say, and reports whether OLM resolves there.
func (r *resolution) prepare(state *resolve.State) bool {
	ns := state.Namespace
	r.complete(state)
	if state.OperatorGroups != 1 {
		r.unknownCSV[ns] = true // OLM does not resolve, which is a finding about the group
		r.installsNothing(ns, "its namespace has "+text.Count(state.OperatorGroups, "OperatorGroup"), true)
		return false
	}
	return true
}

// complete sets the catalogs of a namespace, and the status of its Subscriptions.
func (r *resolution) complete(state *resolve.State) {
	r.look(state)
	for i := range state.Subscriptions {
		if s := &state.Subscriptions[i]; !r.claim(state, s) && r.sub(state.Namespace, s.Name) != nil {
			r.completeStatus(state, s)
		}
	}
}

// begin prepares a namespace without the Subscriptions whose catalogs are not known. It returns why OLM does not
// resolve there, or "".
func (r *resolution) begin(state *resolve.State) string {
	state.Subscriptions = slices.DeleteFunc(state.Subscriptions, func(s resolve.Subscription) bool {
		return r.sub(state.Namespace, s.Name) == nil
	})
	if !r.prepare(state) {
		return "its namespace has " + text.Count(state.OperatorGroups, "OperatorGroup")
	}
	return ""
}

// installsNothing notes the Subscriptions of a namespace that have no operator, and get none, as far as that is known.
func (r *resolution) installsNothing(namespace, why string, known bool) {
	for _, s := range r.subs[namespace] {
		if !r.installed(s) {
			u := installsNothing(s.Object, why)
			u.Nothing = known
			r.prediction.unknown = append(r.prediction.unknown, u)
		}
	}
}

// installed reports whether the operator of a Subscription is in the cluster.
func (r *resolution) installed(s *world.Subscription) bool {
	_, assumed := r.assumed[[2]string{s.Namespace, s.InstalledCSV}]
	return assumed || ofSubscription(s, r.csvs[s.Namespace]) != nil
}

func (r *resolution) sub(namespace, name string) *world.Subscription {
	if s := r.named[[2]string{namespace, name}]; r.known[s] {
		return s
	}
	return nil
}

// look sets the catalogs of a namespace.
func (r *resolution) look(state *resolve.State) {
	state.Catalogs = slices.Clone(r.catalogs.Sources)
	state.GlobalNamespace, state.Unknown = r.catalogs.Global, r.hiddenFrom(state.Namespace)
	for _, s := range r.Subscriptions {
		named := resolve.Source{Name: s.Source, Namespace: s.SourceNamespace, Catalog: r.catalogs.Others,
			Prepared: r.others, Unavailable: r.refused}
		if s.Namespace == state.Namespace && s.Source != "" && r.catalogs.Others != nil &&
			!slices.ContainsFunc(state.Catalogs, named.Same) {
			named.Priority = lists.Find(r.declared, named.Same).Priority
			state.Catalogs = append(state.Catalogs, named)
		}
	}
	state.Catalogs = slices.DeleteFunc(state.Catalogs, func(s resolve.Source) bool {
		return r.Disabled(s.Namespace, s.Name) != nil || r.catalogs.gone(s.Namespace, s.Name)
	})
	if state.GlobalNamespace == "" {
		near := slices.Concat(r.declared, lists.Filter(state.Catalogs, func(c resolve.Source) bool {
			return r.asked[[2]string{c.Namespace, c.Name}]
		}))
		state.GlobalNamespace = GlobalNamespace(near, state.Catalogs, state.Unknown)
	}
}

// GlobalNamespace returns the namespace whose catalogs serve all: OpenShift's or OLM's, by the first list that has one.
// What a cluster has and asks for comes first: catalogs may be given for clusters of both.
func GlobalNamespace(lists ...[]resolve.Source) string {
	for _, list := range lists {
		for _, namespace := range []string{olm.NamespaceMarketplace, olm.NamespaceUpstream} {
			if slices.ContainsFunc(list, func(s resolve.Source) bool { return s.Namespace == namespace }) {
				return namespace
			}
		}
	}
	return olm.NamespaceUpstream
}

// claim completes the status of a Subscription of Git by its CSV in the tree. It reports whether there is one. Where
// the CSV has a cluster's status, only the status of the Subscription names it: OLM does not take it for the
// Subscription's either (OLM: pkg/controller/registry/resolver/source_csvs.go).
func (r *resolution) claim(state *resolve.State, s *resolve.Subscription) bool {
	ns := state.Namespace
	sub := r.named[[2]string{ns, s.Name}]
	if sub == nil {
		return false
	}
	v := cmp.Or(ofSubscription(sub, r.csvs[ns]), r.ofPackage(state, s))
	if v != nil && s.InstalledCSV == "" {
		s.InstalledCSV, s.CurrentCSV = v.Name, v.Name
	}
	return v != nil
}

// completeStatus adds the CSV that the status of a Subscription names, if the tree has no CSVs of a cluster and no
// InstallPlans: a dump of Subscriptions only does not say that it is gone.
func (r *resolution) completeStatus(state *resolve.State, s *resolve.Subscription) {
	ns := state.Namespace
	shows := len(r.InstallPlans) > 0 ||
		slices.ContainsFunc(r.CSVs, func(v *world.CSV) bool { return v.Phase != v1alpha1.CSVPhaseNone })
	if s.InstalledCSV == "" || shows && !r.options.Installed {
		return
	}
	p := packageIn(state, s.Source, s.SourceNamespace, s.Package)
	b := p.Bundle(s.InstalledCSV)
	if b == nil { // an older release, of which the catalog says nothing
		older := resolve.CSV{Name: s.InstalledCSV, Annotated: true}
		if version := olm.NameVersion(s.InstalledCSV); version != nil {
			older.Version = version.String()
		}
		state.CSVs, s.CurrentCSV = append(state.CSVs, older), s.InstalledCSV
		return
	}
	state.CSVs = append(state.CSVs, resolve.Installed(b, s.Package))
	sub := r.sub(ns, s.Name)
	r.planned = append(r.planned, Install{Subscription: sub.Object, Namespace: ns, Name: b.Name, sub: sub,
		Catalog: s.SourceNamespace + "/" + s.Source,
		Choice:  catalog.Choice{Package: p, Channel: p.Channel(s.Channel), Bundle: b}})
	s.CurrentCSV = s.InstalledCSV
	r.assumed[[2]string{ns, b.Name}] = !r.options.Installed
}

func packageIn(state *resolve.State, source, sourceNamespace, name string) *catalog.Package {
	return cmp.Or(state.Package(source, sourceNamespace, name), &catalog.Package{})
}

// ofPackage returns a CSV of Git with the name of a bundle of the package, in any version.
func (r *resolution) ofPackage(state *resolve.State, s *resolve.Subscription) *csv {
	pkg := packageIn(state, s.Source, s.SourceNamespace, s.Package)
	names := lists.Set(pkg.Bundles, func(b *catalog.Bundle) string { return olm.BaseName(b.Name, "") })
	return lists.Find(r.csvs[state.Namespace], func(v *csv) bool {
		return !v.observed && names[olm.BaseName(v.Name, "")]
	})
}

// report adds what is found about a namespace. An update of a Subscription in the tree that OLM holds back is an error
// here: the tree asks for something that OLM does not do.
func (r *resolution) report(state *resolve.State, result *resolve.Result) {
	for _, f := range result.Findings {
		if f.Rule == resolve.RuleUnknown.ID {
			continue // noteUnchecked says it
		}
		if resolve.Blocking(f) && f.File != "" && len(state.Hidden()) == 0 {
			f.Level = findings.Error
		}
		if f.File == "" {
			s := r.subs[state.Namespace][0]
			f.File, f.Line = s.File, s.Line
		}
		r.findings = append(r.findings, f)
	}
	for _, s := range r.subs[state.Namespace] { // its CSV may be there, and wait for what the InstallPlan has not made
		said := r.PlanSays(s)
		if said != "" && !slices.ContainsFunc(result.Findings, func(f findings.Finding) bool {
			return strings.Contains(f.Hint, said)
		}) {
			r.noteHindered(s, "status.installPlanRef", said)
		}
	}
}

// noteHindered reports what OLM says of a Subscription with an operator. What a failed InstallPlan has not made, OLM
// never makes (OLM: pkg/controller/registry/resolver/resolver.go, ResolveSteps: status.currentCSV stays).
func (c *prediction) noteHindered(s *world.Subscription, at, said string) {
	level, hint := findings.Warning, ""
	if c.PlanPhase(s) == v1alpha1.InstallPlanPhaseFailed {
		again := "OLM does not try it again, even when its cause is mended: "
		made := lists.Find(c.csvs, func(v *csv) bool { return v.Namespace == s.Namespace && v.Name == s.CurrentCSV })
		switch {
		case made == nil:
			hint = again + "mend it, delete Subscription " + s.Name + " and create it again"
		case made.phase == v1alpha1.CSVPhaseSucceeded:
			hint = again + "mend it, and make what is missing"
		default:
			level, hint = findings.Error, fmt.Sprintf("%smend it, delete Subscription %s and ClusterServiceVersion "+
				"%s, and create the Subscription again", again, s.Name, s.CurrentCSV)
		}
	}
	c.note(ruleSubscription, level, s.Object, at, said, hint)
}

// failedFor returns the Subscription whose InstallPlan of a CSV has failed, or nil.
func (c *prediction) failedFor(namespace, csv string) *world.Subscription {
	return lists.Find(c.Subscriptions, func(s *world.Subscription) bool {
		return s.Namespace == namespace && s.CurrentCSV == csv && c.PlanPhase(s) == v1alpha1.InstallPlanPhaseFailed
	})
}

// plan notes which operators OLM installs. An operator that the tree has keeps its version.
func (r *resolution) plan(state *resolve.State, steps []resolve.Step, asking asking) {
	var names []string
	planned, approval := map[string]*resolve.Planned{}, map[string]bool{}
	for i := range steps {
		for j := range steps[i].CSVs {
			p := &steps[i].CSVs[j]
			names = append(names, p.Name)
			planned[p.Name], approval[p.Name] = p, steps[i].Approval && !r.catalogs.ApproveAll
		}
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(steps[i].Removed, n) })
	}
	for _, name := range names {
		if p := planned[name]; !r.has(state, p) {
			one := asking.install(state, p)
			one.Approval = approval[name]
			r.planned = append(r.planned, one)
		}
	}
}

// asking returns the Subscription that asks for an operator, or for the operator that requires it.
type asking func(csv string) (owner *world.Subscription, dependency bool)

// install returns the installation of what the resolver takes of a catalog.
func (f asking) install(state *resolve.State, p *resolve.Planned) Install {
	owner, dependency := f(p.Name)
	pkg := packageIn(state, p.Source, p.SourceNamespace, p.Package)
	return Install{Subscription: owner.Object, Namespace: state.Namespace, Name: p.Name,
		Catalog: p.SourceNamespace + "/" + p.Source, Dependency: dependency, sub: owner,
		Choice: catalog.Choice{Package: pkg, Channel: pkg.Channel(p.Channel), Bundle: p.Bundle()}}
}

// asking returns who asks for the operators of some steps.
func (r *resolution) asking(ns string, steps []resolve.Step) asking {
	owners, requiredBy := map[string]*world.Subscription{}, map[string]string{}
	for _, step := range steps {
		for _, m := range step.Subscriptions {
			if s := r.sub(ns, m.Name); s != nil {
				owners[m.To] = s
			}
		}
		for _, p := range step.CSVs {
			requiredBy[p.Name] = p.RequiredBy
		}
	}
	return func(csv string) (*world.Subscription, bool) {
		if owner := owners[csv]; owner != nil {
			return owner, false
		}
		seen := map[string]bool{} // operators may require each other
		for up := requiredBy[csv]; up != "" && !seen[up]; up = requiredBy[up] {
			if owner := owners[up]; owner != nil {
				return owner, true
			}
			seen[up] = true
		}
		return r.subs[ns][0], true
	}
}

// has reports whether the namespace has the operator already, in any version.
func (r *resolution) has(state *resolve.State, p *resolve.Planned) bool {
	return slices.ContainsFunc(state.Subscriptions, func(s resolve.Subscription) bool {
		return s.Package == p.Package && s.InstalledCSV != "" && !state.Lacks(s.InstalledCSV)
	}) || slices.ContainsFunc(r.csvs[state.Namespace], func(v *csv) bool {
		return olm.BaseName(v.Name, "") == olm.BaseName(p.Name, "")
	})
}

// install adds the CSVs that OLM installs.
func (r *resolution) install(ctx context.Context) error {
	for _, p := range r.planned {
		r.installs = append(r.installs, p)
		if err := r.addFrom(ctx, p); err != nil {
			r.noteUnchecked(p.sub, err.Error(), "") // its catalog is known
		}
	}
	return ctx.Err()
}

func (c *prediction) addFrom(ctx context.Context, p Install) error {
	data, err := p.Choice.Bundle.CSV(ctx)
	if err != nil {
		return err
	}
	docs, err := manifest.ReadFile(p.sub.File, data, manifest.Limits{})
	if docs = manifest.Written(docs); err == nil && len(docs) != 1 {
		err = fmt.Errorf("%d documents in the catalog's ClusterServiceVersion", len(docs))
	}
	if err != nil {
		return err
	}
	o, err := docs[0].Object()
	if err != nil {
		return err
	}
	if _, fault := c.makes(o, p); fault != nil {
		return fault
	}
	return nil
}

// judgeSources reports CatalogSources that OLM cannot use or does not start, and Subscriptions to disabled ones.
// What somebody gives the content of is taken to answer.
func (c *prediction) judgeSources(declared []resolve.Source) {
	catalogs := c.options.Catalogs
	for _, s := range declared {
		o := c.Source(s.Namespace, s.Name)
		switch given := catalogs.Others != nil || slices.ContainsFunc(catalogs.Sources, s.Same); {
		case o == nil:
		case s.Fault != "":
			c.note(ruleSource, findings.Error, o, "spec.sourceType", s.Fault,
				"repair or delete it: OLM resolves nothing in a namespace that sees it")
		case given:
		case s.Connection != "":
			c.note(ruleSource, findings.Error, o, "status.connectionState", "nobody answers: the last state of OLM's "+
				"connection is "+s.Connection, "repair or delete it: OLM resolves nothing in a namespace that sees it")
		case o.Has("spec", "address"):
			c.note(ruleAddress, findings.Note, o, "spec.address",
				fmt.Sprintf("OLM asks %v and starts nothing: the tree does not say what it serves",
					olm.Get(o, "spec", "address")), "name an image, or give its content")
		}
	}
	for _, s := range c.Subscriptions {
		if hub := c.Disabled(s.SourceNamespace, s.Source); hub != nil {
			c.note(ruleDisabled, findings.Error, s.Object, "spec.source",
				fmt.Sprintf("there is no CatalogSource %s/%s: %s (%s:%d) disables it", s.SourceNamespace, s.Source,
					hub.Identity(), hub.File, hub.LineOf("spec")),
				"enable it in spec.sources of the OperatorHub, or name another catalog")
		}
	}
}

// findUnknown finds the CatalogSources without known content: those of the tree, those that the distribution has
// without Git, and those that Subscriptions name where nobody says which ones there are.
func (r *resolution) findUnknown() {
	if r.catalogs.Others != nil {
		return
	}
	partial := r.open || r.catalogs.Partial || len(r.catalogs.Sources) == 0
	list := slices.Clone(r.declared)
	if r.openShift {
		for _, name := range olm.DefaultCatalogSources {
			list = append(list, resolve.Source{Name: name, Namespace: olm.NamespaceMarketplace})
		}
	}
	for _, s := range r.Subscriptions {
		if partial || olm.IsDefaultCatalogSource(s.SourceNamespace, s.Source) {
			list = append(list, resolve.Source{Name: s.Source, Namespace: s.SourceNamespace})
		}
	}
	byName := func(s resolve.Source) [2]string { return [2]string{s.Namespace, s.Name} }
	for _, same := range lists.Groups(list, byName) {
		s := same[0]
		if r.source(s.Name, s.Namespace) < 0 && r.Disabled(s.Namespace, s.Name) == nil &&
			!r.catalogs.gone(s.Namespace, s.Name) {
			r.hidden = append(r.hidden, s)
		}
	}
}

// unknown returns why nobody can say what a Subscription installs, or nil.
func (r *resolution) unknown(s *world.Subscription) *Unknown {
	why := cmp.Or(r.Disputes.Namespaces[s.Namespace], r.disputedSource(s.SourceNamespace, s.Source))
	if why != "" {
		return &Unknown{Object: s.Object, Why: why, Disputed: true}
	}
	if olm.HasPlaceholder(s.Package + s.Channel) {
		return &Unknown{Object: s.Object, Why: "its package or channel is a template"}
	}
	if why = r.unknownCatalog(s); why != "" {
		return &Unknown{Object: s.Object, Why: why, OfCatalog: true, Unread: r.content(s) != nil}
	}
	if why = r.lacking[s.Namespace]; why != "" {
		return &Unknown{Object: s.Object, Why: why, Disputed: true}
	}
	return nil
}

// disputedSource returns why nobody knows what a CatalogSource serves, or "": two roots differ.
func (c *prediction) disputedSource(namespace, name string) string {
	configMap := ""
	if o := c.Source(namespace, name); o != nil {
		configMap = olm.Text(olm.Get(o, "spec", "configMap"))
	}
	return c.Disputes.Source(namespace, name, configMap)
}

// unknownCatalog returns why nothing is known about the catalog of a Subscription, or "".
func (r *resolution) unknownCatalog(s *world.Subscription) string {
	content, i := r.content(s), r.source(s.Source, s.SourceNamespace)
	switch {
	case content != nil:
		if err := content.Missing(s.Package); err != nil {
			return fmt.Sprintf("a release of package %s cannot be read: %v", s.Package, err)
		}
	case i >= 0, r.Disabled(s.SourceNamespace, s.Source) != nil, r.catalogs.gone(s.SourceNamespace, s.Source):
	case len(r.catalogs.Sources) == 0 && r.Source(s.SourceNamespace, s.Source) == nil:
		return "no catalog is given"
	case slices.ContainsFunc(r.hiddenFrom(s.Namespace),
		resolve.Source{Name: s.Source, Namespace: s.SourceNamespace}.Same):
		return fmt.Sprintf("the content of CatalogSource %s/%s is not known", s.SourceNamespace, s.Source) +
			r.catalogs.where(place{v1alpha1.CatalogSourceKind, s.SourceNamespace, s.Source})
	}
	return ""
}

// hiddenFrom returns the catalogs without known content that OLM may look at for a namespace. It never looks at those
// of another one, unless that serves all: nobody says which one that is, if no catalog is known.
func (r *resolution) hiddenFrom(ns string) []resolve.Source {
	serving := []string{"", ns, r.catalogs.Global, olm.NamespaceMarketplace, olm.NamespaceUpstream}
	return lists.Filter(r.hidden, func(c resolve.Source) bool {
		return slices.Contains(serving, c.Namespace) ||
			len(r.catalogs.Sources) == 0 && r.Source(c.Namespace, c.Name) == nil
	})
}

// content returns what the catalog of a Subscription serves, or nil if nobody says it.
func (r *resolution) content(s *world.Subscription) *catalog.Catalog {
	if i := r.source(s.Source, s.SourceNamespace); i >= 0 {
		return r.catalogs.Sources[i].Catalog
	}
	return r.catalogs.Others
}

func (r *resolution) source(name, namespace string) int {
	return slices.IndexFunc(r.catalogs.Sources, resolve.Source{Name: name, Namespace: namespace}.Same)
}

// ofSubscription returns the CSV of a Subscription, if it is one of these: the one that its status names, or one
// without a cluster's status that its spec names, that has OLM's label for the package, or the name of the package.
func ofSubscription(s *world.Subscription, csvs []*csv) *csv {
	label := olm.Group + "/" + s.Package + "." + s.Namespace
	return cmp.Or(lists.Find(csvs, func(v *csv) bool { return v.Name == s.InstalledCSV }),
		lists.Find(csvs, func(v *csv) bool {
			_, labelled := v.Labels[label]
			return !v.observed && (labelled || v.Name == s.StartingCSV || olm.BaseName(v.Name, "") == s.Package)
		}))
}

// where returns the object that findings about a CSV refer to.
func (v *csv) where() *manifest.Object {
	if v.sub != nil {
		return v.sub.Object
	}
	return v.Object
}
