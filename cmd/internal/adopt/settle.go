package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/manifest"
)

// waiting notes the Subscriptions that have installed no operator of the dump.
func (s *State) waiting(groups map[string]*Group) {
	for _, sub := range s.subscriptions {
		if slices.ContainsFunc(s.installed, func(o *Operator) bool { return o.Subscription == sub.Subscription }) {
			continue
		}
		if g := groups[sub.object.Namespace]; g != nil {
			g.Waiting = append(g.Waiting, sub.object.Name)
		}
		comment := oneLine(fmt.Sprintf("Subscription %s/%s: package %s has no ClusterServiceVersion (%s).",
			sub.object.Namespace, sub.object.Name, sub.Spec.Package, s.whatFor(sub)))
		s.Waiting = append(s.Waiting, comment)
		s.report("no-csv", findings.Warning, sub.object, "status.installedCSV", "it has installed nothing: "+
			""+s.whatFor(sub),
			"let OLM finish, or delete the Subscription, and dump again; the file has it as a comment")
	}
}

// whatFor returns what a Subscription waits for.
func (s *State) whatFor(sub *subscription) string {
	if ref := sub.Status.InstallPlanRef; ref != nil {
		if object := s.Dump.Get(v1alpha1.InstallPlanKind, sub.object.Namespace, ref.Name); object != nil {
			status, _ := object.Value()["status"].(map[string]any)
			if phase, ok := status["phase"].(string); ok {
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

// checkSettled returns what OLM still has to do for the operators of a plan. The middle of an upgrade is no state to
// plan from.
func (s *State) checkSettled() error {
	var waits []string
	for _, o := range s.All() {
		if phase := o.CSV.Status.Phase; phase != v1alpha1.CSVPhaseSucceeded {
			waits = append(waits, fmt.Sprintf("%s is %s (%s)", o.Object.Identity(), cmp.Or(string(phase), "new"),
				cmp.Or(string(o.CSV.Status.Reason), "no reason")))
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
		if object.Namespace != o.Group.Namespace {
			continue
		}
		_ = object.Decode(plan) // Read has decoded it
		running := []v1alpha1.InstallPlanPhase{v1alpha1.InstallPlanPhasePlanning, v1alpha1.InstallPlanPhaseInstalling}
		if slices.Contains(running, plan.Status.Phase) &&
			slices.Contains(plan.Spec.ClusterServiceVersionNames, o.Subscription.Status.CurrentCSV) {
			waits = append(waits, fmt.Sprintf("%s is %s", object.Identity(), plan.Status.Phase))
		}
	}
	return waits
}

// needs returns the commands that check what a plan needs before anything is changed.
func (p *planner) needs() []string {
	commands := []string{"kubectl version # the client 1.24 or later, for --subresource"}
	for _, right := range []string{"delete clusterserviceversions.operators.coreos.com", "patch deployments.apps",
		"patch customresourcedefinitions.apiextensions.k8s.io", "escalate clusterroles.rbac.authorization.k8s.io",
		"bind clusterroles.rbac.authorization.k8s.io"} {
		commands = append(commands, "kubectl auth can-i "+right+" -A")
	}
	if p.OLM == OLMRuns {
		commands = append(commands, "kubectl auth can-i patch clusterserviceversions.operators.coreos.com "+
			"--subresource=status -A")
	}
	for _, o := range p.state.All() {
		commands = append(commands, fmt.Sprintf(`test "$(kubectl get %s -o 'jsonpath={.status.phase}')" = Succeeded`,
			resource(o.Object)))
	}
	if slices.ContainsFunc(p.departure.operators, (*Operator).serves) {
		commands = append(commands, "kubectl get crd certificates.cert-manager.io issuers.cert-manager.io")
	}
	return commands
}

// serves reports whether an operator has webhooks or APIs of its own, for which OLM makes certificates.
func (o *Operator) serves() bool {
	return len(o.CSV.Spec.WebhookDefinitions)+len(o.CSV.Spec.APIServiceDefinitions.Owned) > 0
}

// openShift is the namespace of OLM on OpenShift.
const openShift = "openshift-operator-lifecycle-manager"

// overrides returns the commands by which the cluster version operator of OpenShift leaves OLM alone, or manages it
// again; none for other clusters.
func (p *planner) overrides(set bool) []string {
	if p.olmNamespace() != openShift {
		return nil
	}
	var list []any
	for _, name := range olmDeployments {
		list = append(list, map[string]any{"kind": "Deployment", "group": "apps", "namespace": openShift, "name": name,
			"unmanaged": true})
	}
	value := map[string]any{"overrides": list}
	if !set {
		value["overrides"] = nil
	}
	return []string{"kubectl patch clusterversion version --type=merge -p " + patch(map[string]any{"spec": value})}
}

// olmDeployments are the Deployments of OLM that install operators.
var olmDeployments = []string{"olm-operator", "catalog-operator"}

// olmNamespace returns the namespace that OLM runs in.
func (p *planner) olmNamespace() string {
	for _, d := range p.state.Dump.OfKind("Deployment") {
		if slices.Contains(olmDeployments, d.Name) {
			return d.Namespace
		}
	}
	return "olm"
}

// nothing returns the command that fails if a command prints something.
func nothing(command string) string { return `test -z "$(` + command + `)"` }

// checksGone returns the commands that fail while objects are there.
func checksGone(deletions []string) (checks []string) {
	for _, c := range deletions {
		if rest, ok := strings.CutPrefix(c, "kubectl delete "); ok {
			rest = strings.TrimSuffix(rest, " --ignore-not-found --cascade=orphan")
			checks = append(checks, nothing("kubectl get "+rest+" --ignore-not-found -o name"))
		}
	}
	return checks
}

// checksDetached returns the commands that fail while an object refers to the operators.
func (d *departure) checksDetached(objects []*dump.Object) (checks []string) {
	for _, o := range objects {
		for i, r := range o.Owners {
			if d.owns(o, r) {
				checks = append(checks, nothing(fmt.Sprintf("kubectl get %s -o "+
					"'jsonpath={.metadata.ownerReferences[*].uid}' | "+
					"grep -F %s", resource(o), Quote(o.Owners[i].UID))))
			}
		}
		for _, label := range ownMarks {
			if _, ok := o.Labels[label]; ok {
				checks = append(checks, nothing(fmt.Sprintf("kubectl get %s -o 'jsonpath={.metadata.labels}' | "+
					"grep -F %s", resource(o), Quote(`"`+label+`"`))))
			}
		}
	}
	return checks
}
