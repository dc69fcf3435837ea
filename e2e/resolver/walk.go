package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/cache"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/projection"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/solver"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/golden/resolvercase"
)

// namespace holds what OLM reads and changes. It stands for the API server.
type namespace struct {
	subscriptions []*v1alpha1.Subscription // sorted by name, as the API server lists them
	csvs          []*v1alpha1.ClusterServiceVersion
}

// start returns the namespace of a scenario.
func (o *olm) start(ctx context.Context, s *resolvercase.Scenario) (*namespace, error) {
	n := &namespace{}
	for _, sub := range s.Subscriptions {
		out := newSubscription(o.question.Namespace, sub)
		out.Status.InstalledCSV = sub.InstalledCSV
		out.Status.CurrentCSV = cmp.Or(sub.CurrentCSV, sub.InstalledCSV)
		n.subscriptions = append(n.subscriptions, out)
	}
	for _, c := range s.Installed {
		out, err := o.installed(ctx, c)
		if err != nil {
			return nil, err
		}
		n.csvs = append(n.csvs, out)
	}
	n.settle()
	return n, nil
}

func newSubscription(namespace string, s resolvercase.Subscription) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: namespace},
		Spec: &v1alpha1.SubscriptionSpec{Package: s.Package, Channel: s.Channel, CatalogSource: s.Source,
			CatalogSourceNamespace: s.SourceNamespace, StartingCSV: s.StartingCSV},
	}
}

func newCSV(namespace, name, replaces, spec string) (*v1alpha1.ClusterServiceVersion, error) {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	out.Spec.Replaces = replaces
	out.Status.Phase = v1alpha1.CSVPhaseSucceeded
	if spec != "" {
		v, err := semver.Parse(spec)
		if err != nil {
			return nil, fmt.Errorf("version of CSV %s: %w", name, err)
		}
		out.Spec.Version = version.OperatorVersion{Version: v}
	}
	return out, nil
}

// installed returns a CSV of a scenario.
func (o *olm) installed(ctx context.Context, c resolvercase.CSV) (*v1alpha1.ClusterServiceVersion, error) {
	annotation, spec := "", ""
	if c.From != "" {
		var err error
		if annotation, spec, err = o.annotation(ctx, c.From, c.Name); err != nil {
			return nil, err
		}
	} else if c.Properties != nil {
		text, err := json.Marshal(map[string]any{"properties": c.Properties})
		if err != nil {
			return nil, err
		}
		annotation, spec = string(text), packageVersion(string(text))
	}
	out, err := newCSV(o.question.Namespace, c.Name, c.Replaces, cmp.Or(c.Version, spec))
	if err != nil {
		return nil, err
	}
	out.Status.Phase = cmp.Or(v1alpha1.ClusterServiceVersionPhase(c.Phase), v1alpha1.CSVPhaseSucceeded)
	if annotation != "" {
		out.Annotations = map[string]string{projection.PropertiesAnnotationKey: annotation}
	}
	out.Spec.CustomResourceDefinitions.Owned = crds(c.Provided)
	out.Spec.CustomResourceDefinitions.Required = crds(c.Required)
	if c.CopiedFrom != "" {
		out.Labels = map[string]string{v1alpha1.CopiedLabelKey: c.CopiedFrom}
		out.Status.Reason = v1alpha1.CSVReasonCopied
	}
	return out, nil
}

func crds(list []resolvercase.GVK) []v1alpha1.CRDDescription {
	var out []v1alpha1.CRDDescription
	for _, g := range list {
		plural := cmp.Or(g.Plural, strings.ToLower(g.Kind)+"s")
		out = append(out, v1alpha1.CRDDescription{Name: plural + "." + g.Group, Version: g.Version, Kind: g.Kind})
	}
	return out
}

func (n *namespace) csv(name string) *v1alpha1.ClusterServiceVersion {
	for _, c := range n.csvs {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// settle has the status of Subscriptions follow the CSVs that are there (OLM: ensureSubscriptionCSVState).
func (n *namespace) settle() {
	slices.SortFunc(n.subscriptions, func(a, b *v1alpha1.Subscription) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range n.subscriptions {
		if n.csv(s.Status.CurrentCSV) != nil {
			s.Status.InstalledCSV = s.Status.CurrentCSV
		}
	}
}

// waiting reports whether each Subscription waits for an InstallPlan that it has (OLM: nothingToUpdate).
func (n *namespace) waiting() bool {
	return !slices.ContainsFunc(n.subscriptions, func(s *v1alpha1.Subscription) bool {
		return s.Status.CurrentCSV == "" || n.csv(s.Status.CurrentCSV) != nil
	})
}

func (n *namespace) names() []string {
	var names []string
	for _, c := range n.csvs {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

func (n *namespace) key() string {
	key := strings.Join(n.names(), "\n") + "\n"
	for _, s := range n.subscriptions {
		key += fmt.Sprintln(s.Name, s.Status.InstalledCSV, s.Status.CurrentCSV)
	}
	return key
}

// mostSteps ends a walk that neither settles nor comes back to a state.
const mostSteps = 1000

// walk has OLM resolve, and the result installed, until nothing changes (OLM: syncResolvingNamespace, ExecutePlan, and
// the controller of CSVs).
func (o *olm) walk(ctx context.Context, s *resolvercase.Scenario) (*resolvercase.Walk, error) {
	n, err := o.start(ctx, s)
	if err != nil {
		return nil, err
	}
	w := &resolvercase.Walk{}
	var seen []string
	for len(w.Steps) < mostSteps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if end, err := o.before(n, w, &seen); end || err != nil {
			return w, err
		}
		planned, lookups, updated, err := o.resolver.ResolveSteps(o.question.Namespace)
		if err != nil {
			w.Outcome, w.Error = string(resolve.Failed), failure(err)
			o.end(n, w)
			return w, nil
		}
		step, err := newStep(n, planned, lookups, updated)
		if err != nil {
			return nil, err
		}
		if len(step.Subscriptions) == 0 {
			w.Outcome = string(resolve.Settled)
			if len(step.CSVs) > 0 {
				w.Outcome, w.Withheld = string(resolve.Withheld), step
			}
			o.end(n, w)
			return w, nil
		}
		if err := o.install(n, step, lookups); err != nil {
			return nil, err
		}
		w.Steps = append(w.Steps, *step)
	}
	return nil, fmt.Errorf("no end after %d steps", mostSteps)
}

// before ends a walk for which OLM does not resolve.
func (o *olm) before(n *namespace, w *resolvercase.Walk, seen *[]string) (bool, error) {
	if err := o.see(n); err != nil {
		return true, err
	}
	if len(n.subscriptions) == 0 {
		w.Outcome = string(resolve.NoSubscriptions)
	} else if _, err := resolver.IsFailForwardEnabled(o.groupLister.OperatorGroups(o.question.Namespace)); err != nil {
		w.Outcome = string(resolve.Failed)
		w.Error = &resolvercase.Failure{Reason: resolve.ReasonSync, Text: err.Error()}
	} else if n.waiting() {
		w.Outcome = string(resolve.UpgradePending)
	} else if i := slices.Index(*seen, n.key()); i >= 0 {
		w.Outcome, w.CycleFrom = string(resolve.Cycle), &i
	}
	*seen = append(*seen, n.key())
	if w.Outcome != "" {
		o.end(n, w)
	}
	return w.Outcome != "", nil
}

func failure(err error) *resolvercase.Failure {
	reason := resolve.ReasonPrevented
	if none := (solver.NotSatisfiable{}); errors.As(err, &none) {
		reason = resolve.ReasonNotSatisfiable
	}
	return &resolvercase.Failure{Reason: reason, Text: err.Error()}
}

// newStep returns what ResolveSteps plans.
func newStep(n *namespace, planned []*v1alpha1.Step, lookups []v1alpha1.BundleLookup,
	updated []*v1alpha1.Subscription) (*resolvercase.Step, error) {
	step := &resolvercase.Step{}
	for _, l := range lookups {
		step.CSVs = append(step.CSVs, resolvercase.PlannedCSV{Name: l.Identifier, Replaces: l.Replaces,
			Source: l.CatalogSourceRef.Name, SourceNamespace: l.CatalogSourceRef.Namespace})
	}
	for _, s := range updated {
		from := ""
		for _, old := range n.subscriptions {
			if old.Name == s.Name {
				from = old.Status.InstalledCSV
			}
		}
		step.Subscriptions = append(step.Subscriptions, resolve.Move{Name: s.Name, From: from, To: s.Status.CurrentCSV})
	}
	for _, p := range planned {
		if p.Resource.Kind != v1alpha1.SubscriptionKind {
			return nil, fmt.Errorf("OLM plans the %s %s of a bundle without image", p.Resource.Kind, p.Resource.Name)
		}
		var s v1alpha1.Subscription
		if err := json.Unmarshal([]byte(p.Resource.Manifest), &s); err != nil {
			return nil, err
		}
		step.NewSubscriptions = append(step.NewSubscriptions, resolvercase.Subscription{Name: s.Name,
			Package: s.Spec.Package, Channel: s.Spec.Channel, Source: s.Spec.CatalogSource,
			SourceNamespace: s.Spec.CatalogSourceNamespace, StartingCSV: s.Spec.StartingCSV})
	}
	slices.SortFunc(step.CSVs, func(a, b resolvercase.PlannedCSV) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(step.Subscriptions, func(a, b resolve.Move) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(step.NewSubscriptions, func(a, b resolvercase.Subscription) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return step, nil
}

// install has an InstallPlan succeed: its CSVs are there, what they replace is gone, and the status of Subscriptions
// follows.
func (o *olm) install(n *namespace, step *resolvercase.Step, lookups []v1alpha1.BundleLookup) error {
	before, fresh := n.names(), []*v1alpha1.ClusterServiceVersion{}
	for _, l := range lookups {
		if n.csv(l.Identifier) != nil {
			continue
		}
		c, err := newCSV(o.question.Namespace, l.Identifier, l.Replaces, packageVersion(l.Properties))
		if err != nil {
			return err
		}
		c.Annotations = map[string]string{projection.PropertiesAnnotationKey: l.Properties}
		fresh = append(fresh, c)
	}
	planned := func(name string) bool {
		return slices.ContainsFunc(step.CSVs, func(c resolvercase.PlannedCSV) bool { return c.Name == name })
	}
	for _, c := range step.CSVs {
		for old := c.Replaces; slices.Contains(before, old) && !planned(old); old = n.csv(old).Spec.Replaces {
			if slices.Contains(step.Removed, old) {
				break
			}
			step.Removed = append(step.Removed, old)
		}
	}
	slices.Sort(step.Removed)
	n.csvs = append(slices.DeleteFunc(n.csvs, func(c *v1alpha1.ClusterServiceVersion) bool {
		return slices.Contains(step.Removed, c.Name)
	}), fresh...)
	for _, s := range n.subscriptions {
		for _, m := range step.Subscriptions {
			if m.Name == s.Name {
				s.Status.CurrentCSV = m.To
			}
		}
	}
	for _, s := range step.NewSubscriptions {
		if slices.ContainsFunc(n.subscriptions, func(old *v1alpha1.Subscription) bool { return old.Name == s.Name }) {
			continue
		}
		out := newSubscription(o.question.Namespace, s)
		out.Status.CurrentCSV = s.StartingCSV
		n.subscriptions = append(n.subscriptions, out)
	}
	n.settle()
	return nil
}

// end adds the state at the end to a walk.
func (o *olm) end(n *namespace, w *resolvercase.Walk) {
	w.Installed = n.names()
	for _, s := range n.subscriptions {
		w.Subscriptions = append(w.Subscriptions,
			resolvercase.Status{Name: s.Name, InstalledCSV: s.Status.InstalledCSV})
		if d := o.deprecation(s); d != (resolvercase.Deprecation{Subscription: s.Name}) {
			w.DeprecationConditions = append(w.DeprecationConditions, d)
		}
	}
}

// deprecation returns the messages of a Subscription's conditions (OLM: subscription/reconciler.go,
// updateDeprecatedStatus).
func (o *olm) deprecation(s *v1alpha1.Subscription) resolvercase.Deprecation {
	out := resolvercase.Deprecation{Subscription: s.Name}
	entries := o.cache.Namespaced(s.Spec.CatalogSourceNamespace).
		Catalog(cache.SourceKey{Name: s.Spec.CatalogSource, Namespace: s.Spec.CatalogSourceNamespace}).
		Find(cache.PkgPredicate(s.Spec.Package), cache.ChannelPredicate(s.Spec.Channel))
	for _, e := range entries {
		if e.SourceInfo == nil || e.Name != s.Status.InstalledCSV {
			continue
		}
		if d := e.SourceInfo.Deprecations; d != nil {
			if d.Package != nil {
				out.Package = d.Package.Message
			}
			if d.Channel != nil && s.Spec.Channel != "" {
				out.Channel = d.Channel.Message
			}
			if d.Bundle != nil {
				out.Bundle = d.Bundle.Message
			}
		}
		break
	}
	return out
}
