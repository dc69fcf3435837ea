package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/predict/plan"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// InstallPlan is an InstallPlan after OLM has executed it.
type InstallPlan struct {
	Cluster   string   `json:"cluster,omitempty"`
	Namespace string   `json:"namespace"`
	CSVs      []string `json:"clusterServiceVersionNames"`
	Phase     string   `json:"phase"`
	Reason    string   `json:"reason,omitempty"` // of its condition Installed
	Message   string   `json:"message,omitempty"`
	Also      []string `json:"orMessage,omitempty"`   // what it says by chance instead
	Unknown   []string `json:"notLookedAt,omitempty"` // what nobody looked at

	result  *plan.Result
	partial map[string]bool // CSVs whose bundles are not known
}

// play executes an InstallPlan of what the catalogs offer at once: first installations, updates, dependencies.
func (u *updating) play(ctx context.Context, p installPlan) error {
	played := &InstallPlan{Cluster: u.options.cluster, Namespace: u.namespace, partial: map[string]bool{}}
	run := plan.Plan{Namespace: u.namespace, Target: u.options.Target, Checker: u.options.Checker, API: u.options.API}
	all := slices.Concat(p.updates, p.first)
	for _, one := range all {
		operator := u.opened[one.Name]
		if operator == nil && one.Replaces == "" && !u.stopped {
			var err error
			if operator, err = u.release(ctx, one, one.Choice); err != nil {
				u.unread(p, one, err)
			}
		}
		if operator == nil {
			return ctx.Err()
		}
		if why := install.NotUnpacked(operator.Object, operator.Bundle); why != "" && !one.Choice.Bundle.Inlined() {
			u.stopped = true
			u.note(rulePlanFails, findings.Error, one.sub.Object, "spec", one.Name+": there is no InstallPlan: "+why,
				"")
			u.dropAll(p)
			return ctx.Err()
		}
		u.opened[operator.Name] = operator
		played.CSVs = append(played.CSVs, operator.Name)
		run.Releases = append(run.Releases, plan.Release{CSV: operator.ClusterServiceVersion, Object: operator.Object,
			Shipped: operator.Bundle, Partial: u.partly[operator.Name]})
		if played.partial[operator.Name] = u.partly[operator.Name]; !played.partial[operator.Name] {
			continue
		}
		if played.Unknown = append(played.Unknown, "the objects of "+operator.Name); one.Replaces == "" {
			u.note(ruleNotLookedAt, findings.Note, one.sub.Object, "spec", onlyCatalog(operator.Name, notFetched), "")
		}
	}
	result := &plan.Result{Plan: run, Phase: v1alpha1.InstallPlanPhaseInstalling}
	if played.Message = u.unmanaged(); played.Message != "" {
		played.Reason = string(v1alpha1.InstallPlanReasonInstallCheckFailed)
	} else {
		var err error
		var unknown []string
		run.Account, unknown = u.account(u.group())
		if result, err = run.Run(ctx, u.World); err != nil {
			return err
		}
		result.Unknown = append(result.Unknown, unknown...)
		played.Message = result.Message
	}
	played.result, played.Phase, played.Also = result, string(result.Phase), result.Also
	played.Unknown = append(played.Unknown, result.Unknown...)
	u.played = append(u.played, played)
	u.judgePlayed(slices.Concat(p.first, p.updates)[0], played)
	for _, one := range all {
		u.judgeShipped(one, u.opened[one.Name])
		if err := u.take(ctx, one, u.opened[one.Name], played); err != nil {
			return err
		}
	}
	return nil
}

// group returns the OperatorGroup of the namespace. OLM resolves nothing where there is not one.
func (u *updating) group() *group {
	return lists.Find(u.groups, func(g *group) bool { return g.Namespace == u.namespace })
}

// unmanaged returns why OLM executes no InstallPlan of the namespace, or "" (OLM: pkg/lib/scoped/querier.go,
// queryServiceAccountFromNamespace). A group whose ServiceAccount is missing gets no status (lib/scoped/syncer.go).
func (u *updating) unmanaged() string {
	g := u.group()
	missing := g.lacksAccount(u.prediction)
	manages := len(g.status) > 0 || !missing && g.refused == nil && (g.unknown || len(g.targets) > 0)
	switch {
	case !manages:
		return "no operator group found that is managing this namespace"
	case missing:
		return fmt.Sprintf("please make sure the service account exists. sa=%s operatorgroup=%s/%s",
			g.Spec.ServiceAccountName, g.Namespace, g.Name)
	}
	return ""
}

// unread notes that nobody knows what becomes of an InstallPlan, as the bundle of a release cannot be read.
func (u *updating) unread(p installPlan, one Update, err error) {
	u.stopped = true
	if !broken(err) {
		u.unseen = true
		u.notLookedAt(one, fmt.Sprintf("the objects of %s: %v", one.Name, err))
		return
	}
	why := fmt.Sprintf("the bundle of %s cannot be read: %v", one.Name, err)
	u.noteUnchecked(one.sub, why, manifest.HintOf(err))
	u.unknown = append(u.unknown, Unknown{Object: one.sub.Object, Why: why, Unread: true})
	u.dropAll(p)
}

func (u *updating) dropAll(p installPlan) {
	for _, each := range slices.Concat(p.updates, p.first) {
		u.drop(each)
	}
}

// drop removes an operator that OLM does not come to.
func (u *updating) drop(one Update) {
	u.csvs = slices.DeleteFunc(u.csvs, func(v *csv) bool {
		return v.sub != nil && v.plan == nil && v.Namespace == u.namespace && v.Name == one.Name
	})
}

// assume notes what an InstallPlan asks for. As nobody can look into its bundles, it counts as executed.
func (c *prediction) assume(p installPlan) {
	for _, one := range slices.Concat(p.updates, p.first) {
		c.ask(one)
	}
}

func (c *prediction) ask(one Update) {
	if one.Dependency {
		c.added = append(c.added, one.subscription())
	} else {
		c.targetCSV[one.sub] = one.Name
	}
}

// take notes what an InstallPlan does with an operator. Git keeps the release that it has.
func (u *updating) take(ctx context.Context, one Update, operator *upgrade.Release, played *InstallPlan) error {
	u.ask(one)
	made := u.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, u.namespace, operator.Name)
	if made == nil {
		u.drop(one)
		return nil
	}
	if original, copied := olm.CopiedObject(made); copied && made.Has("status") {
		u.note(ruleCopied, findings.Warning, one.sub.Object, "spec.name", fmt.Sprintf("%s: OLM takes the copy of the "+
			"ClusterServiceVersion of namespace %s for it, and installs nothing", one.Name, original), "")
		u.drop(one)
		return nil
	}
	old := u.named()[[2]string{u.namespace, one.Replaces}]
	v := u.named()[[2]string{u.namespace, operator.Name}]
	switch {
	case v != nil && v.sub == nil:
		return nil
	case v == nil && !u.comes(one, old):
		u.Delete(made) // the tree keeps its release, or nobody approves the InstallPlan
		return u.judgeDeployed(ctx, one, old.release(), operator)
	case v == nil:
		var err *manifest.Error
		if v, err = u.makes(operator.Object, one.Install); err != nil {
			u.fault(err, one.sub.Object)
			return nil
		}
		if v.Copied { // OLM takes it for a copy, and installs nothing of it
			return nil
		}
		next := slices.IndexFunc(u.csvs, func(x *csv) bool { return x.sub == one.sub && x.plan == nil && x != old })
		u.csvs = slices.Insert(u.csvs[:len(u.csvs)-1], next, v) // before what follows it
	}
	v.plan, v.typed, v.dependency = played, operator.ClusterServiceVersion, one.Dependency
	if one.Replaces == "" {
		u.brings = append(u.brings, lists.Filter(operator.Bundle, isCRD)...)
	}
	if old != nil && (old.sub != nil || old.observed) {
		v.Replaces, old.updated = one.Replaces, true
	}
	// asked before the next InstallPlan changes the cluster; while two releases are there OLM resolves nothing more
	if needs := u.requirements(v); old != nil && (len(needs.unmet) > 0 || needs.err != nil) {
		u.stopped = true
	}
	return nil
}

// judgeDeployed reports what the API server refuses of the Deployments of a release that would take the place of
// another one.
func (u *updating) judgeDeployed(ctx context.Context, one Update, old, now *upgrade.Release) error {
	w := world.Read(nil, u.namespace)
	for _, operator := range []*upgrade.Release{old, now} {
		if operator == nil {
			continue
		}
		made, err := plan.Strategy{CSV: operator.ClusterServiceVersion, Namespace: u.namespace,
			API: u.options.API}.Install(ctx, w)
		if err != nil {
			return err
		}
		if operator == now && made.Refusal != nil {
			u.note(upgrade.RuleRefused, findings.Error, one.sub.Object, "spec", one.Name+": it would fail with "+
				string(v1alpha1.CSVReasonComponentFailed)+": "+made.Refusal.Text, "")
		}
	}
	return nil
}

// comes reports whether an operator that the tree does not have is in the cluster afterwards. The older release may be
// one that OLM has made, too.
func (u *updating) comes(one Update, old *csv) bool {
	if old == nil {
		return one.Replaces == ""
	}
	_, there := u.assumed[[2]string{u.namespace, one.Replaces}] // in the cluster, by the status of its Subscription
	return old.sub != nil && !there || (old.observed || there) && (!one.Approval || u.options.Catalogs.ApproveAll)
}

// subscription returns the Subscription that OLM makes for a dependency (OLM:
// pkg/controller/registry/resolver/steps.go, NewSubscriptionStepResource).
func (u Update) subscription() *manifest.Object {
	sourceNamespace, source, _ := strings.Cut(u.Catalog, "/")
	channel, pkg := "", u.Choice.Package.Name
	if u.Choice.Channel != nil {
		channel = u.Choice.Channel.Name
	}
	o := manifest.New(map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "Subscription",
		"metadata": map[string]any{"namespace": u.Namespace,
			"name": resolve.GeneratedName(pkg, channel, source, sourceNamespace)},
		"spec": map[string]any{"name": pkg, "channel": channel, "source": source,
			"sourceNamespace": sourceNamespace, "startingCSV": u.Name, "installPlanApproval": "Automatic"}})
	o.File, o.Line = u.sub.File, u.sub.Line
	return o
}

// judgePlayed reports an InstallPlan that fails or is never complete, after which OLM does nothing more in the
// namespace, and what nobody looked at.
func (u *updating) judgePlayed(first Update, played *InstallPlan) {
	for _, what := range played.result.Unknown {
		u.notLookedAt(first, what)
	}
	does := "the InstallPlan fails"
	switch played.result.Phase {
	case v1alpha1.InstallPlanPhaseComplete:
		return
	case v1alpha1.InstallPlanPhaseFailed:
		played.Reason = string(v1alpha1.InstallPlanReasonComponentFailed)
	default:
		does = "the InstallPlan is never complete"
	}
	if u.stopped { // an update that is reported with the same reason
		return
	}
	u.stopped = true
	message := strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", strings.Join(played.CSVs, ", "), does, played.Message),
		": ")
	if len(played.Also) > 0 {
		message += "; or, by chance: " + strings.Join(played.Also, "; or: ")
	}
	f := findings.Finding{Rule: rulePlanFails.ID, Level: findings.Error, File: first.sub.File,
		Line: first.sub.LineOf("spec"), Object: first.sub.Identity(), Message: message}
	if at := played.result.At; at != nil {
		f.Hint = fmt.Sprintf("the step that fails is %s %s", at.Kind, at.Name)
	}
	u.findings = append(u.findings, f)
}

// judgeShipped reports Services of a release that OLM writes once more, for what a Deployment serves (OLM:
// pkg/controller/install/certresources.go).
func (u *updating) judgeShipped(one Update, operator *upgrade.Release) {
	for _, o := range operator.Bundle {
		if o.Kind != "Service" {
			continue
		}
		if by := olm.ServesAt(operator.ClusterServiceVersion, o.Name); by != "" {
			u.note(ruleChance, findings.Warning, one.sub.Object, "spec.name", fmt.Sprintf("%s ships Service %s, and "+
				"OLM makes one of that name for what Deployment %s serves: which of the two stays is chance", one.Name,
				o.Name,
				by), "")
		}
	}
}

// notLookedAt reports what nobody knows and the outcome may depend on.
func (u *updating) notLookedAt(one Update, what string) {
	u.note(ruleNotLookedAt, findings.Note, one.sub.Object, "spec", "not looked at: "+what, "")
}

// whole reports whether everything that OLM installs with a CSV is known.
func (v *csv) whole() bool { return v.plan != nil && !v.plan.partial[v.Name] }

// SubscriptionState is the status of a Subscription after OLM has processed it.
type SubscriptionState struct {
	Cluster      string `json:"cluster,omitempty"`
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	State        string `json:"state,omitempty"`
	InstalledCSV string `json:"installedCSV,omitempty"`
	CurrentCSV   string `json:"currentCSV,omitempty"`

	Condition *Condition `json:"condition,omitempty"` // that says what is wrong

	object *manifest.Object
}

// leave completes a report by what OLM leaves: the cluster, its InstallPlans, the Subscriptions.
func (sim *simulation) leave(r *Report) {
	r.Plans = sim.played
	for _, v := range sim.csvs {
		if v.deleted {
			sim.lose(v)
			continue
		}
		made := cmp.Or(sim.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, v.Namespace, v.Name),
			world.InNamespace(v.Object, v.Namespace))
		if v.properties != "" {
			made = world.WithAnnotation(made, olm.AnnotationProperties, v.properties)
		}
		sim.Put(world.WithStatus(made, map[string]any{"phase": string(v.phase), "reason": string(v.reason),
			"message": v.message}))
	}
	for _, g := range sim.groups { // in the state in which the next play finds it
		if g.resolved {
			sim.Put(world.WithStatus(g.Object, map[string]any{"namespaces": text.Values(g.status),
				"lastUpdated": "2000-01-01T00:00:00Z"}))
		}
	}
	for _, s := range sim.Subscriptions {
		sim.subscribed(r, s.Object, sim.targetCSV[s], sim.stuck[s])
	}
	for _, s := range sim.added {
		sim.subscribed(r, s, olm.Text(olm.Get(s, "spec", "startingCSV")), false)
	}
	for i, p := range sim.played {
		sim.Put(p.object(i))
	}
	r.After = slices.Collect(sim.All())
}

// lose deletes a CSV that another has replaced, and what only it owns. What the newer one ships as well, it needs.
func (sim *simulation) lose(v *csv) {
	old := sim.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, v.Namespace, v.Name)
	if old == nil {
		return
	}
	next := sim.replacing(v)
	for _, x := range sim.Delete(old) {
		if next == nil || !next.whole() {
			continue
		}
		if says, level := next.plan.result.Without(x); says != "" {
			sim.note(ruleLost, level, next.where(), "spec",
				fmt.Sprintf("%s: %s %s is deleted with %s, its only owner; %s",
					next.Name, x.Kind, x.Name, v.Name, says),
				"let the ServiceAccount stay in the permissions of the ClusterServiceVersion")
		}
	}
}

// subscribed sets the status of a Subscription (OLM: pkg/controller/operators/catalog/operator.go,
// ensureSubscriptionCSVState; subscription/state.go).
func (sim *simulation) subscribed(r *Report, s *manifest.Object, csv string, waits bool) {
	state := SubscriptionState{Cluster: sim.options.cluster, Namespace: s.Namespace, Name: s.Name, object: s}
	texts := map[string]*string{"state": &state.State, "installedCSV": &state.InstalledCSV,
		"currentCSV": &state.CurrentCSV}
	for at, to := range texts {
		*to = olm.Text(olm.Get(s, "status", at))
	}
	failing := func(kind v1alpha1.SubscriptionConditionType, reason, message string) {
		state.Condition = &Condition{string(kind), "True", reason, message}
	}
	switch failure := sim.failures[s.Namespace]; {
	case csv != "":
		state.CurrentCSV, state.State = csv, string(v1alpha1.SubscriptionStateUpgradePending)
		if sim.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, s.Namespace, csv) != nil {
			state.InstalledCSV, state.State = csv, string(v1alpha1.SubscriptionStateAtLatest)
		}
		for _, p := range sim.played {
			if p.Namespace == s.Namespace && p.Phase == string(v1alpha1.InstallPlanPhaseFailed) &&
				slices.Contains(p.CSVs, csv) {
				failing(v1alpha1.SubscriptionInstallPlanFailed, p.Reason, p.Message)
			}
		}
		if old := sim.unreplaced(s.Namespace); old != "" && state.Condition == nil {
			failing(v1alpha1.SubscriptionResolutionFailed, resolve.ReasonNotSatisfiable, "constraints not "+
				"satisfiable: clusterserviceversion "+old+" exists and is not referenced by a subscription")
		}
	case waits:
		state.State = string(v1alpha1.SubscriptionStateUpgradePending)
	case failure != nil:
		failing(v1alpha1.SubscriptionResolutionFailed, failure.Reason, failure.Text)
	}
	status := map[string]any{}
	for at, value := range texts {
		if *value != "" {
			status[at] = *value
		}
	}
	r.Subscriptions = append(r.Subscriptions, state)
	if c := state.Condition; c != nil {
		status["conditions"] = []any{map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason,
			"message": c.Message}}
	}
	sim.Put(world.WithStatus(s, status))
}

// unreplaced returns a release that OLM has begun to replace in a namespace, and is not done with, or "".
func (sim *simulation) unreplaced(namespace string) string {
	for _, v := range sim.csvsIn[namespace] {
		if next := sim.replacing(v); !v.deleted && next != nil && next.plan != nil {
			return v.Name
		}
	}
	return ""
}

// object returns the InstallPlan. OLM gives it a random name.
func (p *InstallPlan) object(i int) *manifest.Object {
	status := map[string]any{"phase": p.Phase}
	if p.Message != "" {
		status["message"] = p.Message
	}
	return manifest.New(map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(),
		"kind": v1alpha1.InstallPlanKind, "metadata": map[string]any{"namespace": p.Namespace,
			"name": fmt.Sprintf("install-%05d", i+1)},
		"spec": map[string]any{"approval": string(v1alpha1.ApprovalAutomatic), "approved": true,
			"clusterServiceVersionNames": text.Values(p.CSVs)},
		"status": status})
}
