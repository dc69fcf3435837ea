package adopt

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// byOLM reports whether an ownerReference is to an object of OLM.
func byOLM(r dump.Owner) bool { return strings.HasPrefix(r.APIVersion, olm.Group+"/") }

const crdKind = "CustomResourceDefinition"

// resource returns the kubectl arguments that name an object.
func resource(o *dump.Object) string {
	kind := strings.ToLower(o.Kind)
	if group, _, ok := strings.Cut(o.APIVersion, "/"); ok {
		kind += "." + group
	}
	out := kind + " " + Quote(o.Name)
	if o.Namespace != "" {
		out = "-n " + Quote(o.Namespace) + " " + out
	}
	return out
}

// ownMarks are the labels by which OLM finds what to delete with a CSV.
var ownMarks = []string{olm.LabelOwner, olm.LabelOwnerKind, olm.LabelOwnerNamespace, olm.LabelCopiedFrom}

// ofOLM are OLM's own kinds. Their objects do not stay.
var ofOLM = []string{"ClusterServiceVersion", "Subscription", "InstallPlan", "OperatorCondition", "OperatorGroup"}

// cutLoose removes what ties the objects that stay to their CSV.
func (p *planner) cutLoose(d *departure) {
	s := Step{Title: "Cut the objects loose", Who: byAdmin,
		Text: []string{"When a CSV goes, its finalizer " + olm.Finalizer + " has OLM delete ClusterRoles, bindings " +
			"and webhooks by their owner labels, and Kubernetes deletes what has an ownerReference to it. Both are " +
			"removed first. " + p.nobody()}}
	var foreign []string
	var cut []*dump.Object
	for _, o := range p.state.Dump.Objects {
		if slices.Contains(ofOLM, o.Kind) || !d.tied(o) || p.OLM == OLMRuns && (d.deletes(o) || ofGroup(o)) {
			continue // a running OLM would tie again what it reconciles for a group or an OperatorCondition
		}
		cut = append(cut, o)
		if !d.rendered[o.Key()] && !d.deletes(o) {
			foreign = append(foreign, o.Identity())
		}
		if remove, restore := unlabelled(o); remove != "" {
			s.Run = append(s.Run, remove)
			s.Undo = append(s.Undo, restore)
		}
		if command := withoutOwners(d, o); command != "" {
			s.Run = append(s.Run, command)
			// OLM restores only some of them by itself
			s.Undo = append(s.Undo, merging(resource(o), "ownerReferences", o.References()))
		}
	}
	s.Check = d.checksDetached(cut)
	if len(foreign) > 0 {
		s.Text = append(s.Text, "These objects refer to an operator, and neither OLM's rules nor the bundle explain "+
			"them. They lose the reference and stay: "+text.And(foreign)+".")
	}
	p.add(s)
}

// unlabelled returns the commands that take the labels off an object by which OLM finds it, and that give them back.
func unlabelled(o *dump.Object) (remove, restore string) {
	var labels, values []string
	for _, label := range ownMarks {
		if v, ok := o.Labels[label]; ok {
			labels = append(labels, label+"-")
			values = append(values, Quote(label+"="+v))
		}
	}
	if len(labels) == 0 {
		return
	}
	return "kubectl label " + resource(o) + " " + strings.Join(labels, " "),
		"kubectl label --overwrite " + resource(o) + " " + strings.Join(values, " ")
}

// nobody says why OLM does not tie the objects to their CSV again.
func (p *planner) nobody() string {
	if p.OLM == OLMRuns {
		return "OLM skips the operators, so nobody puts them back."
	}
	return "OLM is down, so nobody puts them back."
}

// withoutOwners returns the command that removes the ownerReferences to OLM's objects about the operators; "" if there
// are none. It can run twice. Owners that were added since the dump stay, but in custom resources, which know no
// strategic merge.
func withoutOwners(d *departure, o *dump.Object) string {
	var removed, kept []any
	for i, r := range o.References() {
		if d.owns(o, o.Owners[i]) {
			removed = append(removed, map[string]any{"$patch": "delete", "uid": o.Owners[i].UID})
		} else {
			kept = append(kept, r)
		}
	}
	switch {
	case len(removed) == 0:
		return ""
	case dump.BuiltIn(o.APIVersion):
		return "kubectl patch " + resource(o) + " --type=strategic -p " +
			patch(map[string]any{"metadata": map[string]any{"ownerReferences": removed}})
	}
	return merging(resource(o), "ownerReferences", kept)
}

// ownedAgain returns the commands that give the objects that stayed, and those that are applied again, to the OLM
// objects of the way back, which have other UIDs. OLM does that only when it installs, and here it finds all installed.
func (p *planner) ownedAgain(d *departure) (commands []string) {
	variables := map[*dump.Object]string{} // by the owner
	for _, o := range p.state.Dump.Objects {
		other := func(r dump.Owner) bool { return byOLM(r) && p.restored(o, r) == nil }
		if !d.tied(o) || !slices.ContainsFunc(o.Owners, byOLM) || slices.ContainsFunc(o.Owners, other) ||
			slices.Contains(ofOLM, o.Kind) {
			continue
		}
		references := o.References()
		for i, r := range o.Owners {
			if !byOLM(r) {
				continue
			}
			owner := p.restored(o, r)
			if variables[owner] == "" {
				variables[owner] = fmt.Sprintf("uid%d", len(variables)+1)
				commands = append(commands, fmt.Sprintf("%s=$(kubectl get %s -o 'jsonpath={.metadata.uid}')",
					variables[owner], resource(owner)))
			}
			reference, _ := references[i].(map[string]any)
			reference["uid"] = "$" + variables[owner]
		}
		command := merging(resource(o), "ownerReferences", references)
		commands = append(commands, variable.ReplaceAllString(command, `"'$1'"`))
	}
	return commands
}

// restored returns the object that an ownerReference names, if it is there again when the backup has been applied; nil
// otherwise. Kubernetes deletes an object that refers to an owner by the UID of another one.
func (p *planner) restored(o *dump.Object, r dump.Owner) *dump.Object {
	kinds := []string{v1alpha1.ClusterServiceVersionKind, "OperatorCondition", operatorsv1.OperatorGroupKind}
	if !slices.Contains(kinds, r.Kind) {
		return nil
	}
	return p.state.Dump.Get(r.Kind, o.Namespace, r.Name)
}

// variable matches a variable of the shell in JSON.
var variable = regexp.MustCompile(`"(\$uid[0-9]+)"`)

// merging returns the command that sets one field of the metadata.
func merging(resource, field string, value any) string {
	return merge(resource, map[string]any{"metadata": map[string]any{field: value}})
}

// patch returns a patch as an argument of kubectl.
func patch(value map[string]any) string {
	data, _ := json.Marshal(value) // of a dump, which was JSON
	return Quote(string(data))
}

// deletion returns the command that deletes an object and leaves what it owns. It may run twice: an object that is gone
// is no error.
func deletion(resource string) string {
	return "kubectl delete " + resource + " --ignore-not-found --cascade=orphan"
}

// subscriptions removes what OLM would install again.
func (p *planner) subscriptions(d *departure) {
	s := Step{Title: "Remove InstallPlans and Subscriptions", Who: byAdmin,
		Text: []string{"OLM would install an operator again that has a Subscription. " +
			"The InstallPlans go first: a Subscription owns them."},
		Undo: subscribed(d.operators)}
	if p.OLM == OLMRuns {
		s.Text = append(s.Text, "The undo stops OLM for a moment, because a running one would forget what is "+
			"installed.")
		s.Undo = p.whileDown(s.Undo...)
	}
	for _, plan := range p.state.Dump.OfKind("InstallPlan") {
		if d.takesNamespace(plan.Namespace) {
			s.Run = append(s.Run, deletion(resource(plan)))
		}
	}
	for _, o := range d.operators {
		if sub := o.Subscription; sub != nil {
			s.Run = append(s.Run, deletion(fmt.Sprintf("-n %s subscriptions.operators.coreos.com %s",
				Quote(sub.Namespace), Quote(sub.Name))))
		}
	}
	if len(s.Run) > 0 {
		s.Check = checksGone(s.Run)
		p.add(s)
	}
}

// subscribed returns the commands that bring Subscriptions back. OLM resolves nothing as long as a CSV belongs to no
// Subscription ("exists and is not referenced by a subscription"), and looks for that at status.installedCSV. It has to
// be down meanwhile: it writes the whole status of a Subscription from what it read before (OLM:
// pkg/controller/operators/catalog/operator.go, updateSubscriptionStatuses).
func subscribed(operators []*Operator) []string {
	commands := []string{applied("before-subscriptions")}
	for _, o := range operators {
		if sub := o.Subscription; sub != nil {
			name := fmt.Sprintf("-n %s subscriptions.operators.coreos.com %s", Quote(sub.Namespace), Quote(sub.Name))
			commands = append(commands, status(name, map[string]any{"state": v1alpha1.SubscriptionStateAtLatest,
				"currentCSV": o.CSV.Name, "installedCSV": o.CSV.Name, "lastUpdated": sub.Status.LastUpdated}))
		}
	}
	return commands
}

// whileDown returns commands between those that stop OLM and start it again.
func (p *planner) whileDown(commands ...string) []string {
	return slices.Concat(p.overrides(true), p.scales(true), commands, p.scales(false), p.overrides(false))
}

// finalizers removes OLM's finalizer: with OLM down, a delete would hang.
func (p *planner) finalizers(operators []*Operator) {
	s := Step{Title: "Remove the finalizers", Who: byAdmin,
		Text: []string{"With OLM down, nobody answers the finalizer, and the deletion of a CSV would hang."}}
	for _, o := range operators {
		if !slices.Contains(o.CSV.Finalizers, olm.Finalizer) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(o.CSV.Finalizers), func(f string) bool { return f == olm.Finalizer })
		s.Run = append(s.Run, merging(resource(o.Object), "finalizers", others))
		s.Check = append(s.Check, nothing("kubectl get "+resource(o.Object)+" -o "+
			"'jsonpath={.metadata.finalizers}' | grep "+
			olm.Finalizer))
		s.Undo = append(s.Undo, merging(resource(o.Object), "finalizers", o.CSV.Finalizers))
	}
	if len(s.Run) > 0 {
		p.add(s)
	}
}

// remove deletes the CSVs, and nothing with them.
func (p *planner) remove(d *departure) {
	s := Step{Title: "Delete the ClusterServiceVersions", Who: byAdmin, Irreversible: true,
		Text: []string{"This is the point: before it, the undo of each step, from the last to the first, leads " +
			"back. After it, OLM does not know the operators.",
			"--cascade=orphan leaves everything that still refers to them.",
			"The way back stops OLM for a moment, applies before/ and before-subscriptions/, and tells OLM what is " +
				"installed. OLM takes the objects for its own again, and restarts no pod. CSVs, " +
				"Subscriptions and OperatorGroups have other " +
				"UIDs then, so webhooks select no namespace for the seconds that OLM needs to label the namespaces."}}
	if p.migrates() {
		s.Text = append(s.Text, migratedToo)
	}
	if p.OLM == OLMRuns {
		s.Run = p.withoutGroups(d)
	}
	for _, o := range d.operators {
		var deletions []string
		for _, c := range p.state.Dump.OfKind("ClusterServiceVersion") {
			if original, _ := c.Copied(); c.Name == o.CSV.Name && original == o.Group.Namespace {
				deletions = append(deletions, deletion(resource(c)))
			}
		}
		if p.OLM == OLMRuns { // a running OLM copies a CSV again, and deletes the copies when it is gone
			s.Run = append(append(s.Run, deletion(resource(o.Object))), deletions...)
		} else {
			s.Run = append(append(s.Run, deletions...), deletion(resource(o.Object)))
		}
	}
	s.Check = checksGone(s.Run)
	if p.OLM == OLMRuns && slices.ContainsFunc(d.operators, func(o *Operator) bool { return d.takesWhole(o.Group) }) {
		for _, dir := range p.applies() {
			s.Run = append(s.Run, applied(Quote(dir)))
		}
	}
	for _, o := range d.operators {
		for _, x := range o.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			s.Check = append(s.Check, fmt.Sprintf("kubectl get -n %s deployment "+
				"%s", Quote(o.Group.Namespace), Quote(x.Name)))
		}
	}
	s.WayBack = p.whileDown(slices.Concat([]string{applied("before")}, p.ownedAgain(d), p.uncreated(),
		subscribed(d.operators))...)
	p.add(s)
}

// olmObjects deletes what is left of OLM's own. It names what earlier versions left behind: no bundle explains that, so
// a person has to decide.
func (p *planner) olmObjects(d *departure) {
	own := Step{Title: "Delete what only OLM used", Who: byAdmin,
		Text: []string{"OLM made these objects by its own rules, and nothing that is rendered needs them. " +
			"Everything else stays."}}
	for _, o := range p.state.Dump.Objects {
		if d.deletes(o) {
			own.Run = append(own.Run, deletion(resource(o)))
		}
	}
	for _, g := range p.state.Groups {
		if d.takesWhole(g) {
			own.Run = append(own.Run, deletion(resource(g.Object)))
		}
	}
	conditionsFirst(own.Run)
	own.Check = checksGone(own.Run)
	for _, op := range d.operators {
		remove := deletion(operatorObject(op))
		own.Run = append(own.Run, p.unlabelledComponents(op)...)
		own.Check = append(own.Check, checksGone([]string{remove})...)
		own.Run = append(own.Run, remove)
	}
	p.add(own)
	orphans := Step{Title: "Look at what earlier versions left behind", Who: byAdmin,
		Text: []string{"OLM never removes these objects. Nothing here deletes them, because no bundle at hand " +
			"explains " +
			"them. The commands are comments: look at each object first."}}
	for _, c := range p.result.Objects {
		switch o := c.object; {
		case !strings.HasPrefix(c.Reason, "orphan"):
		case o.Kind == crdKind:
			orphans.Text = append(orphans.Text, o.Identity()+" stays: deleting a CRD deletes all its objects.")
		default:
			orphans.Run = append(orphans.Run, "# "+deletion(resource(o)))
		}
	}
	if len(orphans.Run) > 0 || len(orphans.Text) > 1 {
		p.add(orphans)
	}
}

// component returns the name of the Operator that OLM makes of an operator.
func (o *Operator) component() string { return o.Package + "." + o.Group.Namespace }

// operatorObject returns the kubectl arguments that name the Operator of an operator.
func operatorObject(o *Operator) string {
	return "operators.operators.coreos.com " + Quote(o.component())
}

// unlabelledComponents returns the commands that take the label of an Operator off its components. OLM makes the
// Operator anew as long as one has it (OLM: pkg/controller/operators/operator_controller.go, hasExistingComponents):
// InstallPlans that another operator needs too, and Secrets, which no dump has.
func (p *planner) unlabelledComponents(op *Operator) (commands []string) {
	label := componentLabel(op.component())
	gone := func(o *dump.Object) bool {
		if o.Kind == "InstallPlan" {
			return p.departure.takesNamespace(o.Namespace)
		}
		return slices.Contains(ofOLM, o.Kind) || p.departure.deletes(o)
	}
	for _, o := range p.state.Dump.Objects {
		if _, ok := o.Labels[label]; ok && !gone(o) {
			commands = append(commands, "kubectl label "+resource(o)+" "+Quote(label+"-"))
		}
	}
	return append(commands, "kubectl label secrets -A -l "+Quote(label)+" "+Quote(label+"-"))
}

// componentLabel returns the label of the components of an Operator (OLM: pkg/controller/operators/decorators,
// ComponentLabelKey).
func componentLabel(operator string) string {
	const limit = 63
	if len(operator) > limit {
		operator = strings.TrimRight(operator[:limit], "._-")
	}
	return olm.LabelComponent + operator
}
