package adopt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// Meanwhile is what OLM does while operators leave it.
type Meanwhile string

// The two ways. A stopped OLM sees nothing of what happens, so that way needs no knowledge of what it reconciles, and
// works for every operator. A running one goes on with the other operators of the cluster.
const (
	OLMStopped Meanwhile = "stopped"
	OLMRuns    Meanwhile = "running"
)

// Meanwhiles lists them. The first one is the default.
var Meanwhiles = []Meanwhile{OLMStopped, OLMRuns}

// noRetry is the reason for which OLM does not reconcile a CSV any more, whatever its phase is (OLM:
// pkg/controller/operators/olm/operator.go, transitionCSVState).
const noRetry = v1alpha1.CSVReasonComponentFailedNoRetry

// checkRunning refuses to take an operator away from a running OLM if its OperatorGroup has a ServiceAccount: OLM
// gives such CSVs another reason each time it looks at the group (OLM: pkg/controller/operators/olm/operatorgroup.go,
// syncOperatorGroups).
func (d *departure) checkRunning() (err error) {
	for _, o := range d.operators {
		if o.Group.Spec.ServiceAccountName != "" {
			err = errors.Join(err, manifest.WithHint(fmt.Errorf("%s: %s has spec.serviceAccountName: a running OLM "+
				"would reconcile the operator again and again", o.Object.Identity(), o.Group.Object.Identity()),
				"let OLM be stopped while this operator leaves"))
		}
	}
	return err
}

// skip has a running OLM leave the CSVs alone. When they are deleted later, OLM would delete the APIServices that they
// own, and take the conversion from their CRDs (OLM: handleClusterServiceVersionDeletion): so they lose both.
func (p *planner) skip(d *departure) {
	s := Step{Title: "Have OLM skip the operators", Who: byAdmin,
		Text: []string{"OLM runs on for the other operators. It does not reconcile a ClusterServiceVersion whose " +
			"status.reason is " + string(noRetry) + "; its phase stays " + string(v1alpha1.CSVPhaseSucceeded) + ". " +
			"From here on OLM repairs nothing of these operators, and renews none of their certificates.",
			"Webhook definitions and owned APIServices leave the ClusterServiceVersion, because OLM would undo the " +
				"conversion of CRDs and delete the APIServices when it goes."}}
	for _, o := range d.operators {
		csv := resource(o.Object)
		s.Run = append(s.Run, status(csv, map[string]any{"reason": noRetry}))
		s.Check = append(s.Check, fmt.Sprintf(`test "$(kubectl get %s -o 'jsonpath={.status.reason}')" = %s`, csv,
			noRetry))
		if served := served(o.Object); len(served) > 0 {
			s.Run = append(s.Run, merge(csv, withoutServed(served)))
			s.Check = append(s.Check, nothing("kubectl get "+csv+" -o "+
				"'jsonpath={.spec.webhookdefinitions}{.spec.apiservicedefinitions.owned}'"))
			s.Undo = append(s.Undo, merge(csv, map[string]any{"spec": served}))
			if served["apiservicedefinitions"] != nil {
				s.Text = append(s.Text, "OLM then takes the APIs of the APIServices of "+o.CSV.Name+" from "+
					o.Group.Object.Identity()+" and from the ClusterRoles of its users. The undo of this step "+
					"gives them back.")
			}
		}
		s.Undo = append(s.Undo, status(csv, map[string]any{"reason": o.CSV.Status.Reason}))
	}
	p.add(s)
}

// withoutGroups returns the commands that take OperatorGroups from a running OLM whose operators all leave. Their
// ClusterRoles lose their labels just before: OLM would delete them with the group, and change them as soon as the
// first CSV is gone (OLM: operatorgroup.go, operatorGroupDeleted and pruneProvidedAPIs).
// Between both, OLM needs a moment to see that the labels are gone.
func (p *planner) withoutGroups(d *departure) (commands []string) {
	var deletions []string
	for _, g := range p.state.Groups {
		if !d.takesWhole(g) {
			continue
		}
		for _, o := range p.state.Dump.OfKind("ClusterRole") {
			remove, _ := unlabelled(o)
			if ofGroup(o) && o.Labels[olm.LabelOwnerNamespace] == g.Namespace && d.tied(o) && !d.deletes(o) {
				commands = append(commands, remove)
			}
		}
		deletions = append(deletions, deletion(resource(g.Object)))
	}
	if len(commands) > 0 {
		commands = append(commands, "sleep 10")
	}
	return append(commands, deletions...)
}

// ofGroup reports whether OLM made an object for an OperatorGroup.
func ofGroup(o *dump.Object) bool {
	return o.Labels[olm.LabelOwnerKind] == operatorsv1.OperatorGroupKind
}

// made reports whether OLM made an object for the group.
func (g *Group) made(o *dump.Object) bool {
	return ofGroup(o) && o.Labels[olm.LabelOwner] == g.Name && o.Labels[olm.LabelOwnerNamespace] == g.Namespace
}

// applies returns the directories that have the operators which leave OLM.
func (p *planner) applies() []string {
	if p.To == generate.ProfileClusterExtension {
		return []string{PartDirectory}
	}
	return p.directories()
}

// emptied returns the commands that take from the CSVs what OLM would undo with them.
func (d *departure) emptied() (commands []string) {
	for _, o := range d.operators {
		if none := withoutServed(served(o.Object)); none != nil {
			commands = append(commands, merge(resource(o.Object), none))
		}
	}
	return commands
}

// withoutServed returns the patch that empties what served returns; nil if there is nothing.
func withoutServed(served map[string]any) map[string]any {
	if len(served) == 0 {
		return nil
	}
	none := map[string]any{}
	for field := range served {
		none[field] = nil
	}
	if served["apiservicedefinitions"] != nil {
		none["apiservicedefinitions"] = map[string]any{"owned": nil}
	}
	return map[string]any{"spec": none}
}

// served returns what a CSV says of webhooks and of owned APIServices, by the field of its spec.
func served(csv *dump.Object) map[string]any {
	fields := map[string]any{}
	spec := normalize.At(csv.Value(), "spec")
	if list, _ := spec["webhookdefinitions"].([]any); len(list) > 0 {
		fields["webhookdefinitions"] = list
	}
	if list, _ := normalize.At(spec, "apiservicedefinitions")["owned"].([]any); len(list) > 0 {
		fields["apiservicedefinitions"] = map[string]any{"owned": list}
	}
	return fields
}

// status returns the command that sets fields of the status.
func status(resource string, fields map[string]any) string {
	return "kubectl patch " + resource + " --subresource=status --type=merge -p " +
		patch(map[string]any{"status": fields})
}

// merge returns the command that merges fields into an object.
func merge(resource string, fields map[string]any) string {
	return "kubectl patch " + resource + " --type=merge -p " + patch(fields)
}

// conditionsFirst puts the deletions of OperatorConditions first: a running OLM makes the Role of one anew as long as
// it is there (OLM: pkg/controller/operators/operatorcondition_controller.go).
func conditionsFirst(deletions []string) {
	slices.SortStableFunc(deletions, func(a, b string) int {
		rank := func(c string) int {
			if strings.Contains(c, " operatorcondition.") {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
}
