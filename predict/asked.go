package predict

import (
	"cmp"
	"context"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Subscribed is a namespace with Subscriptions, as OLM's resolver sees it.
type Subscribed struct {
	State         *resolve.State // with what the tree says is installed
	Subscriptions []Subscriber   // in the order of State.Subscriptions
}

// Subscriber is who asks for a Subscription.
type Subscriber struct {
	Object *manifest.Object    // the Subscription, or the OperatorPolicy that makes it
	Policy *olm.OperatorPolicy // that manages it; nil if there is none
}

// Approved returns the release that an OperatorPolicy approves: of its versions the one that is the furthest along the
// updates of the channel. why says why there is none. It is empty for a Subscription without such a policy.
func (s Subscriber) Approved(pkg *catalog.Package, channel string) (release *catalog.Bundle, why string) {
	if s.Policy == nil || leaveAlone(s.Policy) != "" {
		return nil, ""
	}
	return current(s.Policy, pkg, channel)
}

// subscribers are the Subscriptions of a tree, with those that its OperatorPolicies make.
type subscribers struct {
	*resolution
	tree       *tree.Tree // with what the OperatorPolicies make in their place
	policies   []*olm.OperatorPolicy
	refused    []olm.UnknownPolicy
	unknown    []Unknown // of the refused policies
	namespaces []*resolve.State
}

func subscribersOf(ctx context.Context, t *tree.Tree, namespace string, catalogs Catalogs) *subscribers {
	made, refused := WithPolicies(ctx, t.Objects, namespace, catalogs)
	whole := *t
	whole.Objects = lists.Filter(made, func(o *manifest.Object) bool { return o.Group() != olm.GroupPolicy })
	s := &subscribers{tree: &whole, policies: olm.OperatorPolicies(made), refused: refused,
		unknown: lists.Map(refused, func(u olm.UnknownPolicy) Unknown { return Unknown{Object: u.Object, Why: u.Why} })}
	c, _ := clusterOf(ctx, &whole, namespace, catalogs)
	read := resolve.Of(c.Cluster)
	s.resolution, s.namespaces = c.resolution(read, catalogs), read.Namespaces
	return s
}

// SubscribedNamespaces returns the namespaces of a tree that have Subscriptions, sorted by name, and the Subscriptions
// and OperatorPolicies of which nobody can say what they ask for. namespace is that of objects that name none.
func SubscribedNamespaces(ctx context.Context, t *tree.Tree, namespace string, catalogs Catalogs) (list []Subscribed,
	unknown []Unknown) {
	r := subscribersOf(ctx, t, namespace, catalogs)
	unknown = r.unknown
	of := lists.Group(r.Subscriptions, func(s *cluster.Subscription) string { return s.Namespace })
	for _, state := range r.namespaces {
		ns := state.Namespace
		for _, s := range of[ns] {
			if r.sub(ns, s.Name) == nil {
				unknown = append(unknown, Unknown{s.Object, r.resolution.unknown(s), true})
			}
		}
		if len(r.subs[ns]) == 0 {
			continue
		}
		r.forget(state)
		if !r.prepare(state) {
			unknown = append(unknown, Unknown{Object: r.subs[ns][0].Object,
				Why: "its namespace has " + text.Count(state.OperatorGroups, "OperatorGroup")})
			continue
		}
		one := Subscribed{State: state}
		for _, s := range state.Subscriptions {
			by := r.sub(ns, s.Name).Object
			one.Subscriptions = append(one.Subscriptions, Subscriber{by, lists.Find(r.policies, manages(by))})
		}
		list = append(list, one)
	}
	return list, unknown
}

// States returns the namespaces of a tree as OLM's resolver sees them, sorted by name, with what the tree says is
// installed and the Subscriptions whose catalogs are not known. namespace is that of objects that name none. If install
// is set, it is one of the namespaces, and has an OperatorGroup if the tree says nothing of it.
func States(ctx context.Context, t *tree.Tree, namespace string, catalogs Catalogs, install bool) []*resolve.State {
	c, _ := clusterOf(ctx, t, namespace, catalogs)
	read := resolve.Of(c.Cluster)
	r, list := c.resolution(read, catalogs), read.Namespaces
	if install && !slices.ContainsFunc(list, func(s *resolve.State) bool { return s.Namespace == namespace }) {
		list = append(list, &resolve.State{Namespace: namespace, OperatorGroups: 1})
		slices.SortFunc(list, func(a, b *resolve.State) int { return cmp.Compare(a.Namespace, b.Namespace) })
	}
	for _, state := range list {
		r.look(state)
		for i := range state.Subscriptions {
			r.claim(state, &state.Subscriptions[i])
		}
	}
	return list
}
