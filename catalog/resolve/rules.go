package resolve

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/findings"
)

// Blocking reports whether a finding says that OLM never installs an update because of what else is there.
func Blocking(f findings.Finding) bool { return f.Rule == ruleHeldBack.ID }

const (
	inResolver        = " Source: OLM, pkg/controller/registry/resolver/"
	inCatalogOperator = " Source: OLM, pkg/controller/operators/catalog/operator.go."
)

// Held reports whether a rule says that OLM installs no update.
func Held(rule string) bool { return rule == ruleHeldBack.ID || rule == ruleNoPath.ID }

// What OLM does in silence.
var (
	ruleHeldBack = findings.Rule{ID: "update-held-back", Text: "An update is not installed, and OLM does not say so",
		Help: "A newer entry of the channel cannot be installed together with what else must stay. OLM keeps the " +
			"installed version without an error or a condition." + inResolver + "resolver.go."}
	ruleOlder = findings.Rule{ID: "older-entry-installed",
		Text: "A fresh install does not take the head of the channel",
		Help: "The head cannot be installed, so OLM takes an older entry without an error." + inResolver +
			"resolver.go."}
	ruleLost = findings.Rule{ID: "dependency-lost", Text: "A dependency is missing and OLM does not install it",
		Help: "OLM makes an InstallPlan only if status.currentCSV of a Subscription changes. A lost dependency " +
			"comes back with the next update of any Subscription." + inCatalogOperator}
	ruleCycle = findings.Rule{ID: "updates-go-round", Text: "Updates form a cycle",
		Help: "skipRange has no direction: an old entry whose range contains a newer version is an update of it." +
			inResolver + "resolver.go."}
	ruleSecond = findings.Rule{ID: "second-subscription", Text: "Two Subscriptions are for the same package",
		Help: "A namespace can have one CSV of a package. A second Subscription can stop all updates of the " +
			"namespace." + inResolver + "resolver.go."}
	ruleUnavailable = findings.Rule{ID: "catalog-unavailable",
		Text: "A catalog that OLM cannot use blocks the namespace",
		Help: "OLM resolves nothing while any CatalogSource of the namespace or of the global namespace has no " +
			"connection, used or not." + inResolver + "source_registry.go."}
	ruleUnreadable = findings.Rule{ID: "constraint-unreadable",
		Text: "A constraint that OLM cannot read blocks the namespace",
		Help: "One unreadable range, constraint or CEL rule of a possible candidate stops the whole resolution, " +
			"even if the bundle would not be chosen." + inResolver + "resolver.go."}
	ruleDeprecated = findings.Rule{ID: "installed-csv-deprecated",
		Text: "An installed CSV is deprecated and must be updated",
		Help: "The property olm.deprecated forbids a bundle, also an installed one. If no update can be installed, " +
			"OLM resolves nothing in the namespace." + inResolver + "variable_types.go."}
	ruleChance = findings.Rule{ID: "depends-on-chance", Text: "What OLM does depends on chance",
		Help: "OLM iterates over Go maps, whose order is random. Any of the alternatives can happen."}
	ruleNot = findings.Rule{ID: "not-forbids-nothing", Text: "A not constraint forbids nothing",
		Help: "Any other bundle satisfies it, first of all the bundle that has it. It has an effect only inside " +
			"all." + inResolver + "cache/predicates.go."}
	ruleNoPath = findings.Rule{ID: "no-update-path", Text: "An installed CSV has no update in the channel",
		Help: "No entry of the channel names the CSV in replaces or skips or has its version in skipRange. OLM " +
			"keeps it without an error." + inResolver + "resolver.go."}
	ruleUnowned = findings.Rule{ID: "csv-without-subscription", Text: "A CSV that no Subscription names must stay",
		Help: "OLM neither updates nor replaces it, and its package cannot be installed again." + inResolver +
			"variable_types.go."}
	ruleNoSolution = findings.Rule{ID: "no-solution",
		Text: "OLM finds no solution, and installs and updates nothing in the namespace",
		Help: "One Subscription without solution blocks all others." + inResolver + "solver/solve.go."}

	// RuleUnknown is about a Subscription whose catalog has no known content.
	RuleUnknown = findings.Rule{ID: "subscription-unknown", Text: "the CSV that a Subscription installs is unknown",
		Help: "Pass the content of its catalog. It must have the objects of the bundle or olm.csv.metadata."}
	ruleGroups = findings.Rule{ID: "operator-groups", Text: "The namespace does not have exactly one OperatorGroup",
		Help: "OLM resolves nothing, and sets no condition. Source: OLM, " +
			"pkg/controller/registry/resolver/fail_forward.go."}
)

// InstallPlans that wait, and what is installed without approval.
var (
	rulePending = findings.Rule{ID: "install-plan-pending", Text: "A Subscription waits for an InstallPlan",
		Help: "OLM makes no other InstallPlan for it until this one is approved and its CSVs are there. If all " +
			"Subscriptions wait, OLM does not resolve." + inCatalogOperator}
	ruleManual = findings.Rule{ID: "dependency-automatic", Text: "OLM creates a Subscription for a dependency",
		Help: "It updates by itself, as its installPlanApproval is Automatic, unless another Subscription of the " +
			"namespace is Manual." + inResolver + "steps.go."}
	ruleApproval = findings.Rule{ID: "approval-needed", Text: "An InstallPlan waits for approval",
		Help: "The installPlanApproval of a Subscription is Manual. Who approves the InstallPlan approves " +
			"everything in it." + inCatalogOperator}
	ruleShared = findings.Rule{ID: "approval-shared", Text: "A Subscription with automatic approval waits for approval",
		Help: "One Subscription with installPlanApproval Manual makes every InstallPlan of its namespace wait." +
			inCatalogOperator}
)

// Rules returns the rules of the findings of a Result, sorted by id.
func Rules() []findings.Rule {
	return sorted(ruleHeldBack, ruleOlder, ruleLost, ruleCycle, ruleSecond, ruleUnavailable, ruleUnreadable,
		ruleDeprecated, ruleChance, ruleNot, ruleNoPath, ruleUnowned, ruleNoSolution, RuleUnknown, ruleGroups,
		rulePending, ruleManual, ruleApproval, ruleShared)
}

func sorted(list ...findings.Rule) []findings.Rule {
	slices.SortFunc(list, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
