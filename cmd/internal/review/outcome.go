package review

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// outcome is one cluster of a tree, played.
type outcome struct {
	options TreeOptions
	git     []*manifest.Object // of the tree
	tree    *tree.Tree         // with what its OperatorPolicies make
	world   *world.World       // of the tree, if OperatorPolicies act in it
	report  *predict.Report    // what OLM does; its After is the cluster that OLM leaves
	plan    []Planned          // what OLM has installed
	parts   []Installed        // of the plan
	settled []*manifest.Object // of the tree, which count as beside it
}

// play plays one cluster of a tree: on the outcome of the older state, if there is one, else beside what is in the
// cluster. Errors are about objects that cannot be read, and those of ctx.
func (o TreeOptions) play(ctx context.Context, t *tree.Tree) (*Subject, error) {
	h := &outcome{options: o, git: t.Objects, world: &world.World{}}
	whole := *t
	if slices.ContainsFunc(t.Objects, isPolicy) {
		h.world = predict.World(ctx, t.Objects, o.Namespace, o.Catalogs)
		whole.Objects = h.world.Settled(t.Objects)
	}
	h.tree = &whole
	base := h.base()
	var err error
	on, gone := h.over(ctx, base)
	h.options.Catalogs = o.Catalogs.Without(gone)
	if h.report, err = h.options.check(ctx, on); err != nil {
		return nil, err
	}
	carried := h.carried(base)
	objects := slices.Concat(whole.Objects, h.remains(base), h.definitions(base, carried))
	s, err := FromObjects(objects, permissions.Operator{Name: o.Name}, o.Namespace)
	if err != nil {
		return nil, err
	}
	s.outcome, s.Unread = h, t.Unread()
	for _, d := range t.Hidden() {
		s.duplicate(d)
	}
	keys := lists.Set(whole.Objects, o.key)
	for _, p := range h.world.Policies {
		if why := p.Idle(); why != "" && keys[o.key(p.Within)] {
			s.remark(p.Object.Identity()+why, "%s (%s:%d) installs nothing: %s", p.Object.Identity(), p.Object.File,
				p.Object.Line, why)
		}
	}
	plan, unknown := PlanOf(h.report, o.Target)
	if o.Over != nil {
		if carried, err = s.follow(ctx, base, carried); err != nil {
			return nil, err
		}
		says := lists.Set(plan, Planned.at) // the tree says itself that it is there
		plan = append(plan, lists.Filter(carried, func(p Planned) bool { return !says[p.at()] })...)
	}
	h.plan = lists.Filter(plan, func(p Planned) bool { return p.live != "" || keys[o.key(p.Object)] })
	there := lists.Set(on.Objects, o.key)
	own := func(u Unknown) bool { key := o.key(u.Object); return keys[key] || !there[key] }
	unknown = lists.Filter(unknown, own)
	s.unforeseen = lists.Filter(lists.Map(h.report.Unforeseen, unknownOf), own)
	installed, more, err := renderAll(ctx, h.plan, o)
	if err != nil {
		return nil, err
	}
	s.parts, h.parts = installed, installed
	for _, u := range slices.Concat(unknown, more) {
		s.unknown(u)
	}
	return s, nil
}

// base returns what the tree is played on: the older state, or else what is in the cluster. What counts as beside the
// tree leaves it.
func (h *outcome) base() *outcome {
	o := h.options
	base := &outcome{options: o, tree: &tree.Tree{}, world: &world.World{}, settled: o.settled(h.tree.Objects)}
	if o.Over != nil && o.Over.outcome != nil {
		base = o.Over.outcome
	}
	h.settled = base.settled
	beside := lists.Set(h.settled, o.key)
	own := func(x *manifest.Object) bool { return !beside[o.key(x)] }
	h.git, h.tree.Objects = lists.Filter(h.git, own), lists.Filter(h.tree.Objects, own)
	if base.report == nil {
		h.options.Cluster = slices.Concat(o.Cluster, h.settled)
		released := lists.Set(o.released(slices.Concat(h.tree.Objects, o.Cluster), h.options.Cluster), o.key)
		base.report = &predict.Report{After: lists.Filter(h.options.Cluster, func(x *manifest.Object) bool {
			return !released[o.key(x)]
		})}
	}
	return base
}

// check plays a tree, with its InstallPlans. Where OLM reads nothing of it, nothing becomes of it.
func (o TreeOptions) check(ctx context.Context, t *tree.Tree) (*predict.Report, error) {
	if !slices.ContainsFunc(t.Objects, readByOLM) {
		return &predict.Report{After: t.Objects}, nil
	}
	other := o.Next
	if o.Over != nil && o.Over.outcome != nil {
		other = o.Over.outcome.git
	}
	there := sync.OnceValue(func() map[string]*manifest.Object { return lists.By(other, o.key) })
	return playTree(ctx, t, predict.Options{Namespace: o.Namespace, Catalogs: o.Catalogs, Checker: o.Checker,
		API: o.API, Target: o.Target, Unchanged: func(x *manifest.Object) bool { return o.has(there(), x) },
		Bundles: &catalog.Options{Source: o.Source}, Installed: o.Over == nil && len(o.Cluster) > 0})
}

// has reports whether objects have one just so.
func (o TreeOptions) has(objects map[string]*manifest.Object, x *manifest.Object) bool {
	there := objects[o.key(x)]
	return there != nil && world.Same(there, x)
}

// playTree is a variable so that a test counts its calls.
var playTree = predict.Check

// readByOLM reports whether OLM or a controller that speaks to it reads an object.
func readByOLM(o *manifest.Object) bool {
	return o.Group() == olm.Group || o.Group() == olm.GroupV1 || isPolicy(o)
}

// follow returns the operators of an older state that are in the cluster still, as OLM has updated them. It notes what
// becomes of the cluster, and did not without the change.
func (s *Subject) follow(ctx context.Context, base *outcome, carried []Planned) (plan []Planned, err error) {
	h := s.outcome
	control := base.report
	s.said, s.standing = predict.Changes(control, h.report)
	if len(s.said) > 0 || len(h.report.Updates) > 0 {
		// the older state once more on its own outcome: what OLM does without a change of Git
		again, _ := base.over(ctx, base)
		if control, err = base.options.check(ctx, again); err != nil {
			return nil, err
		}
		s.said, s.standing = predict.Changes(control, h.report)
	}
	s.deleted = predict.DeletedCRDs(control, h.report)
	s.said = append(s.said, predict.Unserved(control, h.report, h.tree.Objects)...)
	live := lists.By(base.report.After, h.options.key)
	git := lists.By(h.git, h.options.key)
	// OLM may have written into what both have
	same := lists.Filter(base.git, func(x *manifest.Object) bool { return h.options.has(git, x) })
	refused, err := h.options.refused(ctx, h.tree.Objects, lists.By(append(slices.Clip(base.report.After), same...),
		h.options.key), (*manifest.Object).PlaceOf)
	if err != nil {
		return nil, err
	}
	s.said = append(s.said, refused...)
	s.ignored(base, live)
	now, was, shown := next(h.report), next(control), map[string]bool{}
	first := lists.By(h.report.Updates, func(u predict.Update) string { return u.Namespace + "/" + u.Replaces })
	moved := func(at string) *predict.Update { // by the change; an InstallPlan that waits for approval goes on waiting
		i, old := now[at], was[at]
		if i != nil && old != nil && (i.Name == old.Name || old.Approval && old.Name == first[at].Name) {
			return nil
		}
		return i
	}
	for _, p := range carried {
		at := p.Namespace + "/" + p.live
		if i := moved(at); i != nil {
			s.waits = s.waits || i.Approval
			to := i.Install
			to.Subscription, to.Dependency = p.Object, p.dependency
			p = ofSubscription(to)
			p.live = to.Name
		}
		shown[at] = true
		plan = append(plan, p)
	}
	for _, u := range h.report.Updates {
		at := u.Namespace + "/" + u.Replaces
		i, there := moved(at), live[olm.Group+"/"+v1alpha1.ClusterServiceVersionKind+"/"+at]
		if there != nil && !shown[at] && i != nil {
			s.unknown(Unknown{Object: i.Subscription, Name: i.Name, Why: "OLM updates " + u.Replaces + " to it, and " +
				"what that changes is not compared: OLD and NEW differ in its objects, or no catalog of OLD has it"})
		}
	}
	return plan, nil
}

// refused returns what the API server refuses of objects that are applied, apart from those that are live just so.
func (o TreeOptions) refused(ctx context.Context, objects []*manifest.Object, live map[string]*manifest.Object,
	place func(*manifest.Object, string) (string, int)) ([]findings.Finding, error) {
	before := func(x *manifest.Object) *manifest.Object { return live[o.key(x)] }
	var same, changed []*manifest.Object
	for _, x := range objects {
		if o.has(live, x) {
			same = append(same, x)
		} else {
			changed = append(changed, x)
		}
	}
	apply := predict.Apply{API: o.API, Cluster: objects, Namespace: o.Namespace, Existing: before, Place: place,
		Whole: o.whole}
	list, err := apply.Refused(ctx, changed)
	return append(list, lists.Filter(fit.NamesTaken(append(same, changed...)), func(f findings.Finding) bool {
		return slices.ContainsFunc(changed, func(x *manifest.Object) bool { return x.Identity() == f.Object })
	})...), err
}

// key is what two states of one object have in common.
func (o TreeOptions) key(x *manifest.Object) string { return world.Key(x, o.Namespace) }

// carried returns the operators of the older state that are in the cluster still. One that fails stays as it is.
func (h *outcome) carried(base *outcome) (out []Planned) {
	live := lists.By(h.report.After, h.options.key)
	replaced, before := next(h.report), next(base.report)
	states := lists.By(h.report.CSVs, func(v predict.CSV) string { return v.Namespace + "/" + v.Name })
	for _, p := range base.plan {
		p.live = p.Name
		if i := before[p.at()]; i != nil && !i.Approval { // OLM has updated it, whatever Git changes
			p.live = i.Name
		}
		at := p.Namespace + "/" + p.live
		csv := live[olm.Group+"/"+v1alpha1.ClusterServiceVersionKind+"/"+at]
		if p.v1 || csv == nil && replaced[at] == nil {
			continue
		}
		asks := cmp.Or(live[h.options.key(p.Object)], p.Object)
		if csv == nil || states[at].Phase == string(v1alpha1.CSVPhaseSucceeded) {
			name := p.live
			p = ofSubscription(predict.Install{Subscription: asks, Namespace: p.Namespace, Name: p.Name,
				Catalog: p.Catalog, Choice: p.Choice, Group: h.report.GroupOf(p.Namespace), Dependency: p.dependency})
			p.live = name
		}
		p.Object = asks
		out = append(out, p)
	}
	return out
}

// remains returns what OperatorPolicies of the older state have made, and that is in the cluster still.
func (h *outcome) remains(base *outcome) (out []*manifest.Object) {
	given := lists.Set(slices.Concat(h.tree.Objects, base.git), h.options.key)
	live := lists.Set(h.report.After, h.options.key)
	for _, x := range base.tree.Objects {
		if key := h.options.key(x); !given[key] && live[key] {
			out = append(out, x)
		}
	}
	return out
}

// definitions returns the CRDs of operators that are gone, and that are in the cluster still, with the ClusterRoles for
// their users: the CRD owns these (OLM: operatorgroup.go, ensureProvidedAPIClusterRole).
func (h *outcome) definitions(base *outcome, carried []Planned) (out []*manifest.Object) {
	stays := lists.Set(carried, Planned.at)
	live := olm.CRDs(h.report.After)
	for _, part := range base.parts {
		for _, x := range part.Subject.All {
			crd := ""
			switch x.Kind {
			case "CustomResourceDefinition":
				crd = x.Name
			case "ClusterRole":
				crd = olm.APIOf(x.Name)
			}
			if !stays[part.plan.at()] && live[crd] != nil {
				out = append(out, x)
			}
		}
	}
	return out
}

// ignored notes each Subscription whose startingCSV moved in vain (OLM: registry/resolver/resolver.go). live has the
// objects of the cluster.
func (s *Subject) ignored(base *outcome, live map[string]*manifest.Object) {
	starting := func(x *manifest.Object) any { name, _ := x.Get("spec", "startingCSV"); return name }
	before := lists.By(base.tree.Objects, base.options.key)
	for _, x := range s.outcome.tree.Objects {
		old, there := before[s.outcome.options.key(x)], live[s.outcome.options.key(x)]
		if x.Kind != v1alpha1.SubscriptionKind || x.Group() != olm.Group || old == nil || there == nil ||
			s.outcome.world.StartingApproves(x.Namespace, x.Name) {
			continue
		}
		if x.Has("status") { // it says itself what is installed
			there = x
		}
		installed, _ := there.Get("status", "installedCSV")
		if installed != nil && installed != "" && starting(old) != starting(x) {
			s.remark("starting "+x.Identity(), "%s: OLM reads startingCSV only while nothing is installed, and %v is: "+
				"the change of startingCSV changes nothing", x.Identity(), installed)
		}
	}
}

// released returns the ClusterServiceVersions among objects that the catalogs have for Subscriptions that have
// installed them. They are shown as the catalogs have them.
func (o TreeOptions) released(subscriptions, objects []*manifest.Object) []*manifest.Object {
	known := map[string]bool{}
	for _, x := range subscriptions {
		if x.Kind == v1alpha1.SubscriptionKind && x.Group() == olm.Group {
			name, _ := x.Get("status", "installedCSV")
			pkg, _ := x.Get("spec", "name")
			if csv, ok := name.(string); ok && o.Catalogs.Has(fmt.Sprint(pkg), csv) {
				known[cmp.Or(x.Namespace, o.Namespace)+"/"+csv] = true
			}
		}
	}
	return lists.Filter(objects, func(x *manifest.Object) bool {
		return world.IsCSV(x) && known[cmp.Or(x.Namespace, o.Namespace)+"/"+x.Name]
	})
}

// settled returns what of a tree are operators that its newer state has just so, with all that belongs to them: both
// are of one cluster, and what OLM does to them is shown, as if they were beside the tree.
func (o TreeOptions) settled(objects []*manifest.Object) (out []*manifest.Object) {
	if len(o.Next) == 0 {
		return nil
	}
	next, crds := lists.By(o.Next, o.key), olm.CRDs(objects)
	whole := world.Index(objects, o.Namespace)
	differs := func(x *manifest.Object) bool { return next[o.key(x)] == nil || !world.Same(x, next[o.key(x)]) }
	for _, csv := range o.released(objects, objects) {
		if differs(csv) {
			continue
		}
		of := whole.With(csv)
		var spec v1alpha1.ClusterServiceVersionSpec
		_ = csv.Field(&spec.CustomResourceDefinitions, "spec", "customresourcedefinitions") // else it owns none
		for _, api := range olm.OwnedAPIs(&spec) {
			if crd := crds[api.Object()]; crd != nil {
				of = append(of, crd)
			}
		}
		if !slices.ContainsFunc(of, differs) {
			out = append(out, of...)
		}
	}
	return out
}

// left returns what has left Git, and takes it from the cluster, with what only that owned. Bindings as they were
// before their subjects changed have left it, too.
func (h *outcome) left(base *outcome, given map[string]*manifest.Object, live *world.World) (gone []*manifest.Object) {
	var rebound []*manifest.Object
	for _, x := range base.git {
		now, there := given[h.options.key(x)], live.Find(x)
		switch {
		case now != nil && !reflect.DeepEqual(olm.Get(x, "subjects"), olm.Get(now, "subjects")):
			rebound = append(rebound, x)
		case now == nil && there != nil:
			gone = append(gone, there)
		}
	}
	live.Remove(gone)
	return append(gone, rebound...)
}

// over returns the tree as it is applied to the cluster of another outcome, and what has left Git. A tree that says
// what is in a namespace, as a dump does, is believed, unless it says what the older one said: OLM has gone on since.
func (h *outcome) over(ctx context.Context, base *outcome) (on *tree.Tree, gone []*manifest.Object) {
	if len(base.report.After) == 0 {
		return h.tree, nil
	}
	o := h.options
	live := world.Index(base.report.After, o.Namespace)
	given := lists.By(h.tree.Objects, o.key)
	gone = h.left(base, given, live)
	before, says := lists.By(base.git, o.key), map[string]bool{}
	again := func(x *manifest.Object) bool {
		old := before[o.key(x)]
		return handsOver(x) && x.Has("status") && old != nil && live.Find(x) != nil &&
			reflect.DeepEqual(olm.Get(old, "status"), olm.Get(x, "status"))
	}
	for _, x := range h.tree.Objects {
		if (world.IsCSV(x) || handsOver(x) && !again(x)) && x.Has("status") {
			says[cmp.Or(x.Namespace, o.Namespace)] = true
		}
	}
	on = new(*h.tree)
	on.Objects = nil
	for x := range live.All() {
		executed := x.Kind == v1alpha1.InstallPlanKind && len(base.report.Plans) > 0
		if !executed && (given[o.key(x)] != nil || !says[x.Namespace] || x.Group() != olm.Group) {
			on.Objects = append(on.Objects, world.Live(x))
		}
	}
	if len(h.world.Policies) > 0 { // what is in the cluster decides what they make and delete
		h.world = predict.World(ctx, slices.Concat(on.Objects, h.git), o.Namespace, o.Catalogs)
		h.tree.Objects = lists.Filter(h.tree.Objects, func(x *manifest.Object) bool { return h.world.Find(x) != nil })
	}
	for _, x := range h.tree.Objects { // applied over it
		if again(x) && !says[cmp.Or(x.Namespace, o.Namespace)] {
			x = world.WithStatus(x, olm.Mapping(olm.Get(live.Find(x), "status")))
		}
		on.Objects = append(on.Objects, x)
	}
	return on, gone
}

// next returns what OLM comes to with each operator that it replaces, by namespace and name.
func next(r *predict.Report) map[string]*predict.Update {
	out := map[string]*predict.Update{}
	for _, u := range slices.Backward(r.Updates) {
		last := &u
		if further := out[u.Namespace+"/"+u.Name]; further != nil {
			last = further
		}
		out[u.Namespace+"/"+u.Replaces] = last
	}
	return out
}

// played reports whether each operator is what OLM installs for an object of a tree: how OLM gets to it is known.
func (s *Subject) played() bool { return s.outcome != nil && len(s.CSVs) == len(s.parts) }

// Unfit returns a function to what keeps an operator from working in a cluster, and to what its catalog says of its
// support. If nothing is known of the cluster, there is only the latter. An empty form is that which the releases say.
func Unfit(c fit.Cluster, form fit.Form) func(*compare.Operator) []findings.Finding {
	if form == "" {
		form = c.Form()
	}
	return func(o *compare.Operator) []findings.Finding {
		var operator fit.Operator
		if o.Package == "" {
			operator = fit.Installed(o.ClusterServiceVersion, o.Object)
		} else {
			b := &bundle.Bundle{CSV: o.ClusterServiceVersion, Properties: o.Properties, Dependencies: o.Dependencies}
			operator = fit.Operator{CSV: o.ClusterServiceVersion, Object: o.Object, Properties: b.CatalogProperties(),
				Shipped: o.Shipped}
		}
		if len(o.Lifecycles) > 0 {
			operator.Lifecycle = fit.ReadLifecycle(o.Lifecycles)
		}
		if !c.Known() {
			return fit.Support(operator, c)
		}
		if o.WithoutOLM {
			return fit.Findings(operator, fit.Plain, c)
		}
		return fit.Findings(operator, form, c)
	}
}

// Moves returns a function to what a form does with the namespace of an operator; nil if it does nothing with it.
func Moves(c fit.Cluster, form fit.Form) func(old, now *compare.Operator) []findings.Finding {
	if form == "" && c.Known() {
		form = c.Form()
	}
	if form != fit.OLMv1 {
		return nil
	}
	return func(old, now *compare.Operator) []findings.Finding {
		of := func(o *compare.Operator) fit.Operator {
			return fit.Operator{CSV: o.ClusterServiceVersion, Object: o.Object,
				Bundle: &bundle.Bundle{Package: cmp.Or(o.Package, old.Package)}}
		}
		return fit.Moved(of(old), of(now), c)
	}
}

// said adds what a catalog says about a release that was chosen in it.
func said(ctx context.Context, o *compare.Operator, chosen catalog.Choice) (err error) {
	if chosen.Package == nil {
		return nil
	}
	o.Deprecated = append(o.Deprecated, chosen.Deprecations()...)
	o.Lifecycles, err = chosen.Package.DocumentsOf(ctx, fit.SchemaLifecycle)
	return err
}
