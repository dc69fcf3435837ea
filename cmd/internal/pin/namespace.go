package pin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Namespace is a namespace with Subscriptions.
type Namespace struct {
	// State is what is known of the namespace: its Subscriptions, its catalogs, and what is installed.
	State     *resolve.State
	Operators []Operator // who asks, in the order of State.Subscriptions
	// Approved are the releases that are known to be approved. A dependency has its Channel. What is missing is what
	// OLM installs from the catalogs.
	Approved map[Package]Release

	wasLeft   map[Package]Release  // dependencies of earlier releases: OLM does not remove them, and looks for them
	installed map[Package][]string // names of other releases that clusters may have

	approved   map[Package]Release // of Subscriptions and dependencies
	requiredBy map[Package]string  // a bundle, for dependencies
	left       map[Package]bool    // dependencies that nothing requires any more
	rest       *resolve.State      // a new cluster, where OLM has come to rest
	starts     []start
	refused    error // why nothing is approved
}

// start is a state from which OLM is to reach what is approved.
type start struct {
	what  string
	state *resolve.State
}

// PackageOf returns the package that a Subscription names.
func PackageOf(s *resolve.Subscription) Package {
	return Package{Source{s.SourceNamespace, s.Source}, s.Package}
}

// fresh returns the namespace without anything that is installed.
func (n *Namespace) fresh() *resolve.State {
	s := n.State.Clone()
	s.CSVs = nil
	for i := range s.Subscriptions {
		s.Subscriptions[i].InstalledCSV, s.Subscriptions[i].CurrentCSV = "", ""
	}
	return s
}

// subscription returns the Subscription of a package and who asks for it, or nil for a dependency.
func (n *Namespace) subscription(p Package) (*resolve.Subscription, *Operator) {
	for i := range n.State.Subscriptions {
		if s := &n.State.Subscriptions[i]; PackageOf(s) == p {
			return s, &n.Operators[i]
		}
	}
	return nil, nil
}

func (n *Namespace) dependency(p Package) bool {
	s, _ := n.subscription(p)
	return s == nil
}

// asker returns who asks for a package: a Subscription, or the namespace for a dependency.
func (n *Namespace) asker(p Package) asker {
	if s, by := n.subscription(p); s != nil {
		return asker{fmt.Sprintf("Subscription %s/%s", n.State.Namespace, s.Name), by}
	}
	name := "namespace " + n.State.Namespace
	return asker{name, &Operator{Object: name}}
}

func (n *Namespace) refuse(p Package, text, tip, field string) error {
	return n.asker(p).refuse(text, tip, field)
}

func (n *Namespace) refuseAll(text, tip string) error { return n.refuse(Package{}, text, tip, "") }

// settle finds the approved release of each Subscription and dependency: those that are given, else what OLM installs
// in a new cluster. Dependencies that are given and do not fit any more are found again.
func (n *Namespace) settle(ctx context.Context) error {
	if err := cmp.Or(n.refused, n.check()); err != nil {
		return err
	}
	subscribed := maps.Clone(n.Approved)
	maps.DeleteFunc(subscribed, func(p Package, _ Release) bool { return n.dependency(p) })
	err := n.fix(ctx, maps.Clone(n.Approved))
	if err != nil && ctx.Err() == nil && len(subscribed) < len(n.Approved) {
		err = n.fix(ctx, subscribed)
	}
	return err
}

func (n *Namespace) check() error {
	for _, p := range slices.SortedFunc(maps.Keys(n.Approved), Package.Compare) {
		r, source := n.Approved[p], content(n.State, p)
		s, _ := n.subscription(p)
		switch {
		case source == nil:
			return n.refuse(p, fmt.Sprintf("catalog %s has no package %s", p.Source, p.Name), "", "")
		case source.Bundle(r.Bundle) == nil:
			return n.refuse(p, fmt.Sprintf("package %s of catalog %s has no %s", p.Name, p.Source, r.Bundle),
				"approve a release that the catalog has, or pass the content that still has it", "")
		case s != nil && s.Channel != "" && source.ChannelOf(s.Channel, r.Bundle) == nil:
			return n.refuse(p, fmt.Sprintf("channel %s of package %s does not have %s", s.Channel, p.Name, r.Bundle),
				"name a channel that has it, or upgrade the package", "spec.channel")
		}
	}
	return nil
}

// fix completes what is approved, until OLM installs that and nothing else in a new cluster.
func (n *Namespace) fix(ctx context.Context, approved map[Package]Release) error {
	n.requiredBy = map[Package]string{}
	for range mostRounds {
		n.approved = approved
		n.complete()
		state := n.upTo(n.fresh(), approved)
		result, err := resolve.Run(ctx, state, resolve.Options{ApproveAll: true})
		if err != nil {
			return err
		}
		more, err := n.learn(result)
		if err != nil || !more {
			n.rest = result.End()
			return err
		}
	}
	return n.refuseAll("no choice of dependencies comes to rest", "")
}

// mostRounds is how often dependencies are chosen again after one of them is fixed.
const mostRounds = 20

// complete sets the channels of the approved releases of Subscriptions.
func (n *Namespace) complete() {
	for p, r := range n.approved {
		source := content(n.State, p)
		if s, _ := n.subscription(p); s != nil {
			r.Channel = s.Channel
		}
		if r.Channel == "" || source.ChannelOf(r.Channel, r.Bundle) == nil {
			if ch := n.channelWith(p, r.Bundle); ch != nil {
				r.Channel = ch.Name
			}
		}
		n.approved[p] = r
	}
}

// channelWith returns the channel of a release for a Subscription that names none: the default channel or the first one
// that has it, unless another one has the update from what is installed.
func (n *Namespace) channelWith(p Package, bundle string) *catalog.Channel {
	source := content(n.State, p)
	had := slices.Clone(n.installed[p])
	if s, _ := n.subscription(p); s != nil && s.InstalledCSV != "" {
		had = append(had, s.InstalledCSV)
	}
	first := source.ChannelOf("", bundle)
	if first == nil {
		return nil
	}
	for _, ch := range append([]*catalog.Channel{first}, source.Channels...) {
		full := chain(ch, bundle)
		missing := func(name string) bool {
			return !slices.ContainsFunc(full, func(e *catalog.Entry) bool {
				return e.Name == name || updates(source, e, name)
			})
		}
		if len(full) > 0 && !slices.ContainsFunc(had, missing) {
			return ch
		}
	}
	return first
}

// upTo returns a state whose catalogs end at what is approved.
func (n *Namespace) upTo(s *resolve.State, approved map[Package]Release) *resolve.State {
	out := *s
	out.Catalogs = nil
	for _, c := range n.State.Catalogs {
		if c.Catalog != nil {
			packages := maps.Clone(c.Catalog.Packages)
			for name, p := range packages {
				key := Package{Source{c.Namespace, c.Name}, name}
				if r, ok := approved[key]; ok {
					packages[name] = upTo(p, r, n.starting(key))
				}
			}
			c.Catalog = &catalog.Catalog{Packages: packages}
		}
		out.Catalogs = append(out.Catalogs, c)
	}
	return &out
}

func (n *Namespace) starting(p Package) string {
	if s, _ := n.subscription(p); s != nil {
		return s.StartingCSV
	}
	return ""
}

func keyOf(p resolve.Planned) Package {
	return Package{Source{p.SourceNamespace, p.Source}, p.Package}
}

// learn reads what OLM installs in a new cluster. It adds the releases of Subscriptions and dependencies that are not
// approved yet, and reports whether there were any.
func (n *Namespace) learn(result *resolve.Result) (more bool, err error) {
	if err := n.settled(result, "a new cluster"); err != nil {
		return false, err
	}
	plans := result.Planned()
	for i := range n.State.Subscriptions {
		s := &n.State.Subscriptions[i]
		p := PackageOf(s)
		if _, ok := n.approved[p]; ok {
			continue
		}
		name := installedBy(&result.Walk, s.Name)
		if plans[name].Name == "" {
			return false, n.refuse(p, "OLM installs nothing for it", "", "")
		}
		n.approved[p] = Release{plans[name].Channel, name}
		more = true
	}
	for _, name := range result.Installed {
		plan, ok := plans[name]
		if !ok || !n.dependency(keyOf(plan)) {
			continue
		}
		p := keyOf(plan)
		n.requiredBy[p] = cmp.Or(plan.RequiredBy, n.requiredBy[p])
		if r := (Release{plan.Channel, name}); n.approved[p] != r {
			n.approved[p] = r
			more = true
		}
	}
	if !more { // dependencies of earlier runs
		maps.DeleteFunc(n.approved, func(p Package, r Release) bool {
			return n.dependency(p) && !slices.Contains(result.Installed, r.Bundle)
		})
	}
	return more, nil
}

func installedBy(w *resolve.Walk, subscription string) string {
	return lists.Find(w.Subscriptions, func(s resolve.Status) bool { return s.Name == subscription }).InstalledCSV
}

// play has OLM come to rest from a state, and returns what it may do.
func (n *Namespace) play(ctx context.Context, state *resolve.State, from string) ([]resolve.Walk, error) {
	result, err := resolve.Run(ctx, state, resolve.Options{ApproveAll: true})
	if err != nil {
		return nil, err
	}
	return walksOf(result), n.settled(result, from)
}

// settled returns an error unless OLM comes to rest at what is approved, whatever chance does.
func (n *Namespace) settled(result *resolve.Result, from string) error {
	for _, w := range walksOf(result) {
		if w.Failure == nil && w.Outcome != resolve.Settled {
			return n.restless(&w, from, result.Findings)
		}
		if err := n.reached(&w, from); err != nil {
			return err
		}
	}
	return nil
}

// restless returns a refusal about a walk that does not come to rest, with what the resolver found about the namespace.
func (n *Namespace) restless(w *resolve.Walk, from string, found []findings.Finding) error {
	text := fmt.Sprintf("from %s, OLM does not come to rest (%s)", from, w.Outcome)
	for _, f := range found {
		if f.Object == "Namespace "+n.State.Namespace && f.Hint != "" {
			return n.refuseAll(text+": "+f.Message, f.Hint)
		}
	}
	return n.refuseAll(text, "")
}

// walksOf returns what OLM may do: one walk, or several if it depends on chance.
func walksOf(result *resolve.Result) []resolve.Walk {
	if len(result.Alternatives) > 0 {
		return result.Alternatives
	}
	return []resolve.Walk{result.Walk}
}

func (n *Namespace) reached(w *resolve.Walk, from string) error {
	if w.Failure != nil {
		if hidden := n.State.Hidden(); w.Failure.Dependency && len(hidden) > 0 {
			return n.refuseAll(fmt.Sprintf("from %s, it is not known whether OLM resolves: a dependency may be in %s",
				from, text.And(hidden)), "pass the content of "+text.And(hidden))
		}
		return n.refuseAll(fmt.Sprintf("from %s, OLM does not resolve: %s", from, w.Failure.Text),
			strings.Join(w.Failure.Help, "; or "))
	}
	for _, p := range slices.SortedFunc(maps.Keys(n.approved), Package.Compare) {
		s, _ := n.subscription(p)
		if s == nil {
			continue
		}
		if got := installedBy(w, s.Name); got != n.approved[p].Bundle {
			return n.missed(p, s, got, from)
		}
	}
	return nil
}

// missed returns why a Subscription does not get what is approved.
func (n *Namespace) missed(p Package, s *resolve.Subscription, got, from string) error {
	want, source := n.approved[p], content(n.State, p)
	where := "stays without an operator"
	if got != "" {
		where = "comes to rest at " + got
	}
	text := fmt.Sprintf("%s is approved; from %s, OLM %s", want.Bundle, from, where)
	tip, field := n.nextFrom(p, got), ""
	switch {
	case got != "" && compareVersions(source, got, want.Bundle) > 0:
		tip = "OLM does not downgrade: approve " + got + " or a newer release"
	case s.StartingCSV == got && got != "":
		tip, field = fmt.Sprintf("nothing updates %s to it: name %s", got, want.Bundle), "spec.startingCSV"
	}
	return n.refuse(p, text, tip, field)
}

const mostNext = 5

// nextFrom returns what OLM can reach from a release, as a hint.
func (n *Namespace) nextFrom(p Package, from string) string {
	source := content(n.State, p)
	ch := source.Channel(n.approved[p].Channel)
	if ch == nil || from == "" {
		return ""
	}
	var next []string
	for i := range ch.Entries {
		if e := &ch.Entries[i]; e.Name != from && updates(source, e, from) {
			next = append(next, e.Name)
		}
	}
	switch {
	case len(next) == 0 && source.Bundle(from) == nil:
		return "the catalog has no " + from + ": pass the content that still has it"
	case len(next) == 0:
		return fmt.Sprintf("nothing in channel %s updates %s: if no cluster has it, forget it in the same run that "+
			"upgrades the package", ch.Name, from)
	}
	slices.SortStableFunc(next, func(a, b string) int { return compareVersions(source, a, b) })
	return fmt.Sprintf("%s is updated by %s: approve one of these first, or forget it if no cluster has it", from,
		text.FirstOf(mostNext, next))
}

// walks collects the states from which OLM is to reach what is approved, and what it installs on the way.
func (n *Namespace) walks(ctx context.Context, b *builder) error {
	if err := n.settle(ctx); err != nil {
		return err
	}
	n.starts = append(n.starts, start{"a new cluster", n.fresh()})
	if err := n.older(ctx); err != nil {
		return err
	}
	if len(n.State.CSVs) > 0 {
		n.starts = append(n.starts, start{"what is installed", n.State})
	}
	n.keepLeft()
	for _, p := range slices.SortedFunc(maps.Keys(n.approved), Package.Compare) {
		if err := b.approve(p, content(n.State, p), n.approved[p], n.because(p), n.asker(p)); err != nil {
			return err
		}
	}
	for _, s := range n.starts {
		if err := n.walk(ctx, b, s); err != nil {
			return err
		}
	}
	return nil
}

// older adds the states with other releases that clusters may have: each release alone, and the oldest ones together.
func (n *Namespace) older(ctx context.Context) error {
	oldest := map[Package]string{}
	for _, p := range slices.SortedFunc(maps.Keys(n.approved), Package.Compare) {
		source := content(n.State, p)
		for _, name := range n.installed[p] {
			if name == n.approved[p].Bundle {
				continue
			}
			state, err := n.at(ctx, map[Package]string{p: name})
			if err != nil {
				return err
			}
			old, known := versionOf(source, name), versionOf(source, oldest[p])
			if oldest[p] == "" || old != nil && known != nil && old.LT(*known) {
				oldest[p] = name
			}
			n.starts = append(n.starts, start{name, state})
		}
	}
	if len(oldest) > 1 {
		state, err := n.at(ctx, oldest)
		if err != nil {
			return err
		}
		n.starts = append(n.starts, start{"the oldest releases that are installed", state})
	}
	return nil
}

// keepLeft approves the dependencies of earlier releases as they are, and adds the state with those that are known.
func (n *Namespace) keepLeft() {
	n.left = map[Package]bool{}
	state := n.rest.Clone()
	for _, p := range slices.SortedFunc(maps.Keys(n.wasLeft), Package.Compare) {
		r, source := n.wasLeft[p], content(n.State, p)
		if _, ok := n.approved[p]; ok || source == nil || source.Bundle(r.Bundle) == nil {
			continue
		}
		n.approved[p], n.left[p] = r, true
		name := resolve.GeneratedName(p.Name, r.Channel, p.Source.Name, p.Source.Namespace)
		state.CSVs = append(state.CSVs, resolve.Installed(source.Bundle(r.Bundle), p.Name))
		state.Subscriptions = append(state.Subscriptions, resolve.Subscription{Name: name, Package: p.Name,
			Channel: r.Channel, Source: p.Source.Name, SourceNamespace: p.Source.Namespace, StartingCSV: r.Bundle,
			InstalledCSV: r.Bundle, CurrentCSV: r.Bundle})
	}
	if len(n.left) > 0 {
		n.starts = append(n.starts, start{"dependencies of earlier releases", state})
	}
	for _, s := range n.starts {
		for i := range s.state.Subscriptions {
			sub := &s.state.Subscriptions[i]
			p := PackageOf(sub)
			source := content(n.State, p)
			if sub.InstalledCSV == "" || source == nil || source.Bundle(sub.InstalledCSV) == nil {
				continue
			}
			old, ok := n.approved[p]
			if !ok || n.left[p] && compareVersions(source, sub.InstalledCSV, old.Bundle) > 0 {
				n.approved[p], n.left[p] = Release{sub.Channel, sub.InstalledCSV}, true
			}
		}
	}
}

func (n *Namespace) because(p Package) string {
	switch by := n.requiredBy[p]; {
	case n.left[p]:
		return whyLeft
	case by != "":
		return whyDependency + by
	}
	return whyApproved
}

// walk plays the namespace on catalogs that end at what is approved, and keeps what OLM installs.
func (n *Namespace) walk(ctx context.Context, b *builder, from start) error {
	walks, err := n.play(ctx, n.upTo(from.state, n.approved), from.what)
	if err != nil {
		return err
	}
	for _, w := range walks {
		for _, plan := range w.Planned() {
			p := keyOf(plan)
			why := whyOnTheWay + n.approved[p].Bundle
			switch r, ok := n.approved[p]; {
			case !ok && plan.RequiredBy != "":
				why = whyDependency + plan.RequiredBy
			case ok && r.Bundle == plan.Name:
				continue
			case from.what == "a new cluster":
				why = whyOnTheWay + r.Bundle + " in a new cluster"
			}
			b.channel(p, content(n.State, p), plan.Channel).why(plan.Name, why)
		}
	}
	return nil
}

// at returns the namespace at other releases of some packages: where OLM comes to rest if nothing newer is there, else
// the rest of a new cluster with these in place of what is approved.
func (n *Namespace) at(ctx context.Context, releases map[Package]string) (*resolve.State, error) {
	approved := map[Package]Release{}
	maps.Copy(approved, n.wasLeft)
	maps.Copy(approved, n.approved)
	for p, name := range releases {
		approved[p] = Release{approved[p].Channel, name}
	}
	old := *n
	old.approved = approved
	result, err := resolve.Run(ctx, n.upTo(n.fresh(), approved), resolve.Options{ApproveAll: true})
	if err != nil {
		return nil, err
	}
	if old.settled(result, "") == nil {
		return result.End(), nil
	}
	state := n.rest.Clone()
	for p, name := range releases {
		n.put(state, p, name)
	}
	return state, nil
}

// put replaces what is approved of a package by another release.
func (n *Namespace) put(state *resolve.State, p Package, name string) {
	now, source := n.approved[p].Bundle, content(n.State, p)
	csv := resolve.CSV{Name: name, Phase: "Succeeded"}
	if b := source.Bundle(name); b != nil {
		csv = resolve.Installed(b, p.Name)
	} else if v := versionOf(source, name); v != nil {
		csv.Version = v.String()
	}
	for i := range state.CSVs {
		if state.CSVs[i].Name == now {
			state.CSVs[i] = csv
		}
	}
	for i := range state.Subscriptions {
		if s := &state.Subscriptions[i]; s.InstalledCSV == now {
			s.InstalledCSV, s.CurrentCSV = name, name
		}
	}
}

func (n *Namespace) locked() (list []Locked) {
	for _, p := range slices.SortedFunc(maps.Keys(n.approved), Package.Compare) {
		r := n.approved[p]
		o := Locked{Namespace: n.State.Namespace, Catalog: p.Source.String(), Package: p.Name, Channel: r.Channel,
			Approved: r.Bundle, RequiredBy: n.requiredBy[p], Left: n.left[p]}
		if s, by := n.subscription(p); s != nil {
			o.Subscription, o.ApprovedBy, o.Installed = s.Name, by.By, []string{s.InstalledCSV}
		}
		list = append(list, o)
	}
	return list
}
