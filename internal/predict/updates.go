package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/manifest"
)

type installPlan struct {
	namespace string
	updates   []Update
	first     []Update // operators that are new in the namespace
}

// updates returns the InstallPlans of the steps of a resolution: what they replace, and what is new in the namespace.
func (r *resolution) updates(state *resolve.State, steps []resolve.Step, asking asking) (out []installPlan) {
	installed := map[string]bool{}
	for _, v := range state.CSVs {
		installed[v.Name] = !v.Copied
	}
	for _, step := range steps {
		plan := installPlan{namespace: state.Namespace}
		for i := range step.CSVs {
			p := &step.CSVs[i]
			one := Update{Install: asking.install(state, p)}
			one.Approval = step.Approval
			switch {
			case installed[p.Name]:
			case installed[p.Replaces] && p.Replaces != p.Name:
				pkg := one.Choice.Package
				one.Replaces, one.from = p.Replaces, catalog.Choice{Package: pkg, Bundle: pkg.Bundle(p.Replaces)}
				plan.updates = append(plan.updates, one)
			case !r.has(state, p):
				plan.first = append(plan.first, one)
			}
		}
		if len(plan.updates)+len(plan.first) > 0 {
			out = append(out, plan)
		}
		for _, p := range step.CSVs {
			installed[p.Name] = true
		}
		for _, name := range step.Removed {
			installed[name] = false
		}
	}
	return out
}

// judgeUpdates reports what keeps OLM from what the catalogs offer. In a namespace where an InstallPlan fails, or is
// not known, OLM gets no further.
func (c *prediction) judgeUpdates(ctx context.Context) error {
	states := map[string]*updating{}
	before := sync.OnceValue(func() (list []upgrade.Release) { // asked for updates only
		for _, v := range c.csvs {
			if operator := v.release(); operator != nil {
				list = append(list, *operator)
			}
		}
		return list
	})
	for _, plan := range c.plans {
		if c.options.Bundles == nil {
			c.assume(plan)
			continue
		}
		u := states[plan.namespace]
		if u == nil {
			u = &updating{prediction: c, namespace: plan.namespace, partly: map[string]bool{}}
			states[plan.namespace] = u
		}
		if !u.stopped {
			u.opened = map[string]*upgrade.Release{}
			if len(plan.updates) > 0 {
				if u.objects == nil {
					u.objects, u.operators = slices.Clone(c.objects), slices.Clone(before())
				}
				if err := u.judgeReplaced(ctx, plan); err != nil {
					return err
				}
			}
			if err := u.play(ctx, plan); err != nil {
				return err
			}
		} else if !u.unseen {
			u.dropAll(plan)
		}
		if u.unseen {
			c.assume(plan)
		}
	}
	for _, namespace := range lists.Keys(states) {
		u := states[namespace]
		for _, of := range lists.Groups(u.glimpsed, func(one Update) *manifest.Object { return one.sub.Object }) {
			names := lists.SortedUnique(lists.Map(of, func(one Update) string { return one.Name }))
			its := notFetched
			if len(names) > 1 {
				its = "their objects are not in the catalog, and their images are not fetched"
			}
			u.noteUpdate(of[0], onlyCatalog(text.FirstOf(6, names), its), "")
		}
	}
	return nil
}

// updating is a namespace whose operators OLM updates, after the InstallPlans that are judged already.
type updating struct {
	*prediction
	namespace string
	objects   []*manifest.Object // of the cluster
	operators []upgrade.Release  // of the cluster
	stopped   bool
	unseen    bool // it is stopped, as nobody can look into the bundles of an InstallPlan

	opened   map[string]*upgrade.Release // the releases of an InstallPlan, by name
	partly   map[string]bool             // releases of which only the catalog is read
	glimpsed []Update                    // to such releases
}

// judgeReplaced reports what OLM does with the operators that an InstallPlan replaces.
func (u *updating) judgeReplaced(ctx context.Context, plan installPlan) error {
	up := upgrade.Upgrade{Old: slices.Clone(u.objects), Others: u.operators, Cluster: u.objects, Played: true,
		PathKnown: true, Checker: u.options.Checker}
	var shipped []*manifest.Object
	by := map[string]Update{}
	for _, one := range plan.updates {
		now, err := u.open(ctx, one, one.Choice)
		if err != nil {
			if broken(err) {
				u.unknown = append(u.unknown, Unknown{Object: one.sub.Object, Why: err.Error(), Unread: true})
			}
			return u.unknownUpdate(ctx, one, err)
		}
		old, err := u.installed(ctx, one, &up)
		if err != nil {
			return u.unknownUpdate(ctx, one, err)
		}
		shipped = append(shipped, now.Bundle...)
		up.Pairs = append(up.Pairs, upgrade.Pair{Old: old, New: now})
		by[now.Name] = one
		u.opened[now.Name] = now
	}
	up.New = slices.Concat(up.Old, shipped)
	found, err := u.findingsOf(ctx, up, plan)
	if err != nil {
		return u.unknownUpdate(ctx, plan.updates[0], err)
	}
	for _, f := range found {
		one, ok := by[f.Operator]
		if !ok {
			one = plan.updates[0]
		}
		u.stopped = u.stopped || f.Severity == findings.Error && !f.Later
		hint := fmt.Sprintf("OLM updates %s to %s of catalog %s: set installPlanApproval: Manual to keep it",
			one.Replaces, one.Name, one.Catalog)
		if one.Approval {
			hint = fmt.Sprintf("catalog %s offers the update from %s to %s: do not approve it before that is mended",
				one.Catalog, one.Replaces, one.Name)
		}
		at := findings.Finding{Rule: f.Rule, Level: f.Severity, File: one.sub.File, Line: one.sub.LineOf("spec"),
			Object: one.sub.Identity(), Message: f.Operator + " " + f.Message, Hint: hint}
		if u.files[f.File] {
			at.File, at.Line = f.File, f.Line
		}
		u.findings = append(u.findings, at)
	}
	return u.apply(up, shipped)
}

// findingsOf returns what OLM does. If custom resources cannot be judged, a finding says so, and the rest is judged.
func (u *updating) findingsOf(ctx context.Context, up upgrade.Upgrade, plan installPlan) ([]upgrade.Consequence,
	error) {
	if up.Checker != nil {
		found, err := up.Findings(ctx)
		if err == nil || ctx.Err() != nil {
			return found, ctx.Err()
		}
		u.noteUpdate(plan.updates[0], fmt.Sprintf("custom resources are not judged for the update to %s: %v",
			plan.updates[0].Name, err), manifest.HintOf(err))
	}
	up.Cluster = slices.DeleteFunc(slices.Clone(up.Cluster), func(o *manifest.Object) bool {
		return o.Kind != kindCRD
	})
	return up.Findings(ctx)
}

// open is release with a finding, if only the catalog is read.
func (u *updating) open(ctx context.Context, one Update, choice catalog.Choice) (*upgrade.Release, error) {
	operator, err := u.release(ctx, one, choice)
	if err == nil && u.partly[operator.Name] {
		one.Name = operator.Name
		u.glimpsed = append(u.glimpsed, one)
	}
	return operator, err
}

// release returns a release of an operator as its catalog or its image has it.
func (u *updating) release(ctx context.Context, one Update, choice catalog.Choice) (*upgrade.Release, error) {
	b, partial, err := readBundle(ctx, choice, catalog.Options{Source: u.options.Bundles.Source, Metadata: true},
		bundle.ReadOptions{Refused: true})
	if err != nil {
		return nil, err
	}
	at := func(o *manifest.Object) *manifest.Object {
		moved := *o
		moved.File = fmt.Sprintf("catalog:%s:%s/%s", one.Catalog, b.CSV.Name, o.File)
		return &moved
	}
	u.partly[b.CSV.Name] = partial
	operator := &upgrade.Release{CSV: olm.CSV{ClusterServiceVersion: b.CSV, Object: at(b.CSVObject),
		Namespace: u.namespace}}
	for _, o := range b.Shipped() {
		operator.Bundle = append(operator.Bundle, at(o))
	}
	u.setMode(operator)
	return operator, nil
}

// readBundle returns a release as its catalog or its image has it. partial says that only the catalog is read.
func readBundle(ctx context.Context, choice catalog.Choice, o catalog.Options, read bundle.ReadOptions) (
	b *bundle.Bundle, partial bool, err error) {
	opened, err := choice.Open(ctx, o)
	if err != nil {
		return nil, false, err
	}
	defer opened.Close()
	read.Labels, read.Partial = opened.Labels, opened.Metadata
	b, err = bundle.Read(opened.FS, read)
	return b, opened.Metadata, err
}

// broken reports whether a bundle is there and cannot be read. An image that cannot be fetched is no proof of that.
func broken(err error) bool {
	_, ok := errors.AsType[*manifest.Error](err)
	return ok
}

func (u *updating) setMode(o *upgrade.Release) {
	for _, g := range u.groups {
		targets := olm.TargetsOf(&g.Spec)
		if targets.BySelector() {
			targets = olm.Targets{Names: g.targets}
		}
		if g.Namespace == u.namespace && g.refused == nil && !g.unknown && len(g.targets) > 0 {
			o.InstallMode = targets.Mode(u.namespace)
			o.Unsupported = !olm.Supports(o.Spec.InstallModes, o.InstallMode)
		}
	}
}

// installed returns the release that is replaced, with what is in the cluster of it. CRDs that the tree does not have
// are those of its bundle.
func (u *updating) installed(ctx context.Context, one Update, up *upgrade.Upgrade) (*upgrade.Release, error) {
	old := new(upgrade.Release)
	i := slices.IndexFunc(u.operators, func(o upgrade.Release) bool {
		return o.Name == one.Replaces && o.Namespace == u.namespace
	})
	if i >= 0 {
		*old = u.operators[i]
		u.setMode(old)
		old.Bundle = u.around()
		crds := olm.CRDs(u.objects)
		missing := slices.DeleteFunc(slices.Clone(old.Spec.CustomResourceDefinitions.Owned),
			func(d v1alpha1.CRDDescription) bool { return crds[d.Name] != nil })
		if len(missing) == 0 {
			return old, nil
		}
		if one.from.Bundle == nil {
			u.notLookedAt(one, fmt.Sprintf("whether objects fit the CRDs of %s: neither the tree nor the catalog has "+
				"CRD %s of %s", one.Name, missing[0].Name, old.Name))
			return old, nil
		}
	} else if one.from.Bundle == nil {
		return nil, fmt.Errorf("neither the tree nor the catalog has %s", one.Replaces)
	}
	released, err := u.open(ctx, one, one.from)
	if err != nil {
		return nil, err
	}
	up.Old = slices.Concat(released.Bundle, up.Old)
	if i < 0 {
		*old = *released
	}
	old.Bundle = slices.Concat(released.Bundle, u.around())
	return old, nil
}

// around returns the objects of the cluster that OLM updates if a bundle ships an object of that name.
func (u *updating) around() []*manifest.Object {
	return slices.DeleteFunc(slices.Clone(u.objects), func(o *manifest.Object) bool {
		return o.Namespace != "" && o.Namespace != u.namespace
	})
}

func (u *updating) apply(up upgrade.Upgrade, shipped []*manifest.Object) error {
	before := olm.CRDs(up.New[:len(up.Old)])
	for _, o := range up.Pairs {
		u.operators = slices.DeleteFunc(u.operators, func(other upgrade.Release) bool {
			return other.Namespace == u.namespace && (other.Name == o.Old.Name || other.Name == o.New.Name)
		})
		u.operators = append(u.operators, *o.New)
	}
	for _, o := range shipped {
		if old := before[o.Name]; old != nil && o.Kind == old.Kind {
			var err error
			if o, err = olm.WithStored(o, old); err != nil {
				return err
			}
		}
		u.objects = append(u.objects, o)
	}
	return nil
}

// unknownUpdate reports an update that cannot be judged, after which nothing is. The error is that of ctx.
func (u *updating) unknownUpdate(ctx context.Context, one Update, err error) error {
	u.stopped, u.unseen = true, true
	u.noteUpdate(one, fmt.Sprintf("the update from %s to %s is not judged: %v", one.Replaces, one.Name, err),
		manifest.HintOf(err))
	return ctx.Err()
}

func (u *updating) noteUpdate(one Update, message, hint string) {
	u.note(ruleUpdateUnknown, findings.Warning, one.sub.Object, "spec", message, hint)
}

// judgeUpgrades reports what keeps OLM from replacing a CSV of the tree by another, and CRDs that nothing converts.
func (c *prediction) judgeUpgrades(ctx context.Context) error {
	u := upgrade.Upgrade{New: slices.Clone(c.Others)}
	for _, name := range lists.Keys(c.CRDs) {
		u.New = append(u.New, c.CRDs[name])
	}
	u.Old = u.New
	at, named := map[string]*csv{}, c.named()
	for _, v := range c.csvs {
		old := named[[2]string{v.Namespace, v.Replaces}]
		if old == nil && !c.converts(v) {
			continue
		}
		if now := v.release(); now != nil {
			u.Pairs, at[v.Name] = append(u.Pairs, upgrade.Pair{Old: old.release(), New: now}), v
		}
	}
	if len(u.Pairs) == 0 {
		return nil
	}
	found, err := u.Findings(ctx)
	// the rules that no reason of a CSV stands for
	rules := []string{upgrade.RuleStored.ID, upgrade.RuleConversion.ID}
	for _, f := range found {
		if v := at[f.Operator]; v != nil && slices.Contains(rules, f.Rule) {
			c.findings = append(c.findings, findings.Finding{Rule: f.Rule, Level: f.Severity, File: f.File,
				Line: f.Line, Object: v.where().Identity(), Message: f.Operator + " " + f.Message})
		}
	}
	return err
}

// named returns the CSVs that are no copies, by namespace and name.
func (c *prediction) named() map[[2]string]*csv {
	return lists.By(c.csvs, func(v *csv) [2]string { return [2]string{v.Namespace, v.Name} })
}

// converts reports whether a CSV owns a CRD of the tree that is converted by a webhook.
func (c *prediction) converts(v *csv) bool {
	return slices.ContainsFunc(v.CRDs.Owned, func(a v1alpha1.CRDDescription) bool {
		return c.CRDs[a.Name] != nil && olm.ConvertsByWebhook(c.CRDs[a.Name])
	})
}

// release returns a CSV as package upgrade looks at it, or nil if it cannot be read, which is a finding of its own.
func (v *csv) release() *upgrade.Release {
	if v == nil {
		return nil
	}
	typed := &v1alpha1.ClusterServiceVersion{}
	if _, err := v.Into(typed); err != nil {
		return nil
	}
	return &upgrade.Release{CSV: olm.CSV{ClusterServiceVersion: typed, Object: v.Object,
		Namespace: v.Namespace}}
}

// judgeConversions reports CRDs of the cluster that OLM leaves whose conversion webhook has no Service. A
// ClusterServiceVersion of the tree that owns the CRD is judged with its release (judgeUpgrades). A Service that the
// tree does not have is missing only where the tree shows that: it is a dump with Services, OLM makes the CRD, or a
// Service of that name is in another namespace.
func (sim *simulation) judgeConversions() {
	services := map[string]string{} // the namespace of a Service, by name
	for x := range sim.All() {
		if x.Group() == "" && x.Kind == "Service" {
			services[x.Name] = x.Namespace
		}
	}
	dumped := sim.Get("", "Service", "default", "kubernetes") != nil
	for crd := range sim.All() {
		if crd.Kind != kindCRD || len(olm.CRDVersions(crd)) < 2 {
			continue
		}
		namespace, name := fit.ConversionService(crd)
		if name == "" || sim.Get("", "Service", namespace, name) != nil {
			continue
		}
		at, field, what := crd, "spec.conversion", "converts"
		owner := lists.Find(sim.csvs, func(v *csv) bool { return !v.deleted && v.owns(crd.Name) })
		if owner != nil && (owner.sub == nil || owner.converts(crd.Name)) {
			continue
		}
		elsewhere, named := services[name]
		if owner != nil {
			at, field, what = owner.where(), "spec", crd.Kind+" "+crd.Name+" converts"
		} else if !named && !dumped {
			continue
		}
		hint, why := "name the Service that serves it", "which is not there"
		if namespace == "default" && name == "kubernetes" { // a cluster has it, whatever the tree has
			why = "which is the API server itself"
		}
		if named {
			hint = fmt.Sprintf("Service %s is in namespace %s", name, elsewhere)
		}
		sim.note(upgrade.RuleConversion, findings.Warning, at, field, fmt.Sprintf("%s at Service %s/%s, %s: requests "+
			"for a version other than the stored one fail", what, namespace, name, why), hint)
	}
}

func (v *csv) owns(crd string) bool {
	return slices.ContainsFunc(v.CRDs.Owned, func(d v1alpha1.CRDDescription) bool { return d.Name == crd })
}

// converts reports whether OLM sets the conversion of a CRD to a webhook of the CSV.
func (v *csv) converts(crd string) bool {
	return v.typed == nil || slices.ContainsFunc(v.typed.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) bool {
			return w.Type == v1alpha1.ConversionWebhook && slices.Contains(w.ConversionCRDs, crd)
		})
}
