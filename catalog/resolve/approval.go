package resolve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// approval is what happens to an InstallPlan.
type approval int

const (
	approved approval = iota // nobody has to approve it, or OperatorPolicies do
	awaited                  // somebody has to approve it
	withheld                 // spec.versions of an OperatorPolicy does not allow it
)

// approval returns what happens to the InstallPlan that leads from s to next.
func (s *State) approval(step *Step, next *State) approval {
	if s.manual() == nil {
		return approved
	}
	allowed := s.approvedByPolicies(step, next)
	if !slices.ContainsFunc(step.CSVs, func(p Planned) bool { return !allowed[p.Name] }) {
		return approved
	}
	for _, m := range step.Subscriptions {
		if p := s.policyOf(m); p != nil && !p.Allows(m.To) {
			return withheld
		}
	}
	return awaited
}

// approvedByPolicies returns the CSVs that the OperatorPolicies of the namespace approve (config-policy-controller:
// controllers/operatorpolicy_controller.go, getRemainingCSVApprovals).
func (s *State) approvedByPolicies(step *Step, next *State) map[string]bool {
	allowed := map[string]bool{}
	for _, sub := range s.Subscriptions {
		now := next.find(func(n *Subscription) bool { return n.Name == sub.Name })
		if sub.policy != nil && sub.policy.Approves(now.CurrentCSV, sub.InstalledCSV == "") {
			step.approve(now.CurrentCSV, allowed)
		}
	}
	return allowed
}

// approve adds a CSV, and those of the packages that it requires (getBundleDependencies). What it requires by an API is
// not one of these.
func (s *Step) approve(csv string, allowed map[string]bool) {
	i := slices.IndexFunc(s.CSVs, func(p Planned) bool { return p.Name == csv })
	if i < 0 || allowed[csv] {
		return
	}
	allowed[csv] = true
	for _, p := range s.CSVs[i].Bundle().Properties {
		if p.Type != catalog.TypePackageRequired {
			continue
		}
		var required catalog.PackageRequired
		_ = json.Unmarshal(p.Value, &required) // OLM plans nothing with a requirement that it cannot read
		for _, other := range s.CSVs {
			if other.Package == required.PackageName {
				s.approve(other.Name, allowed)
			}
		}
	}
}

// Automatic reports whether an OperatorPolicy manages the Subscription and approves its updates.
func (s Subscription) Automatic() bool { return s.policy != nil && s.policy.Automatic }

// policyOf returns the OperatorPolicy that manages the Subscription of a move, which the state has; nil if there is
// none.
func (s *State) policyOf(m Move) *olm.OperatorPolicy {
	return s.find(func(sub *Subscription) bool { return sub.Name == m.Name }).policy
}

// managed reports whether an InstallPlan moves a Subscription that an OperatorPolicy manages.
func (s *State) managed(step *Step) bool {
	return slices.ContainsFunc(step.Subscriptions, func(m Move) bool { return s.policyOf(m) != nil })
}

// byPolicy reports why an OperatorPolicy does not approve that a Subscription of it moves.
func (j *judge) byPolicy(s *State, sub *Subscription, to string) {
	p := sub.policy
	name := fmt.Sprintf("%s (%s:%d)", p.Object.Identity(), p.Object.File, p.Object.Line)
	level, hint := findings.Note, approve(sub.Name, s.Namespace)
	if sub.InstalledCSV == "" {
		level = findings.Warning // nothing is installed
	}
	message := "does not approve the InstallPlan that installs " + to + ": "
	var others []string
	for _, c := range j.result.Waiting.CSVs {
		if c.Name != to {
			others = append(others, c.Name)
		}
	}
	switch {
	case !p.Allows(to):
		message += "spec.versions does not name it"
		hint = "add it to spec.versions"
		if sub.InstalledCSV == "" {
			hint += ", or name a version of spec.versions in startingCSV"
		}
	case sub.InstalledCSV != "" && !p.Automatic:
		message += "its upgradeApproval is None"
	default:
		message += "no OperatorPolicy approves all of " + text.And(others) + ", which the same InstallPlan installs"
	}
	j.add(ruleApproval, level, subscriptionObject(s, sub.Name), hint, "%s %s", name, message)
}

// approve returns how an InstallPlan that the status of a Subscription names is approved.
func approve(subscription, namespace string) string {
	return fmt.Sprintf("approve the InstallPlan that status.installPlanRef of Subscription %[2]s names: "+
		`kubectl -n %[1]s patch installplan "$(kubectl -n %[1]s get subscriptions.operators.coreos.com %[2]s `+
		`-o jsonpath={.status.installPlanRef.name})" --type merge -p '{"spec":{"approved":true}}'`,
		namespace, subscription)
}
