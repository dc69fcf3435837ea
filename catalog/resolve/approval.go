package resolve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// approval reports whether the InstallPlan that leads from s to next waits for a person. It does not if approval is
// automatic or OperatorPolicies approve it (config-policy-controller: controllers/operatorpolicy_controller.go,
// getRemainingCSVApprovals). It is withheld if spec.versions of an OperatorPolicy does not allow it.
func (s *State) approval(step *Step, next *State) (waits, withheld bool) {
	if s.manual() == nil {
		return false, false
	}
	allowed := map[string]bool{}
	for _, sub := range s.Subscriptions {
		now := next.find(func(n *Subscription) bool { return n.Name == sub.Name })
		if sub.policy != nil && sub.policy.Approves(now.CurrentCSV, sub.InstalledCSV == "") {
			step.approve(now.CurrentCSV, allowed)
		}
	}
	waits = slices.ContainsFunc(step.CSVs, func(p Planned) bool { return !allowed[p.Name] })
	return waits, waits && slices.ContainsFunc(step.Subscriptions, func(m Move) bool {
		p := s.policyOf(m)
		return p != nil && !p.Allows(m.To)
	})
}

// approve adds a CSV, and those of the packages, not the APIs, that it requires (getBundleDependencies).
func (s *Step) approve(csv string, allowed map[string]bool) {
	i := slices.IndexFunc(s.CSVs, func(p Planned) bool { return p.Name == csv })
	if i < 0 || allowed[csv] {
		return
	}
	allowed[csv] = true
	for _, p := range s.CSVs[i].Bundle().Properties {
		if p.Type != olm.PropertyPackageRequired {
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

// policyOf returns the OperatorPolicy that manages the Subscription of a move, or nil.
func (s *State) policyOf(m Move) *olm.OperatorPolicy {
	return s.find(func(sub *Subscription) bool { return sub.Name == m.Name }).policy
}

// byPolicy reports why an OperatorPolicy does not approve that a Subscription of it moves.
func (j *judge) byPolicy(s *State, sub *Subscription, to string) {
	p := sub.policy
	name := fmt.Sprintf("%s (%s:%d)", p.Object.Identity(), p.Object.File, p.Object.Line)
	level, hint := findings.Note, sub.approve(s.Namespace)
	if sub.InstalledCSV == "" {
		level = findings.Warning // nothing is installed
	}
	message := "does not approve the InstallPlan that installs " + to + ": "
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
		message += "no OperatorPolicy approves all of " + text.And(j.result.Waiting.beside(to)) +
			", which the same InstallPlan installs"
	}
	j.add(ruleApproval, level, subscriptionObject(s, sub.Name), hint, "%s %s", name, message)
}

// approve returns how the InstallPlan of a Subscription is approved. The objects may have one that is done with, and
// then OLM has yet to make the next one.
func (s *Subscription) approve(namespace string) string {
	which, name := "the InstallPlan that status.installPlanRef of Subscription "+s.Name+" names",
		fmt.Sprintf(`"$(kubectl -n %s get subscriptions.operators.coreos.com %s `+
			`-o jsonpath={.status.installPlanRef.name})"`, namespace, s.Name)
	switch s.plan {
	case v1alpha1.InstallPlanPhaseRequiresApproval:
		which, name = "InstallPlan "+s.planName, s.planName
	case v1alpha1.InstallPlanPhaseComplete, v1alpha1.InstallPlanPhaseFailed:
		which += " when OLM has made it"
	}
	return fmt.Sprintf(`approve %s: kubectl -n %s patch installplan %s --type merge -p '{"spec":{"approved":true}}'`,
		which, namespace, name)
}
