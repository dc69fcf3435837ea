package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Movement is what the newer content of catalogs changes for the operators of a tree.
type Movement struct {
	Operators int    // at rest with the older content
	Assumed   bool   // the tree does not say what is installed: it is what the older content leads to
	Moves     []Move // by namespace and Subscription, then by ClusterExtension
	Unknown   []Unknown
	// Findings are what OLM says of the newer content: errors, and what it did not say of the older one, such as an
	// update that it holds back.
	Findings []findings.Finding
}

// Move is an operator that OLM updates, or installs anew, because its catalog has other content.
type Move struct {
	Object   *manifest.Object // the Subscription or ClusterExtension that asks for it, or for what needs it
	From     string           // the name of the bundle at rest; empty if there is none
	Steps    []string         // the names of the bundles that OLM installs one after the other; the last one stays
	Approval bool             // somebody approves its InstallPlans
	Cluster  string           // for the caller

	Said []findings.Finding // why OLM does not complete its InstallPlan

	Old, New     *Install   // of OLM v0; Old is nil if From is empty, or in neither content
	OldV1, NewV1 *Extension // of OLM v1; OldV1 is nil if no catalog has it
}

// Moves predicts how the operators of a tree move if the content of its catalogs changes. They come to rest with the
// older content, that of o, first. Every InstallPlan counts as approved. An error is that of ctx, or of a catalog that
// cannot be read again.
func Moves(ctx context.Context, t *tree.Tree, o Options, newer Catalogs) (*Movement, error) {
	older := o.Catalogs
	c := clusterOf(ctx, t, Options{Namespace: o.Namespace, Catalogs: older})
	read := resolve.Of(c.World)
	m := &movement{was: c.resolution(read, older), newer: newer}
	m.Unknown = append(m.Unknown, c.unknown...)
	m.is = c.resolution(read, newer)
	for _, u := range c.unknown[len(m.Unknown):] {
		if !slices.ContainsFunc(m.Unknown, func(o Unknown) bool { return o.Object == u.Object }) {
			m.Unknown = append(m.Unknown, u)
		}
	}
	for _, state := range read.Namespaces {
		if err := m.namespace(ctx, state); err != nil {
			return nil, err
		}
	}
	report, err := Check(ctx, t, Options{Namespace: o.Namespace, Catalogs: older})
	if err != nil {
		return nil, err
	}
	if o.Catalogs = newer; len(m.Moves) > 0 {
		o.Catalogs.ApproveAll = true
		played, err := Check(ctx, t, o)
		if err != nil {
			return nil, err
		}
		said := lists.Group(played.Findings, func(f findings.Finding) [2]string { return [2]string{f.Rule, f.Object} })
		for i := range m.Moves {
			m.Moves[i].Said = said[[2]string{rulePlanFails.ID, m.Moves[i].Object.Identity()}]
		}
	}
	for _, move := range m.Moves {
		if move.New.Group = report.GroupOf(move.New.Namespace); move.Old != nil {
			move.Old.Group = move.New.Group
		}
	}
	m.extensions(t.Objects, report, newer)
	return &m.Movement, nil
}

type movement struct {
	Movement
	was, is *resolution
	newer   Catalogs
}

// namespace has a namespace come to rest with the older content, and adds what OLM does there with the newer one.
func (m *movement) namespace(ctx context.Context, state *resolve.State) error {
	if len(m.was.subs[state.Namespace]) == 0 || len(m.is.subs[state.Namespace]) == 0 {
		return nil
	}
	before := len(m.was.prediction.unknown)
	if !m.was.prepare(state) {
		m.Unknown = append(m.Unknown, m.was.prediction.unknown[before:]...)
		return nil
	}
	all := resolve.Options{ApproveAll: true}
	rest, err := resolve.Run(ctx, state, all)
	if err != nil {
		return err
	}
	m.Assumed = m.Assumed || len(rest.Steps) > 0
	start := rest.End()
	m.Operators += lists.Count(start.CSVs, func(c resolve.CSV) bool { return !c.Copied })
	m.is.look(start)
	m.is.defaultChannels(ctx, start, m.newer)
	result, err := resolve.Run(ctx, start, all)
	if err != nil {
		return err
	}
	known := lists.Set(rest.Findings, func(f findings.Finding) string { return f.Rule + f.Object + f.Message })
	result.Findings = slices.DeleteFunc(result.Findings, func(f findings.Finding) bool {
		return f.Level != findings.Error && known[f.Rule+f.Object+f.Message]
	})
	found := len(m.is.findings)
	m.is.report(start, result)
	m.Findings = append(m.Findings, m.is.findings[found:]...)
	asking := m.is.asking(state.Namespace, result.Steps)
	for _, now := range result.End().Subscriptions {
		m.subscription(state, start, result, now, asking)
	}
	return nil
}

// subscription adds the move of a Subscription, if its operator moves.
func (m *movement) subscription(older, start *resolve.State, result *resolve.Result, now resolve.Subscription,
	asking asking) {
	same := func(s resolve.Subscription) bool { return s.Name == now.Name }
	from := lists.Find(start.Subscriptions, same).InstalledCSV
	if from == now.InstalledCSV || now.InstalledCSV == "" {
		return
	}
	move := Move{From: from, Steps: namesOf(result.StepsOf(now.Name))}
	channel := now.Channel
	for _, step := range result.Steps {
		i := slices.IndexFunc(step.CSVs, func(p resolve.Planned) bool { return p.Name == now.InstalledCSV })
		if i >= 0 {
			channel = step.CSVs[i].Channel
		}
		move.Approval = move.Approval || step.Approval && (i >= 0 || step.Moves(now.Name))
	}
	if move.Steps == nil { // OLM creates the Subscription
		move.Steps = []string{now.InstalledCSV}
	}
	owner, dependency := asking(now.InstalledCSV)
	move.Object = owner.Object
	install := func(state *resolve.State, name string) *Install {
		pkg := packageIn(state, now.Source, now.SourceNamespace, now.Package)
		return installOf(owner, &now, pkg, channel, name, dependency)
	}
	move.Old, move.New = cmp.Or(install(older, from), install(start, from)), install(start, now.InstalledCSV)
	m.Moves = append(m.Moves, move)
}

// installOf returns the installation of a release that a Subscription of OLM's, which owner asks for, has of a package;
// nil if the package does not have it. Where the channel does not have it, it is that of another channel.
func installOf(owner *world.Subscription, sub *resolve.Subscription, pkg *catalog.Package,
	channel, name string, dependency bool) *Install {
	b := pkg.Bundle(name)
	if b == nil {
		return nil
	}
	ch := cmp.Or(pkg.ChannelOf(channel, name), pkg.ChannelOf("", name))
	return &Install{Subscription: owner.Object, Namespace: owner.Namespace, Name: name, sub: owner,
		Catalog: sub.SourceNamespace + "/" + sub.Source, Dependency: dependency,
		Choice: catalog.Choice{Package: pkg, Channel: ch, Bundle: b}}
}

func (m *movement) extensions(objects []*manifest.Object, report *Report, newer Catalogs) {
	rest, unknown := report.Installed()
	m.Unknown = append(m.Unknown, unknown...)
	m.Operators += len(rest)
	declared := declaredCatalogs(objects)
	for i := range rest {
		was := &rest[i]
		q, err := askedFor(was.Object, declared, newer)
		if err != nil {
			m.Unknown = append(m.Unknown, Unknown{Object: was.Object, Why: err.Error()})
			continue
		}
		last, steps, err := q.rest(was.installed)
		switch {
		case err != nil:
			m.Findings = append(m.Findings, findings.Finding{Rule: ruleExtension.ID, Level: findings.Error,
				File: was.Object.File, Line: was.Object.Line, Object: was.Object.Identity(),
				Message: fmt.Sprintf("OLM v1 finds nothing for it, and keeps %s: %v", was.Name, err)})
		case len(steps) > 0:
			m.Moves = append(m.Moves, Move{Object: was.Object, From: was.Name, Steps: steps, OldV1: was,
				NewV1: q.extension(last)})
		}
	}
}
