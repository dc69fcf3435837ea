package groups

import (
	"cmp"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/review/findings"
)

// Rules that are not a reason of OLM's.
const (
	ruleAccount       = "account-missing"
	ruleCopied        = "copied-csv"
	ruleDrift         = "annotation-drift"
	ruleDuplicate     = "duplicate-object"
	ruleFailed        = "csv-failed"
	ruleIgnored       = "csv-ignored"
	ruleInvalid       = "invalid-object"
	ruleMissing       = "namespace-missing"
	ruleNoNamespace   = "no-namespace"
	ruleOwners        = "crd-owners"
	rulePatch         = "patch"
	ruleReplaced      = "csv-replaced"
	ruleRequirements  = "requirements-unknown"
	ruleRestless      = "unsettled"
	ruleRoleName      = "role-name"
	ruleSkipped       = "skipped"
	ruleStatus        = "status-differs"
	ruleSubscription  = "subscription-unknown"
	ruleTargets       = "targets-refused"
	ruleTargetUnknown = "targets-unknown"
	ruleUnreadable    = "unreadable"
	ruleWaiting       = "csv-waiting"
)

// Rules gives every rule that a finding of Check may have, sorted by id. Those in OLM's words are the reasons that OLM gives a CSV.
func Rules() []findings.Rule {
	const inOperator = " Source: OLM, pkg/controller/operators/olm/operator.go."
	list := []findings.Rule{
		{ID: string(v1alpha1.CSVReasonNoOperatorGroup), Text: "a CSV in a namespace without OperatorGroup",
			Help: "OLM fails it. Add an OperatorGroup to the namespace." + inOperator},
		{ID: string(v1alpha1.CSVReasonTooManyOperatorGroups), Text: "a CSV in a namespace with several OperatorGroups",
			Help: "OLM fails it, because it cannot pick one. Leave one OperatorGroup in the namespace." + inOperator},
		{ID: string(v1alpha1.CSVReasonNoTargetNamespaces), Text: "an OperatorGroup whose selector matches no namespace",
			Help: "OLM fails the CSVs of the group. Label a namespace, or name the targets." + inOperator},
		{ID: string(v1alpha1.CSVReasonUnsupportedOperatorGroup), Text: "the targets of an OperatorGroup fit none of a CSV's install modes",
			Help: "OLM fails the CSV. Change the group's targets to what the CSV supports; support is never inferred from another mode. Source: OLM's API, InstallModeSet.Supports."},
		{ID: string(v1alpha1.CSVReasonInvalidInstallModes), Text: "a CSV that lists an install mode twice",
			Help: "OLM fails it." + inOperator},
		{ID: string(v1alpha1.CSVReasonInterOperatorGroupOwnerConflict), Text: "OperatorGroups that share a namespace provide the same APIs",
			Help: "Two operators would act on the same objects. OLM fails the CSV that came second. Separate the targets of the groups, or keep one operator. " +
				"Source: OLM, pkg/controller/operators/olm/groups.go, ReconcileAPIIntersection."},
		{ID: string(v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs), Text: "a CSV whose APIs a static OperatorGroup does not list, or a group that shares a namespace does",
			Help: "OLM never changes olm.providedAPIs of a group with staticProvidedAPIs, and fails the CSV. List its APIs in the annotation." + inOperator},
		{ID: string(v1alpha1.CSVReasonOwnerConflict), Text: "two CSVs of a namespace own the same CRD, or two CSVs the same APIService",
			Help: "OLM fails the CSV that came second, unless one replaces the other." + inOperator},
		{ID: string(v1alpha1.CSVReasonRequirementsNotMet), Text: "a CSV needs a CRD, an APIService, an account or rights that the tree lacks",
			Help: "OLM waits for them. Source: OLM, pkg/controller/operators/olm/requirements.go."},
		{ID: string(v1alpha1.CSVReasonOperatorConditionNotUpgradeable), Text: "a CSV replaces one whose OperatorCondition says that it is not upgradeable",
			Help: "OLM waits. Source: OLM, pkg/controller/operators/olm/operatorconditions.go."},
		{ID: string(v1alpha1.CSVReasonInvalidStrategy), Text: "an install strategy or a policy rule that OLM refuses", Help: "OLM fails the CSV." + inOperator},
		{ID: string(v1alpha1.CSVReasonInvalidWebhookDescription), Text: "a webhook that OLM refuses",
			Help: "OLM fails the CSV. Source: OLM, pkg/controller/install/webhook.go."},
		{ID: string(v1alpha1.CSVReasonComponentFailedNoRetry), Text: "the account of an OperatorGroup may not install the operator",
			Help: "OLM fails the CSV and does not try again. Bind a Role to the account that spec.serviceAccountName names." + inOperator},

		{ID: ruleAccount, Text: "the account that an OperatorGroup names is not in the tree",
			Help: "OLM does nothing with the group until it exists. Source: OLM, pkg/lib/scoped/syncer.go."},
		{ID: ruleCopied, Text: "a copied CSV without the CSV that it is a copy of",
			Help: "OLM deletes it. Copies are OLM's business: do not keep them in Git. Source: OLM, operator.go, removeDanglingChildCSVs."},
		{ID: ruleDrift, Text: "an annotation that OLM will change",
			Help: "A GitOps tool and OLM would overwrite each other. Leave the annotation out, or write what OLM writes. Source: OLM, operatorgroup.go, pruneProvidedAPIs, annotateCSVs."},
		{ID: ruleDuplicate, Text: "two different objects of one name", Help: "Check what one environment gets, as kustomize build makes it."},
		{ID: ruleFailed, Text: "a CSV that has failed in the cluster", Help: "The status in the file says why; nothing in the tree does."},
		{ID: ruleIgnored, Text: "a CSV that OLM does nothing with", Help: "It stays without a phase."},
		{ID: ruleInvalid, Text: "an object that the API server refuses", Help: "A field is missing, of the wrong type or has a value that the schema of OLM's CRD does not allow. Source: OLM's API, crds."},
		{ID: ruleMissing, Text: "a target namespace that is not in the tree",
			Help: "OLM takes it as a target all the same, and copies nothing to it until it exists. Look for a typing error."},
		{ID: ruleNoNamespace, Text: "an object without a namespace", Help: "It is not looked at, unless the check is told in which namespace it goes."},
		{ID: ruleOwners, Text: "two CSVs own the same CRD", Help: "OLM lets both be if their groups share no namespace, but there is only one CRD: the versions that it serves must suit both."},
		{ID: rulePatch, Text: "a patch of kustomize for an object of OLM", Help: "It is no object, so it is not looked at. Check what kustomize build makes of it."},
		{ID: ruleReplaced, Text: "a CSV that OLM deletes, because another one replaces it", Help: "A GitOps tool would bring it back. Take it out of the tree." + inOperator},
		{ID: ruleRequirements, Text: "a CSV of whose requirements the tree tells nothing", Help: "Neither its CRDs nor its accounts are in the tree: they count as met."},
		{ID: ruleRestless, Text: "OLM would never come to rest", Help: "What is said about CSVs is one state of many."},
		{ID: ruleRoleName, Text: "an OperatorGroup whose roles have the name of others",
			Help: "The roles <group>-admin, -edit and -view of olmgen's stable names, and of OLM before 0.26, would overwrite another's; roles of Kubernetes itself have been lost that way. Rename the group."},
		{ID: ruleSkipped, Text: "a file that was not read", Help: "It may hold objects that matter."},
		{ID: ruleStatus, Text: "the cluster said something else about a CSV", Help: "The status in the file is older than what it says of the rest, or something outside of the tree counts."},
		{ID: ruleSubscription, Text: "a Subscription of which it is not known what it installs", Help: "Give the check its catalog."},
		{ID: ruleTargets, Text: "an OperatorGroup whose targets OLM refuses", Help: "OLM writes no status, so no CSV of the group is ever installed. Source: OLM, operatorgroup.go, getOperatorGroupTargets."},
		{ID: ruleTargetUnknown, Text: "a selector in a tree without Namespaces", Help: "Add the Namespaces with their labels to the tree."},
		{ID: ruleWaiting, Text: "a CSV that waits for the one that it replaces", Help: "OLM installs it when the older one has succeeded, or failed with upgradeStrategy TechPreviewUnsafeFailForward." + inOperator},
		{ID: ruleUnreadable, Text: "a file that is not readable", Help: "It looks like a Kubernetes object, so kubectl would fail on it."},
	}
	slices.SortFunc(list, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
