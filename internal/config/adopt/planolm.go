package adopt

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/config/adopt/dump"
)

const finalizer = "operators.coreos.com/csv-cleanup"

// owned reports whether an object belongs to one of the operators, by its labels or its owners.
func owned(o *dump.Object, operators []*Operator) bool {
	return slices.ContainsFunc(operators, func(op *Operator) bool {
		ns := op.Group.Namespace
		here := o.Labels["olm.owner.namespace"] == ns || o.Labels["olm.copiedFrom"] == ns || o.Namespace == ns
		if here && o.Labels["olm.owner"] == op.CSV.Name {
			return true
		}
		byCSV := func(r dump.Owner) bool { return byOLM(r) && r.Name == op.CSV.Name }
		return here && slices.ContainsFunc(o.Owners, byCSV)
	})
}

func byOLM(r dump.Owner) bool { return strings.HasPrefix(r.APIVersion, "operators.coreos.com/") }

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
var ownMarks = []string{"olm.owner", "olm.owner.kind", "olm.owner.namespace", "olm.copiedFrom"}

// ofOLM are OLM's own kinds. Their objects do not stay.
var ofOLM = []string{"ClusterServiceVersion", "Subscription", "InstallPlan", "OperatorCondition", "OperatorGroup"}

// cutLoose removes what ties the objects that stay to their CSV.
func (p *planner) cutLoose(operators []*Operator) {
	s := Step{Title: "Cut the objects loose", Who: byAdmin,
		Text: []string{"When a CSV goes, its finalizer " + finalizer + " has OLM delete ClusterRoles, bindings " +
			"and webhooks by their owner labels, and Kubernetes deletes what has an ownerReference to it. Both are " +
			"removed first. OLM is down, so nobody puts them back."}}
	for _, o := range p.state.Dump.Objects {
		if slices.Contains(ofOLM, o.Kind) || !owned(o, operators) {
			continue
		}
		var remove, restore []string
		for _, label := range ownMarks {
			if v, ok := o.Labels[label]; ok {
				remove = append(remove, label+"-")
				restore = append(restore, Quote(label+"="+v))
			}
		}
		if len(remove) > 0 {
			s.Run = append(s.Run, "kubectl label "+resource(o)+" "+strings.Join(remove, " "))
			s.Undo = append(s.Undo, "kubectl label --overwrite "+resource(o)+" "+strings.Join(restore, " "))
		}
		// the last first: an index names what it did before
		for i, r := range slices.Backward(o.Owners) {
			if byOLM(r) {
				s.Run = append(s.Run, removal(o, fmt.Sprintf("/metadata/ownerReferences/%d", i), "/uid", r.UID))
			}
		}
		if slices.ContainsFunc(o.Owners, byOLM) { // OLM restores only some of them by itself
			s.Undo = append(s.Undo, merging(resource(o), "metadata", "ownerReferences", o.References()))
		}
	}
	p.add(s)
}

// ownedAgain returns the commands that give the objects that stayed to the ClusterServiceVersions of the way back,
// which have other UIDs. OLM does that only when it installs, and here it finds all installed.
func (p *planner) ownedAgain(operators []*Operator) (commands []string) {
	variables := map[string]string{} // by namespace and name of a CSV
	for _, o := range p.state.Dump.Objects {
		other := func(r dump.Owner) bool { return byOLM(r) && r.Kind != v1alpha1.ClusterServiceVersionKind }
		if !owned(o, operators) || !slices.ContainsFunc(o.Owners, byOLM) || slices.ContainsFunc(o.Owners, other) ||
			!p.stays(o) {
			continue
		}
		references := o.References()
		for i, r := range o.Owners {
			reference, ok := references[i].(map[string]any)
			csv := o.Namespace + "/" + r.Name
			if !ok || !byOLM(r) {
				continue
			}
			if variables[csv] == "" {
				variables[csv] = fmt.Sprintf("uid%d", len(variables)+1)
				commands = append(commands, fmt.Sprintf("%s=$(kubectl get -n %s "+
					"clusterserviceversion.operators.coreos.com %s -o 'jsonpath={.metadata.uid}')", variables[csv],
					Quote(o.Namespace), Quote(r.Name)))
			}
			reference["uid"] = "$" + variables[csv]
		}
		command := merging(resource(o), "metadata", "ownerReferences", references)
		commands = append(commands, variable.ReplaceAllString(command, `"'$1'"`))
	}
	return commands
}

// variable matches a variable of the shell in JSON.
var variable = regexp.MustCompile(`"(\$uid[0-9]+)"`)

// stays reports whether an object is in the new form too.
func (p *planner) stays(o *dump.Object) bool {
	return slices.ContainsFunc(p.result.Objects, func(c Compared) bool {
		return c.Object == o.Identity() && c.Verdict != ClusterOnly
	}) && !slices.Contains(ofOLM, o.Kind)
}

// merging returns the command that sets one field.
func merging(resource, parent, field string, value any) string {
	return "kubectl patch " + resource + " --type=merge -p " +
		patch(map[string]any{parent: map[string]any{field: value}})
}

// patch returns a patch as an argument of kubectl.
func patch(value map[string]any) string {
	data, _ := json.Marshal(value) // of a dump, which was JSON
	return Quote(string(data))
}

// removal returns the command that removes an item of a list, if it is still the one that the dump has.
func removal(o *dump.Object, path, field, value string) string {
	return fmt.Sprintf(`kubectl patch %s --type=json -p `+
		`'[{"op":"test","path":"%s%s","value":%q},{"op":"remove","path":"%s"}]'`, resource(o), path, field, value, path)
}

// deletion returns the command that deletes an object. It may run twice: an object that is gone is no error.
func deletion(resource string) string { return "kubectl delete " + resource + " --ignore-not-found" }

// orphaning is deletion that leaves what the object owns.
func orphaning(resource string) string { return deletion(resource) + " --cascade=orphan" }

// subscriptions removes what OLM would install again.
func (p *planner) subscriptions(operators []*Operator) {
	s := Step{Title: "Remove InstallPlans and Subscriptions", Who: byAdmin,
		Text: []string{"OLM would install an operator again that has a Subscription. " +
			"The InstallPlans go first: a Subscription owns them."},
		Undo: p.subscribed(operators)}
	var namespaces []string
	for _, o := range operators {
		if !slices.Contains(namespaces, o.Group.Namespace) && p.takesWhole(o.Group, operators) {
			namespaces = append(namespaces, o.Group.Namespace)
		}
	}
	for _, plan := range p.state.Dump.OfKind("InstallPlan") {
		if slices.Contains(namespaces, plan.Namespace) {
			s.Run = append(s.Run, orphaning(resource(plan)))
		}
	}
	for _, o := range operators {
		if sub := o.Subscription; sub != nil {
			s.Run = append(s.Run, orphaning(fmt.Sprintf("-n %s subscriptions.operators.coreos.com %s",
				Quote(sub.Namespace), Quote(sub.Name))))
		}
	}
	if len(s.Run) > 0 {
		p.add(s)
	}
}

// subscribed returns the commands that bring Subscriptions back. OLM resolves nothing as long as a CSV belongs to no
// Subscription ("exists and is not referenced by a subscription"), and looks for that at status.installedCSV.
func (p *planner) subscribed(operators []*Operator) []string {
	commands := []string{applied("before-subscriptions")}
	for _, o := range operators {
		if sub := o.Subscription; sub != nil {
			status := map[string]any{"state": v1alpha1.SubscriptionStateAtLatest, "currentCSV": o.CSV.Name,
				"installedCSV": o.CSV.Name, "lastUpdated": sub.Status.LastUpdated}
			commands = append(commands, fmt.Sprintf("kubectl patch -n %s subscriptions.operators.coreos.com %s "+
				"--subresource=status --type=merge -p %s", Quote(sub.Namespace), Quote(sub.Name),
				patch(map[string]any{"status": status})))
		}
	}
	return commands
}

// takesWhole reports whether all operators of a group are taken.
func (p *planner) takesWhole(g *Group, operators []*Operator) bool {
	return !slices.ContainsFunc(g.Operators, func(o *Operator) bool { return !slices.Contains(operators, o) })
}

// finalizers removes OLM's finalizer: with OLM down, a delete would hang.
func (p *planner) finalizers(operators []*Operator) {
	s := Step{Title: "Remove the finalizers", Who: byAdmin,
		Text: []string{"With OLM down, nobody answers the finalizer, and the deletion of a CSV would hang."}}
	for _, o := range operators {
		at := slices.Index(o.CSV.Finalizers, finalizer)
		if at < 0 {
			continue
		}
		s.Run = append(s.Run, removal(o.Object, fmt.Sprintf("/metadata/finalizers/%d", at), "", finalizer))
		s.Undo = append(s.Undo, merging(resource(o.Object), "metadata", "finalizers", o.CSV.Finalizers))
	}
	if len(s.Run) > 0 {
		p.add(s)
	}
}

// remove deletes the CSVs, and nothing with them.
func (p *planner) remove(operators []*Operator) {
	s := Step{Title: "Delete the ClusterServiceVersions", Who: byAdmin, Irreversible: true,
		Text: []string{"This is the point: before it, the undo of each step, from the last to the first, leads " +
			"back. After it, OLM does not know the operators.",
			"--cascade=orphan leaves everything that still refers to them.",
			"The way back applies before/ and before-subscriptions/ and tells OLM what is installed. OLM takes the " +
				"objects for its own again, and restarts no pod. CSVs, Subscriptions and OperatorGroups have other " +
				"UIDs then, so webhooks select no namespace for the seconds that OLM needs to label the namespaces."}}
	if p.migrates() {
		s.Text = append(s.Text, migratedToo)
	}
	for _, o := range operators {
		for _, c := range p.state.Dump.OfKind("ClusterServiceVersion") {
			if c.Name == o.CSV.Name && c.Labels["olm.copiedFrom"] == o.Group.Namespace {
				s.Run = append(s.Run, orphaning(resource(c)))
			}
		}
		s.Run = append(s.Run, orphaning(resource(o.Object)))
	}
	s.Check = []string{"kubectl get deployments -A -l olm.managed=true"}
	s.WayBack = slices.Concat(p.scales(true), []string{applied("before")}, p.ownedAgain(operators),
		p.subscribed(operators), p.scales(false))
	p.add(s)
}

// olmObjects deletes what is left of OLM's own, and what nothing that is rendered needs. If OLM v1 runs the other
// operators by then, their objects are only in the cluster too: nothing is deleted but what is surely of these
// operators.
func (p *planner) olmObjects(operators []*Operator) {
	own := Step{Title: "Delete what only OLM used", Who: byAdmin,
		Text: []string{"These objects are OLM's own, or have another name in the new form. Nothing that is " +
			"rendered needs them."}}
	orphans := Step{Title: "Delete what earlier versions left behind", Who: byAdmin,
		Text: []string{"OLM never removes these. Deleting a CRD deletes its objects: look at them first."}}
	for _, c := range p.result.Objects {
		o := p.state.Dump.Get(split(c.Object))
		switch {
		case c.Verdict != ClusterOnly || o == nil || o.Kind == "ClusterServiceVersion":
		case p.migrates() && !owned(o, operators):
		case strings.HasPrefix(c.Reason, "orphan") && o.Kind == "CustomResourceDefinition":
			orphans.Run = append(orphans.Run, "# "+deletion(resource(o))+" # and all its objects")
		case strings.HasPrefix(c.Reason, "orphan"):
			orphans.Run = append(orphans.Run, deletion(resource(o)))
		default:
			own.Run = append(own.Run, deletion(resource(o)))
		}
	}
	for _, g := range p.state.Groups {
		here := func(o *Operator) bool { return o.Group == g }
		if slices.ContainsFunc(operators, here) && p.takesWhole(g, operators) {
			own.Run = append(own.Run, deletion(resource(g.Object)))
		}
	}
	if p.migrates() {
		own.Text = append(own.Text, "What no label and no ownerReference gives to one of these operators stays.")
	}
	for _, s := range []Step{own, orphans} {
		if len(s.Run) > 0 {
			p.add(s)
		}
	}
}

// split returns kind, namespace and name of an identity.
func split(identity string) (kind, namespace, name string) {
	kind, name, _ = strings.Cut(identity, " ")
	if ns, n, ok := strings.Cut(name, "/"); ok {
		return kind, ns, n
	}
	return kind, "", name
}
