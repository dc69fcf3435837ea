package predict

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/netpol"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
)

// groupAnnotations are the annotations that OLM copies from a group to its CSVs.
var groupAnnotations = []string{
	olm.AnnotationGroup,
	olm.AnnotationNamespace,
	olm.AnnotationTargets,
}

// simulation is what OLM does with OperatorGroups and CSVs. It creates them one by one, in the order of creation, and
// after each runs OLM's two reconcile loops, for groups and for CSVs, until nothing changes. Objects with a status
// exist from the start, in the state that the cluster gave them. Namespaces, CRDs and RBAC exist before all else.
type simulation struct {
	*prediction
	groupsIn  map[string][]*group        // by namespace, in the order of creation
	csvsIn    map[string][]*csv          // without copies
	queuedIn  map[string]int             // how many of csvsIn are in csvQueue
	unsettled map[string][]*csv          // of csvsIn, those with that mark
	called    map[[2]string][]*csv       // of csvsIn, by namespace and name
	owners    map[[2]string][]*csv       // of csvsIn, by namespace and the name of a CRD
	heirs     map[[2]string][]*csv       // of csvsIn, by namespace and the name that they replace
	annotated map[string]annotated       // by namespace
	covering  map[string]map[*group]bool // groups by the namespaces that they cover; "" has the global groups

	providing map[string][]*csv          // by API, of csvsIn
	listing   map[string]map[*group]bool // groups by olm.providedAPIs

	installing map[[2]string]*world.Subscription // by namespace and status.installedCSV

	serving map[string]*csv   // by APIService
	owning  map[string][]*csv // by APIService: the CSVs that own it
	waiting map[string][]*csv // by APIService: the CSVs that require it

	groupQueue []*group
	csvQueue   []*csv
	restless   bool // the loops did not reach a stable state
	rules      map[string]bool
	shared     map[string]bool // the CRDs that several operators may own
	hooks      bool            // the tree has admission webhooks
	network    map[string]*netpol.Namespace
}

// play creates the groups and CSVs of a prediction in the order of their creation, and returns the state in which OLM's
// loops come to rest.
func play(c *prediction) *simulation {
	o := &simulation{
		prediction: c,
		groupsIn:   map[string][]*group{},
		csvsIn:     map[string][]*csv{},
		queuedIn:   map[string]int{},
		unsettled:  map[string][]*csv{},
		called:     map[[2]string][]*csv{},
		owners:     map[[2]string][]*csv{},
		heirs:      map[[2]string][]*csv{},
		covering:   map[string]map[*group]bool{},
		annotated:  map[string]annotated{},
		serving:    map[string]*csv{},
		owning:     map[string][]*csv{},
		waiting:    map[string][]*csv{},
		rules:      lists.Set(Rules(), func(r findings.Rule) string { return r.ID }),

		hooks: slices.ContainsFunc(c.Others, admits),

		providing: map[string][]*csv{},
		listing:   map[string]map[*group]bool{},

		installing: lists.By(c.Subscriptions, func(s *world.Subscription) [2]string {
			return [2]string{s.Namespace, s.InstalledCSV}
		}),
	}
	groups := lists.Filter(c.groups, func(g *group) bool { return !g.exists })
	csvs := lists.Filter(c.csvs, func(v *csv) bool { return !v.exists })
	for _, g := range c.groups {
		if g.exists {
			o.create(g, nil)
		}
	}
	for _, v := range c.csvs {
		for _, d := range v.APIServices.Owned {
			o.owning[d.GetName()] = append(o.owning[d.GetName()], v)
		}
		for _, d := range v.APIServices.Required {
			o.waiting[d.GetName()] = append(o.waiting[d.GetName()], v)
		}
	}
	for _, v := range c.csvs {
		if v.exists {
			o.create(nil, v)
		}
	}
	o.runLoops()
	for len(groups)+len(csvs) > 0 {
		if len(csvs) == 0 || len(groups) > 0 && groups[0].Order(csvs[0].Ordered) < 0 {
			o.create(groups[0], nil)
			groups = groups[1:]
		} else {
			o.create(nil, csvs[0])
			csvs = csvs[1:]
		}
		o.runLoops()
	}
	return o
}

// create adds a group, or else a CSV, to what OLM sees, and requeues what that can change.
func (sim *simulation) create(g *group, v *csv) {
	if g != nil {
		g.exists = true
		sim.groupsIn[g.Namespace] = append(sim.groupsIn[g.Namespace], g)
		sim.target(g, g.status)
		sim.list(g, g.apis)
		sim.wake(g.Namespace)
		return
	}
	if v.exists = true; v.Copied { // OLM does nothing with what looks like a copy
		return
	}
	v.position = len(sim.csvsIn[v.Namespace])
	sim.csvsIn[v.Namespace] = append(sim.csvsIn[v.Namespace], v)
	name, replaces := [2]string{v.Namespace, v.Name}, [2]string{v.Namespace, v.Replaces}
	sim.called[name] = append(sim.called[name], v)
	sim.noteUnsettled(v)
	sim.heirs[replaces] = append(sim.heirs[replaces], v)
	for _, d := range v.CRDs.Owned {
		crd := [2]string{v.Namespace, d.Name}
		sim.owners[crd] = append(sim.owners[crd], v)
	}
	for a := range v.provided {
		sim.providing[a] = append(sim.providing[a], v)
	}
	if v.phase == v1alpha1.CSVPhaseSucceeded || v.phase == v1alpha1.CSVPhaseInstalling ||
		v.phase == v1alpha1.CSVPhaseReplacing {
		sim.serve(v)
	}
	sim.wakeBeside(v)
}

// wakeBeside requeues what a CSV that comes or goes can change: the groups of its namespace, and the CSVs that are not
// settled or that it replaces. Of the others OLM's loops find nothing to do.
func (sim *simulation) wakeBeside(v *csv) {
	for _, g := range sim.groupsIn[v.Namespace] {
		sim.wakeGroup(g)
	}
	woken := []*csv{v}
	if v.counted || sim.queuedIn[v.Namespace] != len(sim.csvsIn[v.Namespace])-1 { // not all others are awake
		woken = slices.Concat(woken, sim.called[[2]string{v.Namespace, v.Replaces}], sim.unsettledIn(v.Namespace))
		slices.SortFunc(woken, func(a, b *csv) int { return cmp.Compare(a.position, b.position) })
	}
	for _, other := range woken {
		if !other.deleted {
			sim.wakeCSV(other)
		}
	}
	sim.work(len(woken) / 8)
}

// unsettledIn returns the CSVs of a namespace that are not settled.
func (sim *simulation) unsettledIn(namespace string) []*csv {
	left := slices.DeleteFunc(sim.unsettled[namespace], func(v *csv) bool {
		v.unsettled = !v.deleted && !v.settled()
		return !v.unsettled
	})
	sim.unsettled[namespace] = left
	return left
}

// noteUnsettled adds a CSV to those of its namespace that are not settled, if it is none of them.
func (sim *simulation) noteUnsettled(v *csv) {
	if !v.unsettled && !v.settled() {
		v.unsettled = true
		sim.unsettled[v.Namespace] = append(sim.unsettled[v.Namespace], v)
	}
}

// settled reports whether no other CSV but one that replaces it changes what OLM does with a CSV.
func (v *csv) settled() bool {
	return v.phase == v1alpha1.CSVPhaseSucceeded ||
		v.phase == v1alpha1.CSVPhaseFailed && v.reason != v1alpha1.CSVReasonOwnerConflict
}

func (sim *simulation) wake(namespace string) {
	for _, g := range sim.groupsIn[namespace] {
		sim.wakeGroup(g)
	}
	for _, v := range sim.csvsIn[namespace] {
		sim.wakeCSV(v)
	}
	sim.work(len(sim.csvsIn[namespace]))
}

func (sim *simulation) wakeGroup(g *group) {
	if !g.queued {
		g.queued = true
		sim.groupQueue = append(sim.groupQueue, g)
	}
}

func (sim *simulation) wakeCSV(v *csv) {
	if !v.queued {
		v.queued = true
		if v.counted = v.exists && !v.Copied; v.counted {
			sim.queuedIn[v.Namespace]++
		}
		sim.csvQueue = append(sim.csvQueue, v)
	}
}

// wakeRivals requeues the CSVs that provide any of the APIs and whose group intersects with g, because a conflict may
// have appeared or gone. It does so in the order of the groups' creation.
func (sim *simulation) wakeRivals(g *group, apis apiSet) {
	groups := map[*group]bool{}
	for a := range apis {
		for _, v := range sim.providing[a] {
			for _, other := range sim.groupsIn[v.Namespace] {
				groups[other] = true
			}
		}
	}
	list := apis.UnsortedList()
	for _, other := range sim.intersecting(g, groups) {
		for _, v := range sim.csvsIn[other.Namespace] {
			if v.provided.HasAny(list...) {
				sim.wakeCSV(v)
			}
		}
	}
}

// runLoops runs the loops, groups first, until nothing changes, or a limit ends what OLM itself would never end.
func (sim *simulation) runLoops() {
	rounds := 1000
	if !sim.restless {
		rounds += 100 * (len(sim.groups) + len(sim.csvs))
	}
	for ; len(sim.groupQueue)+len(sim.csvQueue) > 0; rounds-- {
		if sim.work(10); rounds == 0 || sim.tooMuch() {
			sim.restless = true
			for _, g := range sim.groupQueue {
				g.queued = false
			}
			for _, v := range sim.csvQueue {
				v.queued, v.counted = false, false
			}
			sim.groupQueue, sim.csvQueue = nil, nil
			clear(sim.queuedIn)
			return
		}
		if len(sim.groupQueue) > 0 {
			g := sim.groupQueue[0]
			sim.groupQueue, g.queued = sim.groupQueue[1:], false
			sim.syncGroup(g)
			continue
		}
		v := sim.csvQueue[0]
		sim.csvQueue, v.queued = sim.csvQueue[1:], false
		if v.counted {
			v.counted = false
			sim.queuedIn[v.Namespace]--
		}
		if !v.deleted {
			sim.syncCSV(v)
		}
	}
}

// syncGroup is OLM's reconcile loop for OperatorGroups (pkg/controller/operators/olm/operatorgroup.go,
// syncOperatorGroups).
func (sim *simulation) syncGroup(g *group) {
	if g.refused != nil || g.lacksAccount(sim.prediction) {
		return
	}
	if !slices.Equal(g.targets, g.status) || !g.resolved {
		sim.wakeRivals(g, g.apis)
		sim.target(g, g.targets)
		g.resolved = true
		sim.wakeRivals(g, g.apis)
		sim.wake(g.Namespace)
	}
	all, last := sim.csvsIn[g.Namespace], sim.annotated[g.Namespace]
	sim.annotated[g.Namespace] = annotated{g, g.status, len(all)}
	if last.group == g && slices.Equal(last.status, g.status) { // the CSVs that may lack its annotations
		all = all[last.csvs:]
	}
	sim.work(len(all))
	for _, v := range all {
		if !v.deleted {
			sim.annotate(v, g)
		}
	}
	sim.prune(g)
}

// annotated is what the last group of a namespace has written to how many of its CSVs.
type annotated struct {
	group  *group
	status []string
	csvs   int
}

// lacksAccount reports whether the ServiceAccount of the group does not exist: OLM waits for it (lib/scoped/syncer.go).
// The status of the group may be older than a dump of the ServiceAccounts of its namespace.
func (g *group) lacksAccount(c *prediction) bool {
	account := rbac.Account{Namespace: g.Namespace, Name: g.Spec.ServiceAccountName}
	believed := g.hasAccount && !c.dumped[rbacv1.ServiceAccountKind+"/"+g.Namespace]
	return account.Name != "" && !believed && !c.RBAC.Exists(account)
}

// annotate copies the annotations of the group to a CSV and reports whether they differed. A group without targets
// has no value for the targets annotation, so there they always differ (operatorGroupAnnotationsDiffer,
// setOperatorGroupAnnotations).
func (sim *simulation) annotate(v *csv, g *group) (differ bool) {
	annotation := strings.Join(g.status, ",")
	targets, has := v.ofGroup[olm.AnnotationTargets]
	if v.ofGroup[olm.AnnotationNamespace] == g.Namespace && v.ofGroup[olm.AnnotationGroup] == g.Name && has &&
		targets == annotation {
		return false
	}
	changed := false
	set := func(key, value string) {
		if old, ok := v.ofGroup[key]; !ok || old != value {
			v.ofGroup[key], changed = value, true
		}
	}
	set(olm.AnnotationNamespace, g.Namespace)
	set(olm.AnnotationGroup, g.Name)
	if len(g.status) > 0 { // the API server drops an empty status.namespaces
		set(olm.AnnotationTargets, annotation)
	}
	if changed {
		sim.wakeCSV(v)
	}
	return true
}

// prune removes from olm.providedAPIs what no CSV in the namespace provides, unless the group is static or a new CSV
// is about to add APIs (pruneProvidedAPIs).
func (sim *simulation) prune(g *group) {
	if g.Spec.StaticProvidedAPIs || sim.unknownCSV[g.Namespace] || len(g.apis) == 0 || g.pruned {
		return
	}
	sim.work(len(sim.csvsIn[g.Namespace]))
	kept := apiSet{}
	for _, v := range sim.csvsIn[g.Namespace] {
		if v.deleted || v.Unusable != nil {
			continue
		}
		for a := range v.provided {
			switch {
			case g.apis.Has(a):
				kept.Insert(a)
			case v.phase == v1alpha1.CSVPhaseNone || v.phase == v1alpha1.CSVPhasePending:
				return
			}
		}
	}
	if g.pruned = true; len(kept) < len(g.apis) {
		sim.provide(g, kept)
	}
}

func (sim *simulation) provide(g *group, apis apiSet) {
	old := g.apis
	sim.work(8 * len(apis))
	sim.list(g, parseAPIs(listed(apis)))
	g.written, g.dropped, g.text = true, apis.Difference(g.apis), nil
	sim.wakeGroup(g)
	sim.wakeRivals(g, old.Union(g.apis))
}

// add is provide for the APIs of a group and new ones. It does what is new of that, and reports whether OLM writes.
func (sim *simulation) add(g *group, apis apiSet) bool {
	sim.work(8 * len(apis))
	if g.written && apis.Equal(g.dropped) ||
		!g.written && g.text != nil && *g.text == listed(g.apis.Union(apis)) {
		return false
	}
	readable := parseAPIs(listed(apis))
	move(sim.listing, g, maps.Keys(apiSet{}), maps.Keys(readable))
	g.apis.Insert(readable.UnsortedList()...)
	g.written, g.dropped, g.text = true, apis.Difference(readable), nil
	sim.wakeGroup(g)
	sim.wakeRivals(g, readable)
	return true
}

// annotation returns olm.providedAPIs; nil if it is absent.
func (g *group) annotation() *string {
	if g.written && g.text == nil {
		text := listed(g.apis.Union(g.dropped))
		g.text = &text
	}
	return g.text
}

func (sim *simulation) list(g *group, apis apiSet) {
	g.pruned = g.pruned && apis.IsSuperset(g.apis) // what is added, a CSV provides
	move(sim.listing, g, maps.Keys(g.apis), maps.Keys(apis))
	g.apis = apis
}

func (sim *simulation) target(g *group, targets []string) {
	old := g.covered()
	g.status = targets
	move(sim.covering, g, slices.Values(old), slices.Values(g.covered()))
}

// move takes a group from some keys to others.
func move(at map[string]map[*group]bool, g *group, old, now iter.Seq[string]) {
	for key := range old {
		delete(at[key], g)
	}
	for key := range now {
		if at[key] == nil {
			at[key] = map[*group]bool{}
		}
		at[key][g] = true
	}
}

// intersecting returns those of some groups that share a namespace with g, in the order of creation. A global group
// shares one with every group that has targets.
func (sim *simulation) intersecting(g *group, among map[*group]bool) []*group {
	var found []*group
	for other := range among {
		if other != g && sim.intersect(g, other) {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b *group) int { return a.Order(b.Ordered) })
	return found
}

func (sim *simulation) intersect(g, other *group) bool {
	switch {
	case len(g.status) == 0 || len(other.status) == 0 || !other.exists:
		return false
	case isGlobal(g.status) || isGlobal(other.status):
		return true
	}
	return slices.ContainsFunc(g.covered(), func(ns string) bool { return sim.covering[ns][other] })
}
