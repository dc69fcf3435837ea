package predict

import (
	"cmp"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/predict/upgrade"
)

// Rules returns all rules of the findings of Check, sorted by id. Ids in camel case are the reasons that OLM sets.
func Rules() []findings.Rule {
	roleName := ruleRoleName
	roleName.Help = fmt.Sprintf(roleName.Help, versions.Since(versions.OLM, versions.HashedRoles))
	list := slices.Concat(reasonRules(), resolve.Rules(), fit.Rules(), []findings.Rule{fit.RuleAccount,
		ruleSeveralGroups, ruleMalformedAPIs, ruleStaticAPIs, ruleSelectorIgnored, ruleSeveralTargets, ruleNoGroup,
		ruleAccount, ruleMissing, roleName, ruleSource, ruleDisabled, ruleAddress,
		ruleOperatorSource, ruleNewer, rulePolicy, rulePolicyIdle, ruleTargets,
		ruleTargetUnknown, ruleDeployment, ruleLeak, ruleCopied, ruleFailed, ruleIgnored, ruleOwners, ruleReplaced,
		ruleRequirements, ruleStatus, ruleWaiting, ruleUnknownField, ruleInstallPlan, ruleVersion, ruleUnfit,
		ruleNoOperator, ruleInherit, ruleNothing, ruleDrift, ruleDuplicate, ruleInvalid, ruleNoNamespace,
		ruleRestless, ruleSkipped, rulePlanFails, ruleNotLookedAt, ruleLost, ruleUpdateUnknown, ruleUnreadable,
		ruleExtension, ruleExtensionUnknown, ruleCollision, ruleIgnoredField, ruleFitUnknown, ruleHeld})
	for _, r := range upgrade.Rules {
		if r != upgrade.RulePath && r != upgrade.RuleSameName { // a catalog leads to a release of another name
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

const (
	inOperator = " Source: OLM, pkg/controller/operators/olm/operator.go."
	inPolicies = " Source: Open Cluster Management, config-policy-controller, " +
		"controllers/operatorpolicy_controller.go."
	failsCSV = "OLM fails the CSV." + inOperator
)

// reasonRules returns the rules for the reasons that OLM sets in the status of a CSV.
func reasonRules() []findings.Rule {
	rule := func(reason v1alpha1.ConditionReason, text, help string) findings.Rule {
		return findings.Rule{ID: string(reason), Text: text, Help: help}
	}
	return []findings.Rule{
		rule(v1alpha1.CSVReasonNoOperatorGroup, "a CSV in a namespace without OperatorGroup",
			"OLM fails the CSV. Add an OperatorGroup to the namespace."+inOperator),
		rule(v1alpha1.CSVReasonTooManyOperatorGroups, "a CSV in a namespace with several OperatorGroups",
			"OLM fails the CSV. Keep one OperatorGroup in the namespace."+inOperator),
		rule(v1alpha1.CSVReasonNoTargetNamespaces, "an OperatorGroup whose selector matches no namespace",
			"OLM fails the CSVs of the group. Label a namespace, or list the target namespaces."+inOperator),
		rule(v1alpha1.CSVReasonUnsupportedOperatorGroup, "a CSV does not support the targets of its OperatorGroup",
			"OLM fails the CSV. Change the targets to a supported install mode; no mode implies another. "+
				"Source: OLM's API, InstallModeSet.Supports."),
		rule(v1alpha1.CSVReasonInvalidInstallModes, "a CSV lists an install mode twice", failsCSV),
		rule(v1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
			"OperatorGroups that share a namespace provide the same APIs",
			"Two operators would manage the same objects. OLM fails the second CSV. Separate the targets of the "+
				"groups, "+
				"or keep one operator. Source: OLM, pkg/controller/operators/olm/groups.go, ReconcileAPIIntersection."),
		rule(v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
			"a static OperatorGroup does not list the APIs of a CSV, or another group that shares a namespace does",
			"OLM never changes olm.providedAPIs of a group with staticProvidedAPIs. It fails the CSV. "+
				"List the APIs in the annotation."+inOperator),
		rule(v1alpha1.CSVReasonOwnerConflict,
			"two CSVs of a namespace own the same CRD, or two CSVs the same APIService",
			"OLM fails the second CSV, unless one replaces the other."+inOperator),
		rule(
			v1alpha1.CSVReasonRequirementsNotMet,
			"a CSV needs a CRD, APIService, ServiceAccount or permissions that are missing",
			"OLM waits for them. Source: OLM, pkg/controller/operators/olm/requirements.go.",
		),
		rule(
			v1alpha1.CSVReasonOperatorConditionNotUpgradeable,
			"the OperatorCondition of the replaced CSV blocks the upgrade",
			"OLM waits. Source: OLM, pkg/controller/operators/olm/operatorconditions.go.",
		),
		rule(v1alpha1.CSVReasonInvalidStrategy, "OLM rejects the install strategy or a policy rule of a CSV", failsCSV),
		rule(v1alpha1.CSVReasonInvalidWebhookDescription, "OLM rejects a webhook of a CSV",
			"OLM fails the CSV. Source: OLM, pkg/controller/install/webhook.go."),
		rule(v1alpha1.CSVReasonComponentFailedNoRetry,
			"the ServiceAccount of an OperatorGroup may not install the operator",
			"OLM fails the CSV and does not retry. Bind a Role to the account in spec.serviceAccountName."+inOperator),
	}
}

// OperatorGroups, CatalogSources and Subscriptions.
var (
	ruleSeveralGroups = findings.Rule{ID: operatorsv1.MultipleOperatorGroupsReason,
		Text: "a namespace has several OperatorGroups",
		Help: "OLM fails every CSV of the namespace. Keep one OperatorGroup. " +
			"Source: OLM, operatorgroup.go, setOperatorGroupCondition."}
	ruleMalformedAPIs = findings.Rule{ID: "provided-apis-malformed",
		Text: "olm.providedAPIs of an OperatorGroup has an item that does not name an API",
		Help: "OLM does not find the API, so a static group does not protect it. Write <Kind>.<version>.<group>. " +
			"Source: OLM, pkg/controller/registry/resolver/cache/operators.go, GVKStringToProvidedAPISet."}
	ruleStaticAPIs = findings.Rule{ID: "static-without-apis", Text: "a static OperatorGroup without olm.providedAPIs",
		Help: "It protects no API, and OLM fails every CSV of the group that provides one. List the APIs in the " +
			"annotation. Source: OLM, doc/design/operatorgroups.md, Static OperatorGroups."}
	ruleSelectorIgnored = findings.Rule{ID: "selector-ignored",
		Text: "an OperatorGroup has targetNamespaces and a selector",
		Help: "OLM ignores the selector. Source: OLM, operatorgroup.go, getOperatorGroupTargets."}
	ruleSeveralTargets = findings.Rule{ID: "several-targets", Text: "an OperatorGroup for several namespaces",
		Help: "OpenShift does not recommend it, because OLM may drop the support for more than one target " +
			"namespace. Source: OpenShift documentation, Operator groups, Target namespace selection."}
	ruleNoGroup = findings.Rule{ID: "subscription-without-group",
		Text: "a Subscription in a namespace without OperatorGroup",
		Help: "OLM installs nothing in the namespace. openshift-operators and operators have a global " +
			"OperatorGroup from the start: OpenShift and OLM's own manifests create it."}
	ruleAccount = findings.Rule{ID: "account-missing",
		Text: "the ServiceAccount of an OperatorGroup is not in the tree",
		Help: "OLM ignores the group until the ServiceAccount exists. Source: OLM, pkg/lib/scoped/syncer.go."}
	ruleMissing = findings.Rule{ID: "namespace-missing", Text: "a target namespace is not in the tree",
		Help: "OLM accepts the target but copies nothing to it until it exists. Check the spelling."}
	ruleRoleName = findings.Rule{ID: "role-name", Text: "the ClusterRoles of an OperatorGroup collide with others",
		Help: "olmgen with stable names, and OLM before %s, create the ClusterRoles <group>-admin, -edit and -view. " +
			"They would overwrite a role of the same name, even one of Kubernetes. Rename the group."}
	ruleSource = findings.Rule{ID: "catalog-source", Text: "a CatalogSource that OLM cannot use",
		Help: "It has no source, or an unknown sourceType, or its ConfigMap is no catalog. OLM resolves nothing " +
			"in a namespace that sees it. Source: OLM, pkg/controller/operators/catalog/operator.go, " +
			"validateSourceType."}
	ruleAddress = findings.Rule{ID: "catalog-address", Text: "a CatalogSource with the address of a catalog",
		Help: "OLM asks what runs at spec.address and starts nothing. Nothing in the tree says what that serves, or " +
			"that it runs. OpenShift's documentation: \"This should not be used in most cases.\""}
	ruleOperatorSource = findings.Rule{ID: "operator-source", Text: "an OperatorSource, which nothing reads any more",
		Help: "OpenShift's marketplace made CatalogSources of OperatorSources until 4.5. Write a CatalogSource."}
	ruleNewer = findings.Rule{ID: "upgrade-waits", Text: "the status of a Subscription says that a newer version waits",
		Help: "status.currentCSV is what OLM installs next, and status.installedCSV what it has installed. " +
			"Source: OLM, pkg/controller/operators/catalog/operator.go, ensureSubscriptionCSVState."}
	ruleDisabled = findings.Rule{ID: "catalog-disabled",
		Text: "a Subscription to a catalog that the OperatorHub disables",
		Help: "OpenShift deletes its default CatalogSources that spec.disableAllDefaultSources or spec.sources " +
			"disables. OLM resolves nothing in the namespace. Source: OpenShift's API, " +
			"config/v1/types_operatorhub.go."}
	rulePolicy = findings.Rule{ID: "operator-policy", Text: "an OperatorPolicy without effect",
		Help: "The API server or its controller refuses it, or another one manages the same Subscription." +
			inPolicies}
	rulePolicyIdle = findings.Rule{ID: "operator-policy-idle", Text: "an OperatorPolicy that installs nothing",
		Help: "Its remediationAction is inform, which is the default and which a Policy overrides, its " +
			"complianceType is mustnothave, or its Policy is disabled." + inPolicies}
	ruleTargets = findings.Rule{ID: "targets-refused", Text: "OLM rejects the targets of an OperatorGroup",
		Help: "OLM writes no status, so it installs no CSV of the group. " +
			"Source: OLM, operatorgroup.go, getOperatorGroupTargets."}
	ruleTargetUnknown = findings.Rule{ID: "targets-unknown",
		Text: "an OperatorGroup has a selector, but the tree has no Namespaces",
		Help: "Add the Namespaces with their labels to the tree."}
)

// CSVs.
var (
	ruleDeployment = findings.Rule{ID: "deployment-deleted", Text: "a Deployment that OLM deletes",
		Help: "OLM deletes the Deployments of a CSV whose APIs conflict with another OperatorGroup. A GitOps tool " +
			"would restore them. Source: OLM, operator.go, cleanupCSVDeployments."}
	ruleLeak = findings.Rule{ID: "copied-csv-targets",
		Text: "a copied CSV shows the target namespaces of its OperatorGroup",
		Help: "The tenants of one namespace must not learn the names of others. OLM removes olm.targetNamespaces " +
			"from copies. Source: OLM, doc/design/operatorgroups.md, Copied CSVs."}
	ruleCopied = findings.Rule{ID: "copied-csv", Text: "a copied CSV without the CSV that it is a copy of",
		Help: "OLM creates and deletes copies. Do not keep them in Git. " +
			"Source: OLM, operator.go, removeDanglingChildCSVs."}
	ruleFailed = findings.Rule{ID: "csv-failed", Text: "a CSV that has failed in the cluster",
		Help: "The status in the file has the reason. Nothing in the tree explains it."}
	ruleIgnored = findings.Rule{ID: "csv-ignored", Text: "a CSV that OLM ignores", Help: "The CSV never gets a phase."}
	ruleOwners  = findings.Rule{ID: "crd-owners", Text: "two CSVs own the same CRD",
		Help: "OLM allows this if their groups share no namespace. There is only one CRD, " +
			"and its versions must suit both operators. The descoping plan wants one operator per API unless an " +
			"administrator allows more: the annotation " + rbac.AnnotationShared + " of a ClusterRole names such " +
			"APIs, and sharedAPIs of a RenderConfig writes it."}
	ruleReplaced = findings.Rule{ID: "csv-replaced", Text: "a CSV that OLM deletes because another one replaces it",
		Help: "A GitOps tool would restore it. Remove it from the tree." + inOperator}
	ruleRequirements = findings.Rule{ID: "requirements-unknown",
		Text: "the tree does not show whether the requirements of a CSV are met",
		Help: "The tree has neither its CRDs nor its ServiceAccounts. The requirements count as met."}
	ruleStatus = findings.Rule{ID: "status-differs", Text: "the status of a CSV differs from the prediction",
		Help: "The status in the file is older than the rest, or depends on something outside of the tree."}
	ruleWaiting = findings.Rule{ID: "csv-waiting", Text: "a CSV waits for the one that it replaces",
		Help: "OLM installs it after the older one has succeeded, or has failed with upgradeStrategy " +
			"TechPreviewUnsafeFailForward." + inOperator}
)

// All objects and files.
var (
	ruleUnknownField = findings.Rule{ID: "unknown-field", Text: "a field that the schema of OLM's CRD does not have",
		Help: "The API server drops it without an error. A misspelled selector or targetNamespaces makes an " +
			"OperatorGroup global. In a CSV it is only a warning, because OLM installs the rest. Source: OLM's " +
			"API, crds."}
	ruleInstallPlan = findings.Rule{ID: "install-plan", Text: "an InstallPlan that does not come from a cluster",
		Help: "OLM creates InstallPlans from Subscriptions. One in Git installs what it lists, again and again."}
	ruleVersion = findings.Rule{ID: "version-not-served",
		Text: "a custom resource of a version that its CRD does not serve",
		Help: "The API server rejects it. Use a version that the CRD in the tree serves."}
	ruleUnfit = findings.Rule{ID: "custom-resource", Text: "a custom resource that does not fit its CRD in the tree",
		Help: "The API server refuses it, or drops a field of it. It is a warning too if custom resources cannot " +
			"be judged."}
	ruleNoOperator = findings.Rule{ID: "no-bound-operator",
		Text: "a custom resource that no operator may manage, or whose status none may write",
		Help: "The tree has the operator, but neither a binding nor an OperatorGroup lets it work in that " +
			"namespace. Source: descoping plan, RBAC: an alert for custom resources without a controller that may " +
			"update their status."}
	ruleInherit = findings.Rule{ID: "role-not-inherited",
		Text: "a hand-written ClusterRole is aggregated to view or edit only",
		Help: "Roles with more permissions do not inherit rules. Add the rule to them too. " +
			"Source: OpenShift documentation, Creating cluster roles for custom resource definitions."}
	ruleNothing = findings.Rule{ID: "no-olm-objects",
		Text: "a tree without objects of OLM", Help: "There is nothing to predict. Check the paths."}
	ruleDrift = findings.Rule{ID: "annotation-drift", Text: "OLM changes an annotation",
		Help: "OLM and a GitOps tool would overwrite each other's value. Remove the annotation, or set the value " +
			"that OLM sets. Source: OLM, operatorgroup.go, pruneProvidedAPIs, annotateCSVs."}
	ruleDuplicate = findings.Rule{ID: "duplicate-object", Text: "two different objects have the same name",
		Help: "Check one environment at a time, " +
			"for example the output of kustomize build."}
	ruleInvalid = findings.Rule{ID: "invalid-object", Text: "the API server rejects an object",
		Help: "A field is missing, has the wrong type or a value that the schema of OLM's CRD does not allow. " +
			"Source: OLM's API, crds."}
	ruleNoNamespace = findings.Rule{ID: "no-namespace", Text: "an object without a namespace",
		Help: "It is not checked, unless you set a namespace for such objects."}
	ruleRestless = findings.Rule{ID: "unsettled", Text: "OLM never reaches a stable state",
		Help: "The findings about CSVs describe one state of many."}
	ruleSkipped = findings.Rule{ID: "skipped",
		Text: "a file was not read", Help: "The file may have objects that matter."}
	rulePlanFails = findings.Rule{ID: "install-plan-fails", Text: "an InstallPlan that fails",
		Help: "OLM executes the steps of an InstallPlan in their order: ClusterServiceVersions, CRDs, what the " +
			"bundle ships, then accounts and roles. It stops at the first one that fails, and tries again for a " +
			"minute."}
	ruleNotLookedAt = findings.Rule{ID: "not-looked-at", Text: "what the outcome may depend on and nobody knows",
		Help: "The bundle is not there, or the tree has no CustomResourceDefinitions and so does not say what " +
			"the cluster serves."}
	ruleLost = findings.Rule{ID: "object-lost", Text: "an object that goes with the release that owned it",
		Help: "The garbage collector deletes what only the replaced ClusterServiceVersion owns."}
	ruleUpdateUnknown = findings.Rule{ID: "update-unknown", Text: "an update of a catalog that is not judged",
		Help: "The bundle cannot be read, or not all of it. OLM may refuse the update, or the operator may fail."}
	ruleUnreadable = findings.Rule{ID: "unreadable", Text: "a file is not readable",
		Help: "The file looks like a Kubernetes object. kubectl would fail on it."}
)

// ClusterExtensions, and fields without effect.
var (
	ruleExtension = findings.Rule{ID: "extension-stuck", Text: "OLM v1 installs nothing for a ClusterExtension",
		Help: "It finds no bundle, or refuses the one that it finds. It keeps what is installed. The condition " +
			"Progressing has its words. Source: operator-controller, internal/operator-controller/resolve/" +
			"catalog.go, applier/provider.go."}
	ruleExtensionUnknown = findings.Rule{ID: "extension-unknown",
		Text: "a ClusterExtension that is not checked, or not all of it",
		Help: "Pass the content of its catalog, with the objects of its bundles."}
	ruleCollision = findings.Rule{ID: "extension-collision", Text: "an object of a bundle that somebody else makes",
		Help: "OLM v1 takes over no object: neither that of another ClusterExtension nor one that is applied " +
			"from Git. Source: operator-controller, docs/concepts/single-owner-objects.md, " +
			"internal/operator-controller/applier/boxcutter.go."}
	ruleIgnoredField = findings.Rule{ID: "field-ignored", Text: "a field that nobody reads",
		Help: "OLM reads no spec.config.selector of a Subscription (operator-lifecycle-manager#1298)."}
)

// The upgrade of the cluster.
var (
	ruleFitUnknown = findings.Rule{ID: fit.Prefix + "unknown",
		Text: "an operator of which nobody can say whether it works in the cluster",
		Help: "Its catalog or its bundle is not known."}
	ruleHeld = findings.Rule{ID: fit.Prefix + "not-upgradeable",
		Text: "an operator that holds back its own upgrade by its OperatorCondition",
		Help: "The cluster may need that upgrade first. Source: OLM, " +
			"pkg/controller/operators/olm/operatorconditions.go."}
)
