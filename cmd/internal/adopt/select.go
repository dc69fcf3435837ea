package adopt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Selection chooses operators. Packages and Except have names of packages or of CSVs. Empty lists choose all.
type Selection struct {
	Packages   []string
	Namespaces []string
	Except     []string
}

// Select returns the state in which the operators that are not chosen stay with OLM. An unknown name is an error.
func (s *State) Select(choice Selection) (*State, error) {
	namespaces := lists.Map(s.Groups, func(g *Group) string { return g.Namespace })
	for _, name := range slices.Concat(choice.Packages, choice.Except) {
		if err := s.CheckName(name); err != nil {
			return nil, err
		}
	}
	for _, ns := range choice.Namespaces {
		if !slices.Contains(namespaces, ns) {
			return nil, manifest.WithHint(fmt.Errorf("namespace %s has no operator", ns),
				"there are some in "+text.And(namespaces))
		}
	}
	out := s.keep(choice.has)
	out.choice = choice
	return out, nil
}

// has reports whether an operator is chosen.
func (c Selection) has(o *Operator) bool {
	return (len(c.Packages) == 0 || slices.ContainsFunc(c.Packages, o.named)) &&
		!slices.ContainsFunc(c.Except, o.named) &&
		(len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, o.Group.Namespace))
}

// namespaces returns those of the chosen operators; nil if operators are chosen in all namespaces.
func (c Selection) namespaces(all []*Operator) map[string]bool {
	if len(c.Packages)+len(c.Namespaces) == 0 {
		return nil
	}
	return lists.Set(lists.Filter(all, c.has), func(o *Operator) string { return o.Group.Namespace })
}

// CheckName refuses a name that is not that of an operator's package or CSV. The hint has the names that are.
func (s *State) CheckName(name string) error {
	names := s.packages()
	if len(names) == 0 {
		return s.checkSome()
	}
	for _, o := range s.every() {
		for _, old := range s.replaced[o.CSV.Name] {
			if old.Name == name {
				return manifest.WithHint(fmt.Errorf("%s is about to be replaced by %s", name, o.CSV.Name),
					"dump again when the upgrade is done")
			}
		}
		if o.named(name) {
			return nil
		}
		if base := olm.BaseName(name, ""); base != name && base == olm.BaseName(o.CSV.Name, "") {
			names = []string{o.CSV.Name}
		}
	}
	return manifest.WithHint(fmt.Errorf("the cluster has no operator %q", name), "it has "+text.And(names))
}

func (s *State) checkSome() error {
	switch {
	case len(s.packages()) == 0:
		return manifest.WithHint(errors.New("the dump has no operator that OLM installed"),
			"see the findings, and check that the dump has ClusterServiceVersions and OperatorGroups")
	case len(s.All()) == 0 && len(s.refusedOf(s.notAdopted())) == 0:
		return manifest.WithHint(errors.New("every operator of the dump is left out"), "it has "+text.And(s.packages()))
	}
	return nil
}

// Only returns the state in which all other operators stay with OLM.
func (s *State) Only(operators []*Operator) *State {
	return s.keep(func(o *Operator) bool { return slices.Contains(operators, o) })
}

// Refuse returns the state in which an operator is not adopted for a reason, which is a finding. It marks the operator.
func (s *State) Refuse(operator *Operator, reason string) *State {
	operator.Refused = reason
	out := s.keep(func(o *Operator) bool { return o.Refused == "" })
	out.Findings = slices.Clone(s.Findings)
	out.reportRefused(operator)
	findings.Sort(out.Findings)
	return out
}

func (s *State) reportRefused(o *Operator) {
	s.report("refused", findings.Error, o.Object, "", "it is not adopted: "+o.Refused,
		"the file has it as a comment; repair it, or leave out "+o.Package)
}

// keep returns the state in which the operators that are not kept stay with OLM.
func (s *State) keep(kept func(*Operator) bool) *State {
	out := *s
	out.Groups = nil
	for _, g := range s.Groups {
		part := *g
		part.Operators, part.Others = nil, slices.Clone(g.Others)
		for _, o := range g.Operators {
			if kept(o) {
				part.Operators = append(part.Operators, o)
			} else {
				part.Others = append(part.Others, o)
			}
		}
		out.Groups = append(out.Groups, &part)
	}
	return &out
}

// All returns the operators that are adopted.
func (s *State) All() []*Operator {
	return slices.Concat(lists.Map(s.Groups, func(g *Group) []*Operator { return g.Operators })...)
}

func (s *State) notAdopted() []*Operator {
	return slices.Concat(lists.Map(s.Groups, func(g *Group) []*Operator { return g.Others })...)
}

// every returns the operators that are adopted and then those that are not.
func (s *State) every() []*Operator { return slices.Concat(s.All(), s.notAdopted()) }

// named reports whether a name is that of the operator's package or of its CSV.
func (o *Operator) named(name string) bool { return name == o.Package || name == o.CSV.Name }

// Adopts reports whether an operator is not one of those that stay with OLM.
func (s *State) Adopts(namespace, csv string) bool {
	return !slices.ContainsFunc(s.notAdopted(), func(o *Operator) bool {
		return o.Group.Namespace == namespace && o.CSV.Name == csv
	})
}

func (s *State) packages() []string {
	return slices.Sorted(maps.Keys(lists.Set(s.every(), func(o *Operator) string { return o.Package })))
}

// OLM's reasons for which a CSV fails because of its OperatorGroup: it runs nothing of the operator (OLM:
// pkg/controller/operators/olm/operator.go, transitionCSVState).
var groupReasons = []v1alpha1.ConditionReason{v1alpha1.CSVReasonNoOperatorGroup,
	v1alpha1.CSVReasonTooManyOperatorGroups, v1alpha1.CSVReasonUnsupportedOperatorGroup,
	v1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
	v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs}

// refusal returns why an operator cannot be rendered as it is in the cluster, as far as the dump tells.
func (o *Operator) refusal() string {
	status := o.CSV.Status
	if status.Phase == v1alpha1.CSVPhaseFailed && slices.Contains(groupReasons, status.Reason) {
		return fmt.Sprintf("OLM does not run it (%s): %s", status.Reason, oneLine(status.Message))
	}
	if status.Phase == v1alpha1.CSVPhaseSucceeded || len(o.Group.Targets) == 0 {
		return ""
	}
	modes := v1alpha1.InstallModeSet{}
	for _, m := range o.CSV.Spec.InstallModes {
		modes[m.Type] = m.Supported
	}
	if err := modes.Supports(o.Group.Namespace, o.Group.Targets); err != nil {
		return "the CSV does not support its OperatorGroup: " + err.Error()
	}
	return ""
}

// dependsOn returns what an operator needs that another one brings; "" if there is nothing. Which other operator could
// bring it does not matter: OLM's resolver may choose the package again.
func (o *Operator) dependsOn(other *Operator) string {
	for _, a := range olm.RequiredAPIs(&o.CSV.Spec) {
		if other.owns(a.Object()) {
			return a.Object()
		}
	}
	for _, p := range o.properties() {
		if !p.Requires() {
			continue
		}
		var value any
		_ = json.Unmarshal(p.Value, &value) // one that is missing names nothing
		if other.meets(value) {
			return p.Type + " " + string(p.Value)
		}
	}
	return ""
}

// meets reports whether the value of a property names the operator's package or an API that it owns, at any depth.
func (o *Operator) meets(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return v["packageName"] == o.Package || lists.Any(maps.Values(v), o.meets) ||
			slices.ContainsFunc(olm.OwnedAPIs(&o.CSV.Spec), func(a olm.API) bool {
				return v["group"] == a.Group && v["kind"] == a.Kind
			})
	case []any:
		return slices.ContainsFunc(v, o.meets)
	}
	return false
}

// checkReturns refuses to take an operator away that OLM would install again, or run elsewhere, for what stays.
func (d *departure) checkReturns() error {
	for _, o := range d.operators {
		if why, hint := d.returns(o); why != "" {
			return manifest.WithHint(errors.New(oneLine(why)), hint)
		}
	}
	return nil
}

// returns reports what makes OLM install an operator again, and what to do about it; "" if the dump has no such thing.
// OLM resolves a namespace as long as a Subscription is there, for all CSVs in it.
func (d *departure) returns(o *Operator) (why, hint string) {
	const again = "%s stays%s: OLM would install %s again"
	resolved := false
	for _, sub := range d.state.subscriptions {
		if sub.object.Namespace != o.Group.Namespace || d.about(sub.object) {
			continue
		}
		if resolved = true; sub.Spec.Package == o.Package {
			return fmt.Sprintf(again, sub.object.Identity(), ", and is for package "+o.Package+" too", o.CSV.Name),
				"delete it, and dump again"
		}
	}
	for _, plan := range d.state.installPlans {
		over := []v1alpha1.InstallPlanPhase{v1alpha1.InstallPlanPhaseComplete, v1alpha1.InstallPlanPhaseFailed}
		if plan.Namespace == o.Group.Namespace && !d.takesWhole(o.Group) &&
			!slices.Contains(over, plan.phase) && (o.next(plan) || slices.Contains(plan.names, o.CSV.Name)) {
			return fmt.Sprintf(again, plan.Identity(), ", and installs "+text.And(plan.names), o.Package),
				"approve or delete it, and dump again"
		}
	}
	for _, other := range d.state.notAdopted() {
		need, sameNamespace := other.dependsOn(o), other.Group.Namespace == o.Group.Namespace
		switch {
		case need != "" && resolved && sameNamespace:
			return fmt.Sprintf(again, other.CSV.Name, " with OLM and needs "+need+" of "+o.CSV.Name, "that"),
				"move both, or neither"
		case other.CSV.Status.Reason == v1alpha1.CSVReasonInterOperatorGroupOwnerConflict &&
			slices.ContainsFunc(olm.OwnedAPIs(&o.CSV.Spec), func(a olm.API) bool { return other.owns(a.Object()) }):
			return fmt.Sprintf("%s stays with OLM, which does not run it because of %s: OLM would run it beside that",
				other.Object.Identity(), o.CSV.Name), "delete it and its Subscription, and dump again"
		}
	}
	return "", ""
}

// unknownNeeds names the Subscriptions beside operators that have installed nothing, for which OLM may install one
// again: the dump does not say what their packages need.
func (d *departure) unknownNeeds() (list []string) {
	for _, g := range d.state.Groups {
		leaving := lists.Filter(g.Operators, func(o *Operator) bool { return slices.Contains(d.operators, o) })
		if len(leaving) > 0 && len(g.Waiting) > 0 {
			list = append(list, oneLine(fmt.Sprintf("Subscription %s in namespace %s has installed nothing: if it "+
				"needs %s, OLM installs that again", text.And(g.Waiting), g.Namespace,
				text.Or(lists.Map(leaving, func(o *Operator) string { return o.CSV.Name })))))
		}
	}
	return list
}

// waiting notes the Subscriptions that have installed no operator of the dump.
func (s *State) waiting(groups map[string]*Group) {
	for _, sub := range s.subscriptions {
		if slices.ContainsFunc(s.installed, func(o *Operator) bool { return o.Subscription == sub.Subscription }) {
			continue
		}
		installed := sub.Status.InstalledCSV
		if first := s.installer(sub); first != nil {
			why := oneLine(fmt.Sprintf("%s has installed %s too", first.subscription(), installed))
			if installed == "" {
				why = oneLine(fmt.Sprintf("%s has installed %s of the same package", first.subscription(),
					first.CSV.Name))
			}
			s.Waiting = append(s.Waiting, oneLine(sub.object.Identity()+": package "+sub.Spec.Package+": "+why+"."))
			first.Group.Waiting = append(first.Group.Waiting, sub.object.Name)
			s.report("second-subscription", findings.Warning, sub.object, "status.installedCSV",
				why+", so this one is left out", "delete one of the two, and dump again")
			continue
		}
		if s.Dump.Get(v1alpha1.ClusterServiceVersionKind, sub.object.Namespace, installed) != nil {
			continue // another finding says why it is left out
		}
		if g := groups[sub.object.Namespace]; g != nil {
			g.Waiting = append(g.Waiting, sub.object.Name)
		}
		why, remedy := s.whatFor(sub)
		has, level, what := "no ClusterServiceVersion", findings.Warning, "nothing: "+why
		hint := remedy + ", or delete the Subscription, and dump again; the file has it as a comment"
		if there := s.unowned(sub); installed != "" {
			level, what, hint = findings.Error, oneLine(installed)+", which the dump does not have",
				"dump with the right to read ClusterServiceVersions"
		} else if there != nil {
			has = "ClusterServiceVersion " + there.CSV.Name + ", which no Subscription has installed"
			hint = "OLM resolves nothing in the namespace until one of the two is deleted: delete the Subscription, " +
				"and dump again; the file has it as a comment"
		}
		s.Waiting = append(s.Waiting, oneLine(fmt.Sprintf("%s: package %s has %s (%s).", sub.object.Identity(),
			sub.Spec.Package, has, why)))
		s.report("no-csv", level, sub.object, "status.installedCSV", "it has installed "+what, hint)
	}
}

// unowned returns the operator of a Subscription's package that no Subscription has installed; nil if there is none.
func (s *State) unowned(sub *subscription) *Operator {
	return lists.Find(s.installed, func(o *Operator) bool {
		return o.Subscription == nil && o.Group.Namespace == sub.object.Namespace && o.Package == sub.Spec.Package
	})
}

// installer returns the operator that a Subscription says it has installed, or that is of its package if it has
// installed nothing, if another one has installed it; or nil.
func (s *State) installer(sub *subscription) *Operator {
	return lists.Find(s.installed, func(o *Operator) bool {
		name := sub.Status.InstalledCSV
		return o.Subscription != nil && o.Group.Namespace == sub.object.Namespace &&
			(o.CSV.Name == name || name == "" && o.Package == sub.Spec.Package)
	})
}

func (o *Operator) state() string {
	status := o.CSV.Status
	out := cmp.Or(string(status.Phase), "new") + " (" + cmp.Or(string(status.Reason), "no reason") + ")"
	if status.Message != "" && status.Phase != v1alpha1.CSVPhaseSucceeded {
		out += ": " + oneLine(status.Message)
	}
	if failure := o.failure(); failure != nil && status.Phase != v1alpha1.CSVPhaseFailed {
		out += "; before that it was Failed (" + string(failure.Reason) + "): " + oneLine(failure.Message)
	}
	return out
}

// failure returns the last failure of an operator that has not succeeded since; nil if there is none. OLM installs what
// fails again and again.
func (o *Operator) failure() *v1alpha1.ClusterServiceVersionCondition {
	for _, c := range slices.Backward(o.CSV.Status.Conditions) {
		switch c.Phase {
		case v1alpha1.CSVPhaseSucceeded:
			return nil
		case v1alpha1.CSVPhaseFailed:
			return &c
		}
	}
	return nil
}

// whatFor returns why a Subscription has installed nothing, as OLM says it, and what to do.
func (s *State) whatFor(sub *subscription) (why, remedy string) {
	if n := lists.Count(s.Dump.OfKind(operatorsv1.OperatorGroupKind), func(o *dump.Object) bool {
		return o.Namespace == sub.object.Namespace
	}); n != 1 && s.Dump.Has(operatorsv1.OperatorGroupKind) {
		has, remedy := "no OperatorGroup", "add one"
		if n > 1 {
			has, remedy = text.Count(n, "OperatorGroup"), "keep one of them"
		}
		return "namespace " + sub.object.Namespace + " has " + has, remedy
	}
	const finish, repair = "let OLM finish", "repair what OLM says"
	if ref := sub.Status.InstallPlanRef; ref != nil {
		plan := &v1alpha1.InstallPlan{}
		if o := s.Dump.Get(v1alpha1.InstallPlanKind, sub.object.Namespace, ref.Name); o != nil {
			_ = o.Decode(plan) // one that cannot be read is an error when all are read
		}
		phase := plan.Status.Phase
		switch why = "InstallPlan " + ref.Name + " is " + said(plan); {
		case phase == v1alpha1.InstallPlanPhaseRequiresApproval:
			return why, "approve it"
		case strings.HasSuffix(why, string(phase)) && phase != "":
			return why, finish
		case phase != "":
			return why, repair
		}
	}
	for _, c := range sub.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return string(c.Type) + ": " + c.Message, repair
		}
	}
	return "state " + cmp.Or(string(sub.Status.State), "unknown"), finish
}

// said returns the phase of an InstallPlan, and what OLM says about what hinders it.
func said(plan *v1alpha1.InstallPlan) string {
	return strings.TrimSuffix(string(plan.Status.Phase)+": "+olm.PlanHindered(&plan.Status), ": ")
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
	waits = append(waits, lists.Map(s.going(s.All()), func(o *dump.Object) string {
		return o.Identity() + " is being deleted since " + o.DeletionTimestamp
	})...)
	if len(waits) == 0 {
		return nil
	}
	slices.Sort(waits)
	return manifest.WithHint(errors.New("OLM has not settled: "+strings.Join(slices.Compact(waits), "; ")),
		"wait or repair, make a new dump, and then the plan; or leave out what waits, with --except")
}

// next reports whether an InstallPlan is that of the next release of an operator.
func (o *Operator) next(plan installPlan) bool {
	sub := o.Subscription
	return sub != nil && sub.Status.CurrentCSV != o.CSV.Name && plan.Namespace == o.Group.Namespace &&
		slices.Contains(plan.names, sub.Status.CurrentCSV)
}

// runningPlans returns the InstallPlans that install for the Subscription of an operator right now.
func (s *State) runningPlans(o *Operator) (waits []string) {
	for _, plan := range s.installPlans {
		running := []v1alpha1.InstallPlanPhase{v1alpha1.InstallPlanPhasePlanning, v1alpha1.InstallPlanPhaseInstalling}
		if slices.Contains(running, plan.phase) && o.next(plan) {
			waits = append(waits, plan.Identity()+" is "+plan.said)
		}
	}
	return waits
}

// approvals name the updates that wait for somebody to approve them, and what becomes of them.
func (s *State) approvals(leaving []*Operator) (list []string) {
	for _, plan := range s.installPlans {
		waits := lists.Filter(s.All(), func(o *Operator) bool { return o.next(plan) })
		if len(waits) == 0 || plan.phase != v1alpha1.InstallPlanPhaseRequiresApproval {
			continue
		}
		then := "it goes on to wait, and OLM installs it when somebody approves it"
		if slices.ContainsFunc(waits, func(o *Operator) bool { return slices.Contains(leaving, o) }) {
			then = "the plan deletes it, and the update is left to Git; to have it first, approve it, and plan again " +
				"from a new dump"
		}
		list = append(list, oneLine(fmt.Sprintf("%s waits for approval of %s: %s", plan.Identity(),
			text.And(plan.names), then)))
	}
	return list
}

// held names the finalizers, beside OLM's and Kubernetes' own, of what a plan deletes: a delete ends when their owners
// take them away, some of which may wait for OLM.
func (s *State) held(leaving []*Operator) (list []string) {
	t := newTies(s, leaving)
	own := []string{olm.Finalizer, metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for _, o := range s.Dump.Objects {
		other := lists.Filter(o.Finalizers, func(f string) bool { return !slices.Contains(own, f) })
		if len(other) > 0 && (t.about(o) || slices.Contains(ofOLM, o.Kind) && t.takesNamespace(o.Namespace)) {
			list = append(list, oneLine(o.Identity()+" has the finalizer "+text.And(other)+": its delete ends when "+
				"the owner of that takes it away, and OLM is down meanwhile"))
		}
	}
	return list
}

// certified reports whether an operator has webhooks or APIs of its own, for which OLM makes certificates.
func (o *Operator) certified() bool {
	return len(o.CSV.Spec.WebhookDefinitions)+len(o.CSV.Spec.APIServiceDefinitions.Owned) > 0
}
