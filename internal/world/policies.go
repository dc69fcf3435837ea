package world

import (
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Complete adds what a cluster has beside the objects: the OperatorGroups of its distribution, and what
// OperatorPolicies make. It takes out what they delete (open-cluster-management-io/config-policy-controller:
// controllers/operatorpolicy_controller.go, handleResources). An object that is there counts as it is. defaults may be
// nil, and openShift says that the distribution is known to be OpenShift.
func (w *World) Complete(openShift bool, defaults olm.PackageDefaults) {
	for _, p := range w.Policies {
		p.Complete(defaults)
	}
	acting := lists.Filter(w.Policies, (*olm.OperatorPolicy).Acts)
	for _, p := range acting {
		if p.Removes() && !slices.ContainsFunc(acting, p.Overlaps) {
			w.remove(p)
		}
	}
	installing := lists.Filter(acting, (*olm.OperatorPolicy).Installs)
	w.distribute(openShift, installing)
	for _, named := range []bool{true, false} {
		for _, p := range installing {
			if p.NamesGroup() == named && len(w.groupsIn(p.Namespace)) == 0 {
				w.make(p.OperatorGroup())
			}
		}
	}
	for _, p := range installing {
		there := w.Get(olm.Group, v1alpha1.SubscriptionKind, p.Namespace, p.Package) != nil
		p.Mismatch = w.mismatch(p)
		if p.Held = !there && p.Mismatch != ""; !there && !p.Held {
			w.make(p.Subscription())
		}
	}
	slices.SortStableFunc(w.Groups, func(a, b *Group) int { return a.Order(b.Ordered) })
}

// Settled returns objects that the world is read from, with what OperatorPolicies have made, and without what they have
// deleted.
func (w *World) Settled(objects []*manifest.Object) []*manifest.Object {
	there := lists.Filter(objects, func(o *manifest.Object) bool { return w.Find(o) != nil })
	return slices.Concat(there, w.Made)
}

func (w *World) make(o *manifest.Object) {
	w.Made = append(w.Made, o)
	w.take(o, "", len(w.objects))
}

func (w *World) groupsIn(namespace string) []*Group {
	return lists.Filter(w.Groups, func(g *Group) bool { return g.Namespace == namespace })
}

// distribute adds the OperatorGroups that the distribution has without Git, and those that a dump without them lacks. A
// cluster's own OperatorGroups among the objects are all that it has.
func (w *World) distribute(openShift bool, installing []*olm.OperatorPolicy) {
	if slices.ContainsFunc(w.Groups, func(g *Group) bool { return ofCluster(g.Object) }) {
		return
	}
	if len(w.Groups) == 0 {
		w.groupsOfCSVs()
	}
	var asking []string // namespaces
	for _, p := range installing {
		if !p.NamesGroup() || p.Namespace == olm.NamespaceOperators {
			asking = append(asking, p.Namespace)
		}
	}
	for _, o := range w.OLM {
		if o.Kind == v1alpha1.SubscriptionKind || o.Kind == v1alpha1.ClusterServiceVersionKind {
			asking = append(asking, o.Namespace)
		}
	}
	for _, namespace := range lists.Unique(asking) {
		groups := w.groupsIn(namespace)
		group := olm.DistributionGroup(namespace, len(groups) > 0, openShift)
		if group != nil && !slices.ContainsFunc(groups, func(g *Group) bool { return g.Name == olm.GlobalGroup }) {
			w.take(group, "", -1) // it is older than what Git brings
		}
	}
}

// groupsOfCSVs adds the OperatorGroups that OLM has made the ClusterServiceVersions of a cluster members of.
func (w *World) groupsOfCSVs() {
	for _, v := range w.CSVs {
		targets, member := v.Annotations[olm.AnnotationTargets]
		if v.Copied || v.Phase == v1alpha1.CSVPhaseNone || !member || v.Annotations[olm.AnnotationGroup] == "" ||
			v.Annotations[olm.AnnotationNamespace] != v.Namespace || len(w.groupsIn(v.Namespace)) > 0 {
			continue
		}
		w.take(manifest.New(map[string]any{"apiVersion": operatorsv1.SchemeGroupVersion.String(),
			"kind":     operatorsv1.OperatorGroupKind,
			"metadata": map[string]any{"name": v.Annotations[olm.AnnotationGroup], "namespace": v.Namespace},
			"spec": map[string]any{"targetNamespaces": text.Values(strings.FieldsFunc(targets,
				func(r rune) bool { return r == ',' }))}}), "", -1)
	}
}

// Managed returns the OperatorPolicy that manages a Subscription, or nil.
func (w *World) Managed(namespace, name string) *olm.OperatorPolicy {
	return lists.Find(w.Policies, Manages(namespace, name))
}

// Manages returns a condition: that an OperatorPolicy makes or changes a Subscription.
func Manages(namespace, name string) func(*olm.OperatorPolicy) bool {
	return func(p *olm.OperatorPolicy) bool {
		return p.Installs() && p.Package == name && (p.Namespace == namespace || p.Namespace == "")
	}
}

// StartingApproves reports whether startingCSV of a Subscription says what is approved once an operator is installed:
// an OperatorPolicy approves it beside what its versions name (getApprovedCSVs).
func (w *World) StartingApproves(namespace, name string) bool {
	p := w.Managed(namespace, name)
	return p != nil && p.Automatic && len(p.Versions) > 0
}

// mismatch returns what the controller says of the OperatorGroups of a policy's namespace (musthaveOpGroup), or "".
func (w *World) mismatch(p *olm.OperatorPolicy) string {
	groups := w.groupsIn(p.Namespace)
	names := lists.Map(groups, func(g *Group) string {
		if g.File == "" {
			return g.Name
		}
		return fmt.Sprintf("%s (%s:%d)", g.Name, g.File, g.Line)
	})
	switch own := p.OperatorGroup(); {
	case len(groups) > 1:
		return "there is more than one OperatorGroup in the namespace: " + strings.Join(names, ", ")
	case len(groups) == 1 && p.NamesGroup() && groups[0].Name != own.Name:
		return fmt.Sprintf("the OperatorGroup found on the cluster does not match the policy: namespace %s has %s, "+
			"and the policy names %s", p.Namespace, names[0], own.Name)
	}
	return ""
}

// remove takes out what a policy deletes (mustnothaveOpGroup, mustnothaveSubscription, mustnothaveCSV, handleCRDs), and
// what the garbage collector and OLM remove after it. The rest is read again.
func (w *World) remove(p *olm.OperatorPolicy) {
	label := olm.ComponentLabel(p.Package + "." + p.Namespace)
	labelled := func(o *manifest.Object) bool { return o.Has("metadata", "labels", label) }
	subs := lists.Filter(w.Subscriptions, func(s *Subscription) bool { return s.Namespace == p.Namespace })
	sub := lists.Find(subs, func(s *Subscription) bool { return s.Name == p.Package })
	// OLM gives the label to what status.installedCSV names, and to the CRDs that this owns (OLM:
	// pkg/controller/operators/adoption_controller.go).
	csvs := lists.Filter(w.CSVs, func(v *CSV) bool {
		return !v.Copied && v.Namespace == p.Namespace &&
			(labelled(v.Object) || sub != nil && v.Name == sub.InstalledCSV)
	})
	var gone []*manifest.Object
	if groups := w.groupsIn(p.Namespace); len(groups) == 1 && w.removesGroup(p, groups[0], subs) {
		gone = append(gone, groups[0].Object)
	}
	if sub != nil && p.Deletes(v1alpha1.SubscriptionKind) {
		gone = append(gone, sub.Object)
	}
	if p.Deletes(v1alpha1.ClusterServiceVersionKind) {
		gone = append(gone, lists.Map(csvs, func(v *CSV) *manifest.Object { return v.Object })...)
	}
	for _, name := range lists.Keys(w.CRDs) {
		if p.Deletes(kindCRD) && (labelled(w.CRDs[name]) || slices.ContainsFunc(csvs, func(v *CSV) bool {
			return slices.ContainsFunc(v.CRDs.Owned, func(d v1alpha1.CRDDescription) bool { return d.Name == name })
		})) {
			gone = append(gone, w.CRDs[name])
		}
	}
	if p.Removed = gone; len(gone) == 0 {
		return
	}
	w.Remove(gone)
	rest := read(slices.Collect(w.All()), "")
	rest.Policies, rest.Duplicates, rest.Disputes, rest.home = w.Policies, w.Duplicates, w.Disputes, w.home
	*w = *rest
}

// removesGroup reports whether a policy deletes the only OperatorGroup of its namespace.
func (w *World) removesGroup(p *olm.OperatorPolicy, g *Group, subs []*Subscription) bool {
	return p.Deletes(operatorsv1.OperatorGroupKind) && len(OwnersOf(g.Object)) == 0 &&
		!slices.ContainsFunc(subs, func(s *Subscription) bool { return s.Name != p.Package }) &&
		(g.Name == p.OperatorGroup().Name ||
			!p.NamesGroup() && olm.Get(g.Object, "metadata", "generateName") == p.Namespace+"-")
}

// Remove deletes objects, and what goes with them.
func (w *World) Remove(gone []*manifest.Object) {
	for _, o := range gone {
		w.Delete(o)
	}
	l := leavingOf(gone)
	for _, i := range w.near(l) {
		if o := w.objects[i]; o != nil && l.takes(o) {
			w.Delete(o)
		}
	}
}

// With returns an object and what Remove deletes with it. The world stays as it is.
func (w *World) With(o *manifest.Object) (list []*manifest.Object) {
	before := len(w.deleted)
	w.Remove([]*manifest.Object{o})
	for _, d := range w.deleted[before:] {
		w.objects[d.place] = d.object
		w.index[keyOf(d.object, "")] = d.place
		list = append(list, d.object)
	}
	w.deleted = w.deleted[:before]
	return list
}

// leaving is what takes other objects with it, beside what it owns: a Namespace all that is in it, a CRD its custom
// resources, and a ClusterServiceVersion its copies, and what has no namespace and names it (OLM:
// pkg/controller/operators/olm/operator.go, handleClusterServiceVersionDeletion).
type leaving struct {
	namespaces map[string]bool
	kinds      map[schema.GroupKind]bool
	csvs       map[string][]string // by name: their namespaces
}

func leavingOf(gone []*manifest.Object) leaving {
	l := leaving{map[string]bool{}, map[schema.GroupKind]bool{}, map[string][]string{}}
	for _, o := range gone {
		switch {
		case o.Kind == "Namespace" && o.Group() == "":
			l.namespaces[o.Name] = true
		case o.Kind == kindCRD:
			k, _ := olm.DefinedKind(o)
			l.kinds[schema.GroupKind{Group: k.Group, Kind: k.Name}] = true
		case o.Kind == v1alpha1.ClusterServiceVersionKind:
			l.csvs[o.Name] = append(l.csvs[o.Name], o.Namespace)
		}
	}
	return l
}

// near returns the places of what may leave too, in their order.
func (w *World) near(l leaving) (places []int) {
	if len(l.namespaces) > 0 || len(l.kinds) > 0 {
		for i := range w.objects {
			places = append(places, i)
		}
		return places
	}
	for name := range l.csvs {
		places = append(places, w.marked[name]...)
	}
	return lists.SortedUnique(places)
}

func (l leaving) takes(o *manifest.Object) bool {
	if l.namespaces[o.Namespace] || l.kinds[schema.GroupKind{Group: o.Group(), Kind: o.Kind}] {
		return true
	}
	of := l.csvs[namedCSV(o)]
	if IsCSV(o) {
		return slices.Contains(of, label(o, olm.LabelCopiedFrom))
	}
	in := label(o, olm.LabelOwnerNamespace)
	return len(of) > 0 && (in == "" || slices.Contains(of, in))
}

// namedCSV returns the name of the ClusterServiceVersion that an object may leave with: that of a copy is its own.
func namedCSV(o *manifest.Object) string {
	switch {
	case IsCSV(o):
		return o.Name
	case o.Namespace != "" || o.Kind == kindCRD:
		return ""
	}
	return label(o, olm.LabelOwner)
}

// IsCSV reports whether an object is a ClusterServiceVersion.
func IsCSV(o *manifest.Object) bool {
	return o.Kind == v1alpha1.ClusterServiceVersionKind && o.Group() == olm.Group
}

func label(o *manifest.Object, name string) string {
	return olm.Text(olm.Get(o, "metadata", "labels", name))
}
