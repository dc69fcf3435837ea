package predict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	rulePolicy, ruleDeployment, ruleFailed, ruleInstalling, ruleIgnored, ruleWaiting, ruleReplaced, rulePlanFails,
	ruleCopied, ruleExtension, ruleExtensionUnknown, ruleCollision, ruleIgnoredField, ruleChance,
	upgrade.RuleConversion,
	upgrade.RuleDefinition, upgrade.RuleAccount, ruleStays, ruleRecovers,
	ruleUnattended, ruleGoing, ruleSubscription, ruleInvalid, ruleUnsynced, ruleUnfit, ruleUnknownField,
	ruleVersion, ruleNoOperator}

// Outcomes returns the rules of what a comparison of two played clusters says.
func Outcomes() []findings.Rule { return slices.Concat(reasons(), resolve.Rules(), outcomes) }

// Changes returns what becomes of a cluster after a change, and did not become of it before: what OLM says, operators
// that work again, what stays of those that nobody asks for any more, and updates that nobody approves any more.
// standing is what OLM says of both.
func Changes(before, after *Report) (list, standing []findings.Finding) {
	rules := lists.Set(Outcomes(), func(r findings.Rule) string { return r.ID })
	released := unversioned(before, after)
	outcome := func(f findings.Finding) [3]string {
		return [3]string{f.Rule, released.Replace(f.Object), released.Replace(f.Message)}
	}
	said := lists.Set(before.Findings, outcome)
	for _, f := range after.Findings {
		switch {
		case !rules[f.Rule] || f.Level == findings.Note && f.Rule != ruleIgnoredField.ID:
		case said[outcome(f)]:
			standing = append(standing, f)
		default:
			namespace, _, _ := strings.Cut(strings.TrimPrefix(f.Object, v1alpha1.ClusterServiceVersionKind+" "), "/")
			if g := before.GroupOf(namespace); f.Rule == string(v1alpha1.CSVReasonNoOperatorGroup) && g.File != "" {
				f.File, f.Line = g.File, g.Line // the cause
			}
			list = append(list, f)
		}
	}
	was := lists.By(before.CSVs, CSV.key)
	for _, v := range after.CSVs {
		old, known := was[v.key()]
		if known && old.Phase != "" && v.Phase == string(v1alpha1.CSVPhaseSucceeded) && old.Reason != v.Reason &&
			old.Phase != v.Phase {
			list = append(list, findings.Finding{Rule: ruleRecovers.ID, Level: findings.Info, File: v.File,
				Line: v.Line, Object: v1alpha1.ClusterServiceVersionKind + " " + v.key(),
				Message: fmt.Sprintf("it would now succeed; before, it is %s (%s)", old.Phase, old.Reason)})
		}
	}
	return slices.Concat(list, orphaned(before, after), unattended(before, after)), standing
}

// unattended returns the Subscriptions whose InstallPlans waited for approval, and wait no more: one that is Manual has
// all of its namespace wait. An InstallPlan that is there stays as it is (OLM: pkg/controller/operators/catalog/
// operator.go, nothingToUpdate, transitionInstallPlanState).
func unattended(before, after *Report) (list []findings.Finding) {
	waits := func(r *Report) map[string]bool {
		manual := lists.Filter(r.Subscriptions, func(s SubscriptionState) bool { return Manual(s.object) })
		return lists.Set(manual, func(s SubscriptionState) string { return s.Namespace })
	}
	waited, wait := waits(before), waits(after)
	was := lists.Set(before.Subscriptions, func(s SubscriptionState) string { return s.object.Identity() })
	for _, s := range after.Subscriptions {
		if !waited[s.Namespace] || wait[s.Namespace] || !was[s.object.Identity()] {
			continue
		}
		still := ""
		of := func(u Update) bool { return u.Subscription.Identity() == s.object.Identity() }
		if p := lists.Find(before.Updates, func(u Update) bool { return u.Approval && of(u) }); p.Name != "" {
			still = "; the InstallPlan of " + p.Name + " that waits for approval still waits"
			if on := lists.Filter(after.Updates, of); len(on) > 1 {
				still += ", and then OLM goes on to " + on[len(on)-1].Name
			}
		}
		f := about(ruleUnattended, s.object, "its InstallPlans need no approval any more: OLM updates the operator as "+
			"soon as its catalog has an update%s", still)
		f.File, f.Line = s.object.PlaceOf("spec.installPlanApproval")
		list = append(list, f)
	}
	return list
}

// unversioned takes the versions from the names of ClusterServiceVersions of which the other side has another release:
// what is said of both releases is no change.
func unversioned(before, after *Report) *strings.Replacer {
	base := func(v CSV) string { return v.Namespace + "/" + olm.BaseName(v.Name, "") }
	var names []string
	for _, sides := range [][2][]CSV{{before.CSVs, after.CSVs}, {after.CSVs, before.CSVs}} {
		there, releases := lists.Set(sides[1], CSV.key), lists.Set(sides[1], base)
		for _, v := range sides[0] {
			if !there[v.key()] && releases[base(v)] {
				names = append(names, v.Name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, name := range slices.Compact(names) { // a longer name may begin with a shorter one, which counts later
		pairs = append(pairs, name, olm.BaseName(name, ""))
	}
	return strings.NewReplacer(pairs...)
}

// orphaned returns the operators that OLM leaves when the Subscription or the OperatorPolicy that asks for them goes:
// neither is the owner of a ClusterServiceVersion (OLM: pkg/controller/registry/resolver/steps.go, NewStepsFromBundle).
func orphaned(before, after *Report) (list []findings.Finding) {
	remaining := lists.By(after.CSVs, CSV.key)
	named := lists.Set(after.Subscriptions, func(s SubscriptionState) string { return s.Namespace + "/" + s.Name })
	holds := func(s SubscriptionState) string { return s.Namespace + "/" + s.InstalledCSV }
	held := lists.Set(after.Subscriptions, holds)
	refused := map[string]bool{} // what is there stays
	for _, f := range after.Findings {
		refused[f.Object] = refused[f.Object] || f.Rule == ruleInvalid.ID
	}
	unknown := lists.Set(lists.Filter(before.Unknown, func(u Unknown) bool { return !u.Nothing }),
		func(u Unknown) *manifest.Object { return u.Object })
	for _, s := range before.Subscriptions {
		csv, there := remaining[holds(s)]
		stays, deleted := "ClusterServiceVersion "+holds(s), !named[s.Namespace+"/"+s.Name]
		switch {
		case refused[s.object.Identity()]:
			continue
		case deleted && unknown[s.object]:
			if before.hasNamespace(s.Namespace) && !after.hasNamespace(s.Namespace) {
				continue
			}
			stays = "what OLM has installed for it, a ClusterServiceVersion,"
		case s.InstalledCSV == "" || !there || held[holds(s)] ||
			csv.Phase == string(v1alpha1.CSVPhaseReplacing) || csv.Phase == string(v1alpha1.CSVPhaseDeleting):
			continue
		}
		message := "it asks for another operator now"
		if deleted {
			message = "it is deleted, and nothing else"
		}
		list = append(list, about(ruleStays, s.object, "%s: %s stays with its Deployments, permissions and CRDs, and "+
			"nothing updates it any more; to remove the operator, delete the ClusterServiceVersion", message, stays))
	}
	for _, e := range deleted(before, after) {
		list = append(list, about(ruleLost, e.object, "it is deleted with what OLM v1 made of %s, and with each "+
			"custom resource of its CRDs: %s", e.Bundle, text.FirstOf(5, lists.Unique(lists.Map(e.owns, shown)))))
	}
	asks := func(o *olm.OperatorPolicy) bool { return o.Installs() || o.Removes() } // also what is unknown of the rest
	manages := func(o *olm.OperatorPolicy) string { return o.Namespace + "/" + o.Package }
	managed := lists.Set(lists.Filter(after.policies, asks), manages)
	policies := lists.By(after.policies, func(o *olm.OperatorPolicy) string { return o.Object.Identity() })
	for _, p := range before.policies {
		if p.Installs() && !managed[manages(p)] {
			list = append(list, policyStays(p, policies[p.Object.Identity()]))
		}
	}
	return list
}

// deleted returns the installed ClusterExtensions that are not there afterwards.
func deleted(before, after *Report) []*PlayedExtension {
	there := lists.Set(after.Extensions, func(e *PlayedExtension) string { return e.Name })
	return lists.Filter(before.Extensions, func(e *PlayedExtension) bool {
		return e.Bundle != "" && e.Refused == "" && !there[e.Name]
	})
}

// DeletedCRDs returns the names of the CRDs that go with a ClusterExtension, whoever makes them again.
func DeletedCRDs(before, after *Report) (names []string) {
	for _, e := range deleted(before, after) {
		for _, key := range e.owns {
			if name, is := strings.CutPrefix(key, keyOf("apiextensions.k8s.io/v1", kindCRD, "", "")); is {
				names = append(names, name)
			}
		}
	}
	return names
}

// Unserved returns errors about the custom resources among objects whose CRD goes with a ClusterExtension.
func Unserved(before, after *Report, objects []*manifest.Object) (list []findings.Finding) {
	there := olm.DefinedKinds(after.After)
	for _, e := range deleted(before, after) {
		gone := olm.DefinedKinds(e.made)
		for _, o := range objects {
			kind := o.Group() + "/" + o.Kind
			if gone[kind].Name == "" || there[kind].Name != "" || after.brought[kind].Name != "" {
				continue
			}
			f := about(ruleUnfit, o, "its CRD goes with ClusterExtension %s: %s", e.Name, unserved)
			f.Level = findings.Error
			list = append(list, f)
		}
	}
	return list
}

// Stays reports whether a finding is about an operator that stays when what asks for it goes.
func Stays(f findings.Finding) bool { return f.Rule == ruleStays.ID }

// Manual reports whether somebody approves the InstallPlans of a Subscription. Any other word than Manual means
// Automatic (OLM: pkg/controller/operators/catalog/operator.go, syncResolvingNamespace).
func Manual(subscription *manifest.Object) bool {
	return olm.Get(subscription, "spec", "installPlanApproval") == string(v1alpha1.ApprovalManual)
}

func (r *Report) hasNamespace(name string) bool {
	return slices.ContainsFunc(r.After, func(o *manifest.Object) bool {
		return o.Kind == "Namespace" && o.Group() == "" && o.Name == name
	})
}

func (v CSV) key() string { return v.Namespace + "/" + v.Name }

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
