package predict

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/manifest"
)

// outcomes are the rules about what becomes of a cluster, beside the reasons that OLM sets and those of its resolver.
// The others are about how a tree is written.
var outcomes = []findings.Rule{ruleSeveralGroups, ruleNoGroup, ruleAccount, ruleTargets, ruleSource, ruleDisabled,
	rulePolicy, ruleDeployment, ruleFailed, ruleIgnored, ruleWaiting, ruleReplaced, rulePlanFails, ruleCopied,
	ruleExtension, ruleExtensionUnknown, ruleCollision, ruleIgnoredField, ruleChance, upgrade.RuleConversion,
	upgrade.RuleDefinition, upgrade.RuleAccount, ruleStays, ruleRecovers}

// Outcomes returns the rules of what a comparison of two played clusters says.
func Outcomes() []findings.Rule { return slices.Concat(reasons(), resolve.Rules(), outcomes) }

// Changes returns what becomes of a cluster after a change, and did not become of it before: what OLM says, operators
// that work again, and what stays of those that nobody asks for any more.
func Changes(before, after *Report) (list []findings.Finding) {
	rules := lists.Set(Outcomes(), func(r findings.Rule) string { return r.ID })
	said := lists.Set(before.Findings, outcome)
	for _, f := range after.Findings {
		if rules[f.Rule] && (f.Level != findings.Note || f.Rule == ruleIgnoredField.ID) && !said[outcome(f)] {
			list = append(list, f)
		}
	}
	was := lists.By(before.CSVs, CSV.key)
	for _, v := range after.CSVs {
		old, known := was[v.key()]
		if known && old.Phase != "" && v.Phase == string(v1alpha1.CSVPhaseSucceeded) && old.Reason != v.Reason &&
			old.Phase != v.Phase {
			list = append(list, findings.Finding{Rule: ruleRecovers.ID, Level: findings.Info, File: v.File,
				Line:   v.Line,
				Object: v.identity(), Message: fmt.Sprintf("it would now succeed; before, it is %s (%s)", old.Phase,
					old.Reason)})
		}
	}
	return append(list, orphaned(before, after)...)
}

// outcome is what a finding says, wherever it stands.
func outcome(f findings.Finding) [3]string { return [3]string{f.Rule, f.Object, f.Message} }

// orphaned returns the operators that OLM leaves when the Subscription or the OperatorPolicy that asks for them goes:
// neither is the owner of a ClusterServiceVersion (OLM: pkg/controller/registry/resolver/steps.go, NewStepsFromBundle).
func orphaned(before, after *Report) (list []findings.Finding) {
	remaining := lists.By(after.CSVs, CSV.key)
	for _, s := range before.Subscriptions {
		of := func(o SubscriptionState) bool { return o.Namespace == s.Namespace && o.InstalledCSV == s.InstalledCSV }
		if csv, there := remaining[s.Namespace+"/"+s.InstalledCSV]; s.InstalledCSV == "" || !there ||
			slices.ContainsFunc(after.Subscriptions, of) {
			continue
		} else if csv.Phase == string(v1alpha1.CSVPhaseReplacing) || csv.Phase == string(v1alpha1.CSVPhaseDeleting) {
			continue
		}
		gone := !slices.ContainsFunc(after.Subscriptions, func(o SubscriptionState) bool {
			return o.Namespace == s.Namespace && o.Name == s.Name
		})
		message := "it asks for another operator now"
		if gone {
			message = "it is deleted, and nothing else"
		}
		list = append(list, about(ruleStays, s.object, "%s: ClusterServiceVersion %s/%s stays with its Deployments, "+
			"permissions and CRDs, and nothing updates it any more; to remove the operator, delete the "+
			"ClusterServiceVersion",
			message, s.Namespace, s.InstalledCSV))
	}
	for _, e := range before.Extensions {
		same := func(other *PlayedExtension) bool { return other.Name == e.Name }
		if e.Bundle != "" && e.Refused == "" && !slices.ContainsFunc(after.Extensions, same) {
			list = append(list, about(ruleLost, e.object, "it is deleted with what OLM v1 made of %s, and with each "+
				"custom resource of its CRDs: %s", e.Bundle, text.FirstOf(5, lists.Unique(lists.Map(e.owns, shown)))))
		}
	}
	for _, p := range before.policies {
		acts := func(o *olm.OperatorPolicy) bool {
			return o.Acts() && o.Namespace == p.Namespace && o.Package == p.Package
		}
		if p.Installs() && !slices.ContainsFunc(after.policies, acts) {
			same := func(o *olm.OperatorPolicy) bool { return o.Object.Identity() == p.Object.Identity() }
			list = append(list, policyStays(p, lists.Find(after.policies, same)))
		}
	}
	return list
}

func (v CSV) key() string { return v.Namespace + "/" + v.Name }

func (v CSV) identity() string { return v1alpha1.ClusterServiceVersionKind + " " + v.key() }

// policyStays returns that an OperatorPolicy which is deleted, or acts no more, takes nothing with it. now is nil if it
// is deleted.
func policyStays(p, now *olm.OperatorPolicy) findings.Finding {
	ends := "it is deleted, and nothing else"
	if now != nil {
		ends = "it installs nothing any more"
	}
	then := "nobody approves its InstallPlans any more"
	if p.Automatic && len(p.Versions) == 0 {
		then = "OLM updates it still"
	}
	return about(ruleStays, p.Object, "%s: its OperatorGroup, Subscription %s/%s and what OLM has installed for it "+
		"stay, and %s", ends, p.Namespace, p.Package, then)
}

func about(rule findings.Rule, o *manifest.Object, format string, args ...any) findings.Finding {
	file, line := o.PlaceOf("")
	return findings.Finding{Rule: rule.ID, Level: findings.Warning, File: file, Line: line, Object: o.Identity(),
		Message: fmt.Sprintf(format, args...)}
}
