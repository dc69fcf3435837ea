package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/predict/plan"
	"github.com/olmgen/olmgen/predict/upgrade"
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

// play executes an InstallPlan. What it installs is what the catalogs offer at once: a first installation, an update, a
// dependency.
func (u *updating) play(ctx context.Context, p installPlan) error {
	played := &InstallPlan{Cluster: u.clusterName, Namespace: u.namespace, partial: map[string]bool{}}
	run := plan.Plan{Namespace: u.namespace, Target: u.options.Target, Checker: u.options.Checker}
	all := slices.Concat(p.updates, p.first)
	for _, one := range all {
		operator := u.opened[one.Name]
		if operator == nil && one.Replaces == "" && !u.stopped {
			var err error
			operator, played.partial[one.Name], err = u.release(ctx, one, one.Choice)
			if err != nil {
				u.notLookedAt(one, fmt.Sprintf("the objects of %s: %v", one.Name, err))
				u.stopped, u.unseen = true, true
			}
		}
		if operator == nil {
			return ctx.Err()
		}
		u.opened[operator.Name] = operator
		played.CSVs = append(played.CSVs, operator.Name)
		run.Releases = append(run.Releases, plan.Release{CSV: operator.ClusterServiceVersion, Object: operator.Object,
			Shipped: operator.Bundle})
		if played.partial[operator.Name] {
			u.notLookedAt(one, fmt.Sprintf("the objects of %s: they are not in the catalog, and its image is not "+
				"fetched", operator.Name))
			played.Unknown = append(played.Unknown, "the objects of "+operator.Name)
		}
	}
	result, err := run.Run(ctx, u.live)
	if err != nil {
		return err
	}
	played.result, played.Phase, played.Message, played.Also = result, string(result.Phase), result.Message, result.Also
	played.Unknown = append(played.Unknown, result.Unknown...)
	u.played = append(u.played, played)
	for _, one := range all {
		u.take(one, u.opened[one.Name], played)
	}
	u.judgePlayed(slices.Concat(p.first, p.updates)[0], played)
	return nil
}

// assume notes what an InstallPlan asks for. As nobody can look into its bundles, it counts as executed.
func (c *prediction) assume(p installPlan) {
	for _, one := range slices.Concat(p.updates, p.first) {
		c.ask(one)
	}
}

// ask notes the operator that an InstallPlan brings.
func (c *prediction) ask(one Update) {
	if one.Dependency {
		c.added = append(c.added, one.subscription())
	} else {
		c.asked[one.sub] = one.Name
	}
}

// take notes what an InstallPlan does with an operator. Git keeps the release that it has.
func (u *updating) take(one Update, operator *upgrade.Operator, played *InstallPlan) {
	u.ask(one)
	if v := lists.Find(u.csvs, func(v *csv) bool {
		return v.Namespace == u.namespace && v.Name == operator.Name && v.sub != nil
	}); v != nil {
		v.plan, v.typed = played, operator.ClusterServiceVersion
		return
	}
	old := u.named()[[2]string{u.namespace, one.Replaces}]
	if old == nil || !old.observed || one.sub.Approval == string(v1alpha1.ApprovalManual) {
		return
	}
	v, err := u.makes(operator.Object, one.sub)
	if err != nil {
		u.fault(err, one.sub.Object)
		return
	}
	v.plan, v.typed, v.Replaces, old.updated = played, operator.ClusterServiceVersion, one.Replaces, true
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

// judgePlayed reports an InstallPlan that fails, and what nobody looked at.
func (u *updating) judgePlayed(first Update, played *InstallPlan) {
	for _, what := range played.result.Unknown {
		u.notLookedAt(first, what)
	}
	if played.result.Phase != v1alpha1.InstallPlanPhaseFailed {
		return
	}
	played.Reason = string(v1alpha1.InstallPlanReasonComponentFailed)
	if u.stopped { // an update that is reported with the same reason
		return
	}
	u.stopped = true
	message := fmt.Sprintf("%s: the InstallPlan fails: %s", strings.Join(played.CSVs, ", "), played.Message)
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

// Speaks reports whether a rule is about what OLM does with what it resolved: a comparison of trees says it too.
func Speaks(rule string) bool {
	return slices.Contains([]string{rulePlanFails.ID, ruleIgnoredField.ID, upgrade.RuleConversion.ID, ruleExtension.ID,
		ruleCollision.ID}, rule)
}

// notLookedAt reports what nobody knows and the outcome may depend on.
func (u *updating) notLookedAt(one Update, what string) {
	u.note(ruleNotLookedAt, findings.Note, one.sub.Object, "spec", "not looked at: "+what, "")
}

// whole reports whether everything that OLM installs with a CSV is known.
func (v *csv) whole() bool { return v.plan != nil && !v.plan.partial[v.Name] }
