package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// waiting notes the Subscriptions that have installed no operator of the dump.
func (s *State) waiting(groups map[string]*Group) {
	for _, sub := range s.subscriptions {
		if slices.ContainsFunc(s.installed, func(o *Operator) bool { return o.Subscription == sub.Subscription }) {
			continue
		}
		installed := sub.Status.InstalledCSV
		if s.Dump.Get(v1alpha1.ClusterServiceVersionKind, sub.object.Namespace, installed) != nil {
			continue // another finding says why it is left out
		}
		if g := groups[sub.object.Namespace]; g != nil {
			g.Waiting = append(g.Waiting, sub.object.Name)
		}
		s.Waiting = append(s.Waiting, oneLine(fmt.Sprintf("%s: package %s has no ClusterServiceVersion (%s).",
			sub.object.Identity(), sub.Spec.Package, s.whatFor(sub))))
		level, what, hint := findings.Warning, "nothing: "+s.whatFor(sub),
			"let OLM finish, or delete the Subscription, and dump again; the file has it as a comment"
		if installed != "" {
			level, what, hint = findings.Error, oneLine(installed)+", which the dump does not have",
				"dump with the right to read ClusterServiceVersions"
		}
		s.report("no-csv", level, sub.object, "status.installedCSV", "it has installed "+what, hint)
	}
}

func (o *Operator) state() string {
	status := o.CSV.Status
	return cmp.Or(string(status.Phase), "new") + " (" + cmp.Or(string(status.Reason), "no reason") + ")"
}

func (s *State) whatFor(sub *subscription) string {
	if ref := sub.Status.InstallPlanRef; ref != nil {
		if object := s.Dump.Get(v1alpha1.InstallPlanKind, sub.object.Namespace, ref.Name); object != nil {
			if phase, ok := normalize.At(object.Value(), "status")["phase"].(string); ok {
				return "InstallPlan " + ref.Name + " is " + phase
			}
		}
	}
	for _, c := range sub.Status.Conditions {
		if c.Status == "True" && c.Message != "" {
			return string(c.Type) + ": " + c.Message
		}
	}
	return "state " + cmp.Or(string(sub.Status.State), "unknown")
}

// checkSettled returns what OLM still has to do for the operators: the middle of an upgrade is no state to plan from.
func (s *State) checkSettled() error {
	var waits []string
	for _, o := range s.All() {
		if o.CSV.Status.Phase != v1alpha1.CSVPhaseSucceeded {
			waits = append(waits, o.Object.Identity()+" is "+o.state())
		}
		for _, old := range s.replaced[o.CSV.Name] {
			if old.Namespace == o.Group.Namespace {
				waits = append(waits, old.Identity()+" is about to be replaced")
			}
		}
		waits = append(waits, s.runningPlans(o)...)
	}
	if len(waits) == 0 {
		return nil
	}
	slices.Sort(waits)
	return manifest.WithHint(errors.New("OLM has not settled: "+strings.Join(slices.Compact(waits), "; ")),
		"wait or repair, make a new dump, and then the plan; or leave this operator out")
}

// runningPlans returns the InstallPlans that install for the Subscription of an operator right now.
func (s *State) runningPlans(o *Operator) (waits []string) {
	if o.Subscription == nil || o.Subscription.Status.CurrentCSV == o.CSV.Name {
		return nil
	}
	for _, object := range s.Dump.OfKind(v1alpha1.InstallPlanKind) {
		plan := &v1alpha1.InstallPlan{}
		_ = object.Decode(plan) // Read has decoded it
		running := []v1alpha1.InstallPlanPhase{v1alpha1.InstallPlanPhasePlanning, v1alpha1.InstallPlanPhaseInstalling}
		if object.Namespace == o.Group.Namespace && slices.Contains(running, plan.Status.Phase) &&
			slices.Contains(plan.Spec.ClusterServiceVersionNames, o.Subscription.Status.CurrentCSV) {
			waits = append(waits, fmt.Sprintf("%s is %s", object.Identity(), plan.Status.Phase))
		}
	}
	return waits
}

// certified reports whether an operator has webhooks or APIs of its own, for which OLM makes certificates.
func (o *Operator) certified() bool {
	return len(o.CSV.Spec.WebhookDefinitions)+len(o.CSV.Spec.APIServiceDefinitions.Owned) > 0
}
