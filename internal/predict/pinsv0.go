package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// subscriptionPins is Pins of OperatorPolicies and Subscriptions.
func subscriptionPins(ctx context.Context, t *tree.Tree, o PinOptions) (list []Pin, unknown []Unknown, err error) {
	s := subscribersOf(ctx, t, o.Namespace, o.Catalogs)
	unknown = s.unknown
	report, err := Check(ctx, t, Options{Namespace: o.Namespace, Catalogs: o.Catalogs})
	if err != nil {
		return nil, nil, err
	}
	key := func(x *manifest.Object) string { return world.Key(x, o.Namespace) }
	b := &pinner{resolution: s.resolution, options: o, report: report, objects: t.Objects,
		inTree: lists.Set(t.Objects, originOf), named: lists.Group(t.Objects, key)}
	for _, p := range s.policies {
		switch why := leaveAlone(p); {
		case installsWhat(p) != "":
		case why != "":
			list = append(list, Pin{Object: p.Object, Policy: p, Channel: p.Channel, Reason: why})
		default:
			b.policies = append(b.policies, p)
		}
	}
	in := lists.Group(b.Subscriptions, func(s *world.Subscription) string { return s.Namespace })
	for _, state := range s.namespaces {
		pins, nobody, err := b.namespace(ctx, state, in[state.Namespace])
		if err != nil {
			return nil, nil, err
		}
		list, unknown = append(list, pins...), append(unknown, nobody...)
	}
	known := lists.Set(slices.Concat(lists.Map(list, func(p Pin) *manifest.Object { return p.Object }),
		lists.Map(unknown, func(u Unknown) *manifest.Object { return u.Object })), originOf)
	pins, nobody := b.others(known)
	return append(list, pins...), append(unknown, nobody...), nil
}

// leaveAlone returns why the versions of an OperatorPolicy decide no update; empty if they do.
func leaveAlone(p *olm.OperatorPolicy) string {
	switch {
	case p.Idle() != "":
		return "it installs nothing: " + p.Idle()
	case len(p.Versions) == 0 && p.Automatic:
		return "it has no versions: it approves each update without a change of the file"
	case !p.Automatic:
		return "its upgradeApproval is None: somebody approves each update in the cluster"
	}
	return ""
}

// pinner finds the pins of Subscriptions, made by OperatorPolicies or not.
type pinner struct {
	*resolution
	options  PinOptions
	report   *Report
	objects  []*manifest.Object // of the tree
	inTree   map[origin]bool
	named    map[string][]*manifest.Object // the same, by key
	policies []*olm.OperatorPolicy         // whose versions decide
}

// origin is what an object of a file keeps if the reader sets its namespace.
type origin struct {
	file       string
	line       int
	kind, name string
}

func originOf(o *manifest.Object) origin { return origin{o.File, o.Line, o.Kind, o.Name} }

func (pins *pinner) twice(o *manifest.Object) bool {
	return slices.ContainsFunc(pins.named[world.Key(o, pins.options.Namespace)], func(x *manifest.Object) bool {
		return originOf(x) != originOf(o)
	})
}

// several returns those who ask for one Subscription in several places: the tree is of several clusters.
func (pins *pinner) several(s *world.Subscription) []Unknown {
	policies := lists.Filter(pins.policies, world.Manages(s.Namespace, s.Name))
	switch {
	case len(policies) > 1:
		return lists.Map(policies, func(p *olm.OperatorPolicy) Unknown { return oneCluster(p.Object, s.Object) })
	case len(policies) == 0 && pins.twice(s.Object):
		return []Unknown{oneCluster(s.Object, s.Object)}
	}
	return nil
}

// oneCluster returns that nobody can say what an object makes of a Subscription of several places.
func oneCluster(by, o *manifest.Object) Unknown {
	return Unknown{Object: by, Why: o.Identity() + " is asked for in several places: name the files of one cluster"}
}

// others returns the Subscriptions that nothing is said of yet: those after the first of a name, and refused ones.
func (pins *pinner) others(known map[origin]bool) (list []Pin, unknown []Unknown) {
	for _, o := range pins.objects {
		if o.Kind != v1alpha1.SubscriptionKind || o.Group() != olm.Group || known[originOf(o)] {
			continue
		}
		s := &world.Subscription{}
		s.Object = o
		_ = o.Field(&s.Package, "spec", "name") // what is no text is refused
		_ = o.Field(&s.Approval, "spec", "installPlanApproval")
		switch {
		case o.Namespace == "" && pins.options.Namespace == "":
			unknown = append(unknown, Unknown{Object: o, Why: "it names no namespace"})
		case !pins.twice(o) || s.Package == "":
			unknown = append(unknown, Unknown{Object: o, Why: "it cannot be read as a Subscription"})
		case pins.newChannel(s) != "":
			unknown = append(unknown, oneCluster(o, o))
		default:
			list = append(list, Pin{Object: o, Reason: approval(s)})
		}
	}
	return list, unknown
}

// newChannel returns the channel that a Subscription is to have; empty if it keeps its own.
func (pins *pinner) newChannel(s *world.Subscription) string {
	return cmp.Or(pins.options.Channels[s.Package], pins.options.Channels[""])
}

// whyUnchanged returns why a Subscription without OperatorPolicy keeps what it says, or "".
func (pins *pinner) whyUnchanged(s *world.Subscription) string {
	switch channel := pins.newChannel(s); {
	case channel != "" && channel == s.Channel:
		return "it has channel " + channel + " already"
	case channel != "":
		return ""
	case pins.options.Starting == nil || !pins.options.Starting(s.Namespace, s.Name):
		return approval(s)
	case s.StartingCSV == "":
		return "it has no startingCSV: the lock of its pin says what is approved"
	}
	return ""
}

// namespace returns the pins of all Subscriptions of a namespace, and those of which nobody can say what they keep.
func (pins *pinner) namespace(ctx context.Context, state *resolve.State, all []*world.Subscription) (list []Pin,
	unknown []Unknown, err error) {
	ns := state.Namespace
	var asked []*world.Subscription
	for _, s := range all {
		if s.Package == "" {
			continue
		}
		p, several := lists.Find(pins.policies, world.Manages(s.Namespace, s.Name)), pins.several(s)
		unchanged := pins.whyUnchanged(s)
		inTree := pins.inTree[originOf(s.Object)]
		switch {
		case p == nil && !inTree: // that of an OperatorPolicy which needs no change
		case p == nil && unchanged != "":
			refused := pins.refused(s)
			list = append(list, Pin{Object: s.Object, Reason: cmp.Or(refused, unchanged), Held: refused != ""})
		case len(several) > 0:
			unknown = append(unknown, several...)
		case pins.sub(ns, s.Name) == nil:
			u := pins.unknown(s)
			u.Object = pins.shown(s)
			unknown = append(unknown, *u)
		default:
			asked = append(asked, s)
			if p != nil && inTree {
				list = append(list, Pin{Object: s.Object, Reason: "its " + p.Object.Identity() + " decides"})
			}
		}
	}
	if len(asked) == 0 {
		return list, unknown, nil
	}
	if why := pins.begin(state); why != "" {
		return list, append(unknown, lists.Map(asked,
			func(s *world.Subscription) Unknown { return Unknown{Object: pins.shown(s), Why: why} })...), nil
	}
	for _, s := range asked {
		p, err := pins.pin(ctx, state, s)
		if err != nil {
			return nil, nil, err
		}
		if p.Reason != "" && !p.Held && p.From == "" {
			unknown = append(unknown, Unknown{Object: p.Object, Why: p.Reason})
		} else {
			list = append(list, *p)
		}
	}
	return list, unknown, nil
}

// refused returns why OLM resolves nothing for a Subscription, in the words of Check; "" if it does.
func (pins *pinner) refused(s *world.Subscription) string {
	nothing := lists.Find(pins.report.Unknown, func(u Unknown) bool {
		return u.Nothing && originOf(u.Object) == originOf(s.Object)
	})
	failure := lists.Find(pins.report.Findings, func(f findings.Finding) bool {
		return f.Level == findings.Error && f.Object == "Namespace "+s.Namespace
	})
	return cmp.Or(nothing.Why, failure.Message)
}

func approval(s *world.Subscription) string {
	if s.Approval == string(v1alpha1.ApprovalManual) {
		return "somebody approves each InstallPlan in the cluster, because its installPlanApproval is Manual: OLM " +
			"does not look at startingCSV once the operator is installed. An OperatorPolicy approves what its " +
			"versions name"
	}
	return "OLM updates it without a change of the file, because its installPlanApproval is Automatic"
}

// shown returns the object of the tree that asks for a Subscription.
func (pins *pinner) shown(s *world.Subscription) *manifest.Object {
	if p := lists.Find(pins.policies, world.Manages(s.Namespace, s.Name)); p != nil {
		return p.Object
	}
	return s.Object
}

// pin returns the release that a Subscription begins with, by its policy, its startingCSV or what its channel has
// installed, and the updates from there if each InstallPlan is approved.
func (pins *pinner) pin(ctx context.Context, state *resolve.State, s *world.Subscription) (p *Pin, err error) {
	p = &Pin{Object: pins.shown(s), Policy: lists.Find(pins.policies, world.Manages(s.Namespace, s.Name))}
	start := state.Clone()
	sub := subscriptionIn(start, s.Name)
	pkg := packageIn(start, sub.Source, sub.SourceNamespace, sub.Package)
	p.Channel = cmp.Or(sub.Channel, pkg.DefaultChannel)
	switch {
	case pkg.Name == "":
		p.Reason = fmt.Sprintf("catalog %s/%s has no package %s", sub.SourceNamespace, sub.Source, sub.Package)
		return p, nil
	case p.Policy != nil && sub.InstalledCSV == "":
		from, why := current(p.Policy, pkg, p.Channel)
		if from == nil {
			p.Reason = why
			return p, nil
		}
		put(start, sub, from)
	case p.Policy == nil && pins.newChannel(s) == "":
		p.Starting = true
		choice, _, err := alone(pkg).ChooseInstalled(pkg.Name, p.Channel, sub.StartingCSV)
		if err != nil {
			return nil, s.Errorf("spec.startingCSV", "%v", err)
		}
		put(start, sub, choice.Bundle)
	case p.Policy == nil:
		p.NewChannel, p.Manual = pins.newChannel(s), sub.Manual
		if p.channel, err = pkg.ChannelOrDefault(p.NewChannel); err != nil {
			return nil, s.Errorf("spec.channel", "%v", err)
		}
		if sub.InstalledCSV == "" {
			p.Assumed = true
			if p.Reason, err = rest(ctx, start, s.Name); err != nil || p.Reason != "" {
				return p, err
			}
			sub = subscriptionIn(start, s.Name)
		}
		sub.Channel = p.NewChannel
	}
	p.From, p.Withdrawn = sub.InstalledCSV, pkg.Bundle(sub.InstalledCSV) == nil
	result, err := resolve.Run(ctx, start, resolve.Options{ApproveAll: true})
	if err != nil {
		return nil, err
	}
	p.Steps, p.Reason = result.StepsOf(s.Name), result.HeldBack(start.Namespace, s.Name)
	switch {
	case p.Reason != "":
	case result.Failure != nil:
		p.Reason = "OLM updates nothing in its namespace: " + result.Failure.Why()
	case len(p.Steps) == 0 && p.NewChannel != "" && pkg.Channel(p.NewChannel).Entry(p.From) == nil:
		p.Reason = fmt.Sprintf("nothing in channel %s updates %s", p.NewChannel, p.From)
	}
	p.Held = p.Reason != ""
	p.move = pins.mover(p, start, s, pkg)
	return p, nil
}

// put has a namespace begin with a release that is installed for a Subscription.
func put(state *resolve.State, sub *resolve.Subscription, b *catalog.Bundle) {
	sub.InstalledCSV, sub.CurrentCSV = b.Name, b.Name
	state.CSVs = slices.DeleteFunc(state.CSVs, func(c resolve.CSV) bool { return c.Name == b.Name })
	state.CSVs = append(state.CSVs, resolve.Installed(b, sub.Package))
}

// alone returns a catalog with one package.
func alone(pkg *catalog.Package) *catalog.Catalog {
	return &catalog.Catalog{Packages: map[string]*catalog.Package{pkg.Name: pkg}}
}

// rest has a namespace come to rest. It returns why nothing is installed for a Subscription then, or "".
func rest(ctx context.Context, state *resolve.State, name string) (string, error) {
	result, err := resolve.Run(ctx, state, resolve.Options{ApproveAll: true})
	if err != nil {
		return "", err
	}
	*state = *result.End()
	switch {
	case subscriptionIn(state, name).InstalledCSV != "":
		return "", nil
	case result.Failure != nil:
		return beginsNothing + result.Failure.Text, nil
	}
	return "OLM installs nothing", nil
}

func subscriptionIn(state *resolve.State, name string) *resolve.Subscription {
	i := slices.IndexFunc(state.Subscriptions, func(s resolve.Subscription) bool { return s.Name == name })
	return &state.Subscriptions[i]
}

// current returns the release at which an OperatorPolicy keeps its operator: the last one that its versions allow on
// the way from one of them. It is nil if nobody can say which one that is, and why not.
func current(policy *olm.OperatorPolicy, pkg *catalog.Package,
	channel string) (release *catalog.Bundle, why string) {
	content := alone(pkg)
	ends := map[string]*catalog.Bundle{}
	for _, name := range append(slices.Clone(policy.Versions), policy.StartingCSV) {
		choice, _, err := content.ChooseInstalled(pkg.Name, channel, name)
		if name == "" || err != nil {
			continue // it never was a release of this package
		}
		path, err := resolve.PathOf(content, pkg.Name, channel, name, "")
		if err != nil {
			return nil, err.Error()
		}
		end := choice.Bundle
		for _, step := range path.Steps {
			if !policy.Allows(step.To) {
				break
			}
			end = pkg.Bundle(step.To)
		}
		ends[end.Name] = end
	}
	names := lists.Keys(ends)
	if known := lists.Filter(names, func(n string) bool { return pkg.Bundle(n) != nil }); len(known) > 0 {
		names = known // the others are from before
	}
	switch len(names) {
	case 0:
		return nil, fmt.Sprintf("none of its versions is a release of package %s", pkg.Name)
	case 1:
		return ends[names[0]], ""
	}
	return nil, "its versions lead to several releases: " + strings.Join(names, ", ")
}

// mover returns what an update to a release of a package changes.
func (pins *pinner) mover(p *Pin, start *resolve.State, s *world.Subscription, pkg *catalog.Package) func(string) Move {
	sub := subscriptionIn(start, s.Name)
	install := func(name string) *Install {
		i := installOf(s, sub, pkg, cmp.Or(p.NewChannel, p.Channel), name, false)
		if i != nil {
			i.Group = pins.report.GroupOf(start.Namespace)
		}
		return i
	}
	return func(to string) Move {
		return Move{Old: install(p.From), New: install(to), Approval: sub.Manual && p.Policy == nil}
	}
}

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
	policies   []*olm.OperatorPolicy
	unknown    []Unknown // of the policies
	namespaces []*resolve.State
}

func subscribersOf(ctx context.Context, t *tree.Tree, namespace string, catalogs Catalogs) *subscribers {
	c := clusterOf(ctx, t, Options{Namespace: namespace, Catalogs: catalogs})
	s := &subscribers{policies: c.Policies}
	for _, p := range c.Policies {
		if why := installsWhat(p); why != "" {
			s.unknown = append(s.unknown, Unknown{Object: p.Object, Why: why})
		}
	}
	c.Policies = nil // they stop at their versions
	read := resolve.Of(c.World)
	s.resolution, s.namespaces = c.resolution(read, catalogs), read.Namespaces
	return s
}

// installsWhat returns why a policy that is to install an operator makes no Subscription, or none that is known.
func installsWhat(p *olm.OperatorPolicy) string {
	switch {
	case p.Idle() != "":
		return ""
	case p.Held:
		return beginsNothing + p.Mismatch
	}
	return p.Unknown
}

// SubscribedNamespaces returns the namespaces of a tree that have Subscriptions, sorted by name, and the Subscriptions
// and OperatorPolicies of which nobody can say what they ask for. namespace is that of objects that name none.
func SubscribedNamespaces(ctx context.Context, t *tree.Tree, namespace string, catalogs Catalogs) (list []Subscribed,
	unknown []Unknown) {
	r := subscribersOf(ctx, t, namespace, catalogs)
	unknown = r.unknown
	of := lists.Group(r.Subscriptions, func(s *world.Subscription) string { return s.Namespace })
	for _, state := range r.namespaces {
		ns := state.Namespace
		for _, s := range of[ns] {
			if r.sub(ns, s.Name) == nil {
				unknown = append(unknown, *r.resolution.unknown(s))
			}
		}
		if len(r.subs[ns]) == 0 {
			continue
		}
		if why := r.begin(state); why != "" {
			unknown = append(unknown, Unknown{Object: r.subs[ns][0].Object, Why: why})
			continue
		}
		one := Subscribed{State: state}
		for _, s := range state.Subscriptions {
			by := r.sub(ns, s.Name).Object
			one.Subscriptions = append(one.Subscriptions,
				Subscriber{by, lists.Find(r.policies, world.Manages(by.Namespace, by.Name))})
		}
		list = append(list, one)
	}
	return list, unknown
}

// States returns the namespaces of a tree as OLM's resolver sees them, sorted by name, with what the tree says is
// installed and the Subscriptions whose catalogs are not known. namespace is that of objects that name none. If install
// is set, it is one of the namespaces, and has an OperatorGroup if the tree says nothing of it.
func States(ctx context.Context, t *tree.Tree, namespace string, catalogs Catalogs, install bool) []*resolve.State {
	c := clusterOf(ctx, t, Options{Namespace: namespace, Catalogs: catalogs})
	read := resolve.Of(c.World)
	r, list := c.resolution(read, catalogs), read.Namespaces
	if install && !slices.ContainsFunc(list, func(s *resolve.State) bool { return s.Namespace == namespace }) {
		list = append(list, &resolve.State{Namespace: namespace, OperatorGroups: 1})
		slices.SortFunc(list, func(a, b *resolve.State) int { return cmp.Compare(a.Namespace, b.Namespace) })
	}
	for _, state := range list {
		r.complete(state)
		if why := c.lacking[state.Namespace]; why != "" && state.Disputed == "" {
			state.Disputed, state.OperatorGroups = why, max(state.OperatorGroups, 1)
		}
	}
	return list
}
