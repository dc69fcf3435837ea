package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/predict"
)

type outcome struct {
	options TreeOptions
	tree    *tree.Tree         // with what its OperatorPolicies make
	cluster []*manifest.Object // that OLM leaves
	plan    []Planned          // what OLM has installed
	keys    map[string]bool    // of the tree's objects
}

// play plays a tree on what is in the cluster: on the outcome of the older state, if there is one. It returns what OLM
// installs then, and the objects whose operator is unknown. Other errors are those of Plan.
func (s *Subject) play(ctx context.Context, t *tree.Tree, o TreeOptions) ([]Planned, []Unknown, error) {
	whole := *t
	whole.Objects, _ = predict.WithPolicies(ctx, t.Objects, o.Namespace, o.Catalogs)
	s.outcome = &outcome{options: o, tree: &whole}
	base := &outcome{options: o, cluster: o.unreleased(&whole)}
	if o.Over != nil && o.Over.outcome != nil {
		base = o.Over.outcome
	}
	if !slices.ContainsFunc(whole.Objects, handsOver) {
		s.outcome.cluster = slices.Concat(whole.Objects, base.cluster)
		return nil, nil, nil
	}
	fresh, err := o.check(ctx, t, len(base.cluster) == 0)
	if err != nil {
		return nil, nil, err
	}
	s.outcome.cluster = fresh.After
	plan, unknown := planOf(fresh, t, o)
	if len(base.cluster) == 0 {
		if o.Over != nil {
			s.said = spoken(fresh, &whole)
		}
		return plan, unknown, nil
	}
	return s.playOver(ctx, base, unknown)
}

// check predicts what OLM does with a tree. The InstallPlans are played if the bundles are wanted.
func (o TreeOptions) check(ctx context.Context, t *tree.Tree, bundles bool) (*predict.Report, error) {
	options := predict.Options{Namespace: o.Namespace, Catalogs: o.Catalogs}
	if bundles {
		options.Bundles, options.Checker = &catalog.Options{Source: o.Source}, o.Checker
	}
	return predict.Check(ctx, t, options)
}

// playOver plays the tree of the outcome on another one. The operators of unknown are unknown in an empty cluster.
func (s *Subject) playOver(ctx context.Context, base *outcome, unknown []Unknown) ([]Planned, []Unknown, error) {
	h, o := s.outcome, s.outcome.options
	over := o.over(h.tree, base)
	played, err := o.check(ctx, over, o.Over != nil)
	if err != nil {
		return nil, nil, err
	}
	h.cluster = played.After
	before := &predict.Report{}
	if base.tree != nil {
		fails := slices.ContainsFunc(played.Findings, func(f findings.Finding) bool { return predict.Speaks(f.Rule) })
		// the tree once more on its own outcome: what OLM does without a change of Git
		again := base.options.over(base.tree, &outcome{cluster: base.cluster})
		if before, err = base.options.check(ctx, again, fails); err != nil {
			return nil, nil, err
		}
		text := func(f findings.Finding) [3]string { return [3]string{f.Rule, f.Object, f.Message} }
		said := lists.Set(spoken(before, base.tree), text)
		s.said = slices.DeleteFunc(spoken(played, h.tree), func(f findings.Finding) bool { return said[text(f)] })
		s.Notes = append(s.Notes, h.ignored(over, base)...)
	}
	unknown = slices.DeleteFunc(unknown, func(u Unknown) bool {
		return strings.HasPrefix(u.Why, predict.InstallsNothing)
	})
	plan, more := planOf(played, over, o)
	if o.Over != nil {
		plan = append(plan, h.carried(base.plan, over, played)...)
	}
	now, was := next(played), next(before)
	unknowns, known, has := map[string]bool{}, map[string]bool{}, map[[2]string]bool{}
	for _, u := range unknown {
		unknowns[u.Object.Identity()], has[u.key()] = true, true
	}
	var out []Planned
	for _, p := range plan {
		at := p.Namespace + "/" + p.Name
		if i := now[at]; !p.v1 && base.tree != nil && i != nil && (was[at] == nil || was[at].Name != i.Name) {
			approval, _ := i.Subscription.Get("spec", "installPlanApproval")
			s.waits = s.waits || approval == string(v1alpha1.ApprovalManual)
			to := *i
			to.Subscription, to.Dependency = p.Object, p.dependency
			p = ofSubscription(to)
		}
		if id := p.Object.Identity(); h.asks(p.Object) && !unknowns[id] {
			known[id] = true
			out = append(out, p)
		}
	}
	for _, u := range more {
		if h.asks(u.Object) && !known[u.Object.Identity()] && !has[u.key()] {
			has[u.key()] = true
			unknown = append(unknown, u)
		}
	}
	return out, unknown, nil
}

func (h *outcome) asks(o *manifest.Object) bool {
	if h.keys == nil {
		h.keys = lists.Set(h.tree.Objects, h.options.key)
	}
	return h.keys[h.options.key(o)]
}

// key is what two states of one object have in common.
func (o TreeOptions) key(x *manifest.Object) string { return world.Key(x, o.Namespace) }

// carried returns the operators of the older state that are in the cluster still.
func (h *outcome) carried(plan []Planned, over *tree.Tree, played *predict.Report) (out []Planned) {
	for _, p := range plan {
		i := slices.IndexFunc(over.Objects, func(x *manifest.Object) bool {
			return h.options.key(x) == h.options.key(p.Object)
		})
		if p.v1 || i < 0 || !slices.ContainsFunc(over.Objects, func(x *manifest.Object) bool {
			return x.Kind == v1alpha1.ClusterServiceVersionKind && x.Namespace == p.Namespace && x.Name == p.Name
		}) {
			continue
		}
		out = append(out, ofSubscription(predict.Install{Subscription: over.Objects[i], Namespace: p.Namespace,
			Name: p.Name, Catalog: p.Catalog, Choice: p.Choice, Group: played.GroupOf(p.Namespace),
			Dependency: p.dependency}))
	}
	return out
}

// ignored returns a note for each Subscription whose startingCSV moved in vain (OLM: registry/resolver/resolver.go).
func (h *outcome) ignored(over *tree.Tree, base *outcome) (notes []string) {
	starting := func(x *manifest.Object) any { name, _ := x.Get("spec", "startingCSV"); return name }
	for _, x := range over.Objects {
		installed, _ := x.Get("status", "installedCSV")
		if x.Kind != v1alpha1.SubscriptionKind || x.Group() != olm.Group || installed == nil || installed == "" {
			continue
		}
		for _, old := range base.tree.Objects {
			if h.options.key(old) == h.options.key(x) && starting(old) != starting(x) {
				notes = append(notes, fmt.Sprintf("%s: OLM reads startingCSV only while nothing is installed, and %v "+
					"is: the change of startingCSV changes nothing", x.Identity(), installed))
			}
		}
	}
	return notes
}

// unreleased returns what is in the cluster beside the tree, without the ClusterServiceVersions that the catalogs have
// for the Subscriptions of the tree: they are shown as the catalogs have them.
func (o TreeOptions) unreleased(t *tree.Tree) []*manifest.Object {
	known := map[string]bool{}
	for _, x := range slices.Concat(t.Objects, o.Cluster) {
		if x.Kind == v1alpha1.SubscriptionKind && x.Group() == olm.Group {
			name, _ := x.Get("status", "installedCSV")
			pkg, _ := x.Get("spec", "name")
			if csv, ok := name.(string); ok && o.Catalogs.Has(fmt.Sprint(pkg), csv) {
				known[cmp.Or(x.Namespace, o.Namespace)+"/"+csv] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(o.Cluster), func(x *manifest.Object) bool {
		return x.Kind == v1alpha1.ClusterServiceVersionKind && known[x.Namespace+"/"+x.Name]
	})
}

// over returns a tree as it is in a cluster: what is installed is in the status of its Subscriptions and
// ClusterExtensions, unless the tree says it for the namespace. What has left the tree is not in the cluster.
func (o TreeOptions) over(t *tree.Tree, base *outcome) *tree.Tree {
	live, have, says := lists.By(base.cluster, o.key), map[string]bool{}, map[string]bool{}
	if base.tree != nil {
		have = lists.Set(base.tree.Objects, o.key)
	}
	out := *t
	out.Objects = nil
	for _, x := range t.Objects {
		key := o.key(x)
		have[key] = true
		if before := live[key]; handsOver(x) && x.Has("status") {
			says[cmp.Or(x.Namespace, o.Namespace)] = true
		} else if before != nil && handsOver(x) {
			status, _ := before.Get("status")
			fields, _ := status.(map[string]any)
			x = world.WithStatus(x, fields)
		}
		out.Objects = append(out.Objects, x)
	}
	for _, x := range base.cluster {
		if x.Kind == v1alpha1.InstallPlanKind && base.tree != nil {
			continue // it is done
		}
		if key := o.key(x); !have[key] && (!says[x.Namespace] || x.Group() != olm.Group) {
			have[key] = true
			out.Objects = append(out.Objects, x)
		}
	}
	return &out
}

// next returns what OLM comes to with each operator that it replaces, by namespace and name.
func next(r *predict.Report) map[string]*predict.Install {
	out := map[string]*predict.Install{}
	for _, u := range slices.Backward(r.Updates) {
		last := &u.Install
		if further := out[u.Namespace+"/"+u.Name]; further != nil {
			last = further
		}
		out[u.Namespace+"/"+u.Replaces] = last
	}
	return out
}

// spoken returns what OLM says of what a tree hands over, and what its resolver says of their namespaces.
func spoken(r *predict.Report, t *tree.Tree) (out []findings.Finding) {
	objects := map[string]bool{}
	for _, x := range t.Objects {
		if handsOver(x) {
			objects[x.Identity()], objects["Namespace "+x.Namespace] = true, true
		}
	}
	rules := resolve.Rules()
	for _, f := range r.Findings {
		resolver := slices.ContainsFunc(rules, func(rule findings.Rule) bool { return rule.ID == f.Rule })
		if predict.Speaks(f.Rule) || objects[f.Object] && f.Level != findings.Note && resolver {
			out = append(out, f)
		}
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
