package predict

import (
	"cmp"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/internal/rbac"
)

// Rules returns all rules of the findings of Check, sorted by id. Ids in camel case are the reasons that OLM sets.
func Rules() []findings.Rule {
	list := slices.Concat(builtin, resolve.Rules(), fit.Rules())
	for i, r := range list {
		if r == ruleRoleName {
			list[i].Help = fmt.Sprintf(r.Help, versions.Since(versions.OLM, versions.HashedRoles))
		}
	}
	for _, r := range upgrade.Rules {
		if r != upgrade.RulePath && r != upgrade.RuleSameName { // a catalog leads to a release of another name
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// reasons returns the rules that are reasons of OLM's.
func reasons() []findings.Rule {
	return lists.Filter(builtin, func(r findings.Rule) bool { return r.ID[0] >= 'A' && r.ID[0] <= 'Z' })
}

var builtin []findings.Rule

func rule[T ~string](id T, text, help string) findings.Rule {
	r := findings.Rule{ID: string(id), Text: text, Help: help}
	builtin = append(builtin, r)
	return r
}

const (
	inOperator = " Source: OLM, pkg/controller/operators/olm/operator.go."
	inPolicies = " Source: Open Cluster Management, config-policy-controller, " +
		"controllers/operatorpolicy_controller.go."
	failsCSV = "OLM fails the CSV." + inOperator
)

// The reasons that OLM sets in the status of a CSV.
var (
	_ = rule(v1alpha1.CSVReasonNoOperatorGroup, "a CSV in a namespace without OperatorGroup",
		"OLM fails the CSV. Add an OperatorGroup to the namespace."+inOperator)
	_ = rule(v1alpha1.CSVReasonTooManyOperatorGroups, "a CSV in a namespace with several OperatorGroups",
		"OLM fails the CSV. Keep one OperatorGroup in the namespace."+inOperator)
	_ = rule(v1alpha1.CSVReasonNoTargetNamespaces, "an OperatorGroup whose selector matches no namespace",
		"OLM fails the CSVs of the group. Label a namespace, or list the target namespaces."+inOperator)
	_ = rule(v1alpha1.CSVReasonUnsupportedOperatorGroup, "a CSV does not support the targets of its OperatorGroup",
		"OLM fails the CSV. Change the targets to a supported install mode; no mode implies another. Source: OLM's "+
			"API, InstallModeSet.Supports.")
	_ = rule(v1alpha1.CSVReasonInvalidInstallModes, "a CSV lists an install mode twice", failsCSV)
	_ = rule(v1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
		"OperatorGroups that share a namespace provide the same APIs",
		"Two operators would manage the same objects. OLM fails the second CSV. Separate the targets of the groups, "+
			"or keep one operator. Source: OLM, pkg/controller/operators/olm/groups.go, ReconcileAPIIntersection.")
	_ = rule(v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
		"a static OperatorGroup does not list the APIs of a CSV, or another group that shares a namespace does",
		"OLM never changes olm.providedAPIs of a group with staticProvidedAPIs. It fails the CSV. List the APIs in "+
			"the annotation."+inOperator)
	_ = rule(v1alpha1.CSVReasonOwnerConflict,
		"two CSVs of a namespace own the same CRD, or two CSVs the same APIService",
		"OLM fails the second CSV, unless one replaces the other."+inOperator)
	_ = rule(v1alpha1.CSVReasonRequirementsNotMet,
		"a CSV needs a CRD, APIService, ServiceAccount or permissions that are missing",
		"OLM waits for them. Source: OLM, pkg/controller/operators/olm/requirements.go.")
	_ = rule(v1alpha1.CSVReasonOperatorConditionNotUpgradeable,
		"the OperatorCondition of the replaced CSV blocks the upgrade",
		"OLM waits. Source: OLM, pkg/controller/operators/olm/operatorconditions.go.")
	_ = rule(v1alpha1.CSVReasonInvalidStrategy, "OLM rejects the install strategy or a policy rule of a CSV", failsCSV)
	_ = rule(v1alpha1.CSVReasonInvalidWebhookDescription, "OLM rejects a webhook of a CSV",
		"OLM fails the CSV. Source: OLM, pkg/controller/install/webhook.go.")
	_ = rule(v1alpha1.CSVReasonComponentFailedNoRetry,
		"the ServiceAccount of an OperatorGroup may not install the operator",
		"OLM fails the CSV and does not retry. Bind a Role to the account in spec.serviceAccountName."+inOperator)
)

// OperatorGroups, CatalogSources and Subscriptions.
var (
	ruleSeveralGroups = rule(operatorsv1.MultipleOperatorGroupsReason, "a namespace has several OperatorGroups",
		"OLM fails every CSV of the namespace. Keep one OperatorGroup. Source: OLM, operatorgroup.go, "+
			"setOperatorGroupCondition.")
	ruleMalformedAPIs = rule("provided-apis-malformed",
		"olm.providedAPIs of an OperatorGroup has an item that does not name an API",
		"OLM does not find the API, so a static group does not protect it. Write <Kind>.<version>.<group>. Source: "+
			"OLM, pkg/controller/registry/resolver/cache/operators.go, GVKStringToProvidedAPISet.")
	ruleStaticAPIs = rule("static-without-apis", "a static OperatorGroup without olm.providedAPIs",
		"It protects no API, and OLM fails every CSV of the group that provides one. List the APIs in the annotation. "+
			"Source: OLM, doc/design/operatorgroups.md, Static OperatorGroups.")
	ruleSelectorIgnored = rule("selector-ignored", "an OperatorGroup has targetNamespaces and a selector",
		"OLM ignores the selector. Source: OLM, operatorgroup.go, getOperatorGroupTargets.")
	ruleSelectsNone = rule("selector-matches-none", "the selector of an OperatorGroup matches no namespace",
		"OLM fails every CSV of the group. Source: OLM, operator.go, NoTargetNamespaces.")
	ruleSeveralTargets = rule("several-targets", "an OperatorGroup for several namespaces",
		"OpenShift does not recommend it, because OLM may drop the support for more than one target namespace. "+
			"Source: OpenShift documentation, Operator groups, Target namespace selection.")
	ruleNoGroup = rule("subscription-without-group", "a Subscription in a namespace without OperatorGroup",
		"OLM installs nothing in the namespace. openshift-operators and operators have a global OperatorGroup from "+
			"the start: OpenShift and OLM's own manifests create it.")
	ruleAccount = rule("account-missing", "the ServiceAccount of an OperatorGroup is not in the tree",
		"OLM ignores the group until the ServiceAccount exists. Source: OLM, pkg/lib/scoped/syncer.go.")
	ruleMissing = rule("namespace-missing", "a target namespace is not in the tree",
		"OLM accepts the target but copies nothing to it until it exists. Check the spelling.")
	ruleRoleName = rule("role-name", "the ClusterRoles of an OperatorGroup collide with others",
		"olmgen with stable names, and OLM before %s, create the ClusterRoles <group>-admin, -edit and -view. They "+
			"would overwrite a role of the same name, even one of Kubernetes. Rename the group.")
	ruleSource = rule("catalog-source", "a CatalogSource that OLM cannot use",
		"It has no source, or an unknown sourceType, or its ConfigMap is no catalog, or nobody answers. OLM resolves "+
			"nothing in a namespace that sees it. Source: OLM, pkg/controller/operators/catalog/operator.go, "+
			"validateSourceType.")
	ruleAddress = rule("catalog-address", "a CatalogSource with the address of a catalog",
		"OLM asks what runs at spec.address and starts nothing. Nothing in the tree says what that serves, or that it "+
			"runs. OpenShift's documentation: \"This should not be used in most cases.\"")
	ruleOperatorSource = rule("operator-source", "an OperatorSource, which nothing reads any more",
		"OpenShift's marketplace made CatalogSources of OperatorSources until 4.5. Write a CatalogSource.")
	ruleNewer = rule("upgrade-waits", "the status of a Subscription says that a newer version waits",
		"status.currentCSV is what OLM installs next, and status.installedCSV what it has installed. Source: OLM, "+
			"pkg/controller/operators/catalog/operator.go, ensureSubscriptionCSVState.")
	ruleGoing = rule("being-deleted", "what a CSV needs is being deleted in the cluster, or the CSV itself",
		"The CSV, its namespace, its OperatorGroup or a CRD that it owns has a deletionTimestamp: the operator goes, "+
			"or its objects do. Source: Kubernetes, staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go.")
	ruleSubscription = rule("subscription-failed", "the status of a Subscription says that OLM installs nothing for it",
		"Or that of its InstallPlan does. Without the content of its catalog, nothing else is known of the "+
			"Subscription. It is a warning if the operator is there. Source: OLM, "+
			"pkg/controller/operators/catalog/operator.go.")
	ruleDisabled = rule("catalog-disabled", "a Subscription to a catalog that the OperatorHub disables",
		"OpenShift deletes its default CatalogSources that spec.disableAllDefaultSources or spec.sources disables. "+
			"OLM resolves nothing in the namespace. Source: OpenShift's API, config/v1/types_operatorhub.go.")
	rulePolicy = rule("operator-policy", "an OperatorPolicy without effect",
		"The API server or its controller refuses it, or another one manages the same Subscription."+inPolicies)
	rulePolicyIdle = rule("operator-policy-idle", "an OperatorPolicy that installs nothing",
		"Its remediationAction is inform, which is the default and which a Policy overrides, its complianceType is "+
			"mustnothave, or its Policy is disabled."+inPolicies)
	ruleTargets = rule("targets-refused", "OLM rejects the targets of an OperatorGroup",
		"OLM writes no status, so it installs no CSV of the group. Source: OLM, operatorgroup.go, "+
			"getOperatorGroupTargets.")
	ruleTargetUnknown = rule("targets-unknown", "an OperatorGroup has a selector, but the tree has no Namespaces",
		"Add the Namespaces with their labels to the tree.")
)

// CSVs.
var (
	ruleDeployment = rule("deployment-deleted", "a Deployment that OLM deletes",
		"OLM deletes the Deployments of a CSV whose APIs conflict with another OperatorGroup. A GitOps tool would "+
			"restore them. Source: OLM, operator.go, cleanupCSVDeployments.")
	ruleLeak = rule("copied-csv-targets", "a copied CSV shows the target namespaces of its OperatorGroup",
		"The tenants of one namespace must not learn the names of others. OLM removes olm.targetNamespaces from "+
			"copies. Source: OLM, doc/design/operatorgroups.md, Copied CSVs.")
	ruleCopied = rule("copied-csv", "a copied CSV without the CSV that it is a copy of",
		"OLM creates and deletes copies. Do not keep them in Git. Source: OLM, operator.go, removeDanglingChildCSVs.")
	ruleFailed = rule("csv-failed", "a CSV that has failed in the cluster",
		"The status in the file has the reason. Nothing in the tree explains it.")
	ruleInstalling = rule("csv-installing", "a CSV whose Deployments are not available yet",
		"OLM waits for them, and the CSV fails after some minutes. The objects of the cluster say what they wait for, "+
			"with those of the pods: kubectl get pods.")
	ruleIgnored = rule("csv-ignored", "a CSV that OLM ignores", "The CSV never gets a phase.")
	ruleOwners  = rule("crd-owners", "two CSVs own the same CRD",
		"OLM allows this if their groups share no namespace. There is only one CRD, and its versions must suit both "+
			"operators. The descoping plan wants one operator per API unless an administrator allows more: the "+
			"annotation "+rbac.AnnotationShared+" of a ClusterRole names such APIs, and sharedAPIs of a "+
			"RenderConfig writes it.")
	ruleReplaced = rule("csv-replaced", "a CSV that OLM deletes because another one replaces it",
		"A GitOps tool would restore it. Remove it from the tree."+inOperator)
	ruleRequirements = rule("requirements-unknown", "the tree does not show whether the requirements of a CSV are met",
		"The tree has neither its CRDs nor its ServiceAccounts. The requirements count as met.")
	ruleNetwork = rule("network-cut-off", "NetworkPolicies cut the pods of a CSV off",
		"Of the policies that select a pod, no rule is for a port that it needs, or rules are for certain peers only, "+
			"a warning. Source: Kubernetes, k8s.io/api, networking/v1/types.go.")
	ruleStatus = rule("status-differs", "the status of a CSV differs from the prediction",
		"The status in the file is older than the rest, or depends on something outside of the tree.")
	ruleWaiting = rule("csv-waiting", "a CSV waits for the one that it replaces",
		"OLM installs it after the older one has succeeded, or has failed with upgradeStrategy "+
			"TechPreviewUnsafeFailForward."+inOperator)
)

// All objects and files.
var (
	ruleUnknownField = rule("unknown-field", "a field that the schema of OLM's CRD does not have",
		"An apply that validates refuses it; else the API server drops it. A misspelled selector or targetNamespaces "+
			"makes an OperatorGroup global. In a CSV it is only a warning, because OLM installs the rest. Source: "+
			"OLM's API, crds.")
	ruleInstallPlan = rule("install-plan", "an InstallPlan that does not come from a cluster",
		"OLM creates InstallPlans from Subscriptions. One in Git installs what it lists, again and again.")
	ruleVersion = rule("version-not-served", "a custom resource of a version that its CRD does not serve",
		"The API server rejects it. Use a version that the CRD serves.")
	ruleUnfit = rule("custom-resource", "a custom resource that does not fit its CRD, of the tree or of its operator",
		"The API server refuses it, or drops a field of it. It is a warning too if custom resources cannot be judged, "+
			"and a note if their CRD is in another root.")
	ruleNoOperator = rule("no-bound-operator",
		"a custom resource that no operator may manage, or whose status none may write",
		"The tree has the operator, but neither a binding nor an OperatorGroup lets it work in that namespace. "+
			"Source: descoping plan, RBAC: an alert for custom resources without a controller that may update their "+
			"status.")
	ruleInherit = rule("role-not-inherited", "a hand-written ClusterRole is aggregated to view or edit only",
		"Roles with more permissions do not inherit rules. Add the rule to them too. Source: OpenShift documentation, "+
			"Creating cluster roles for custom resource definitions.")
	ruleNothing = rule("no-olm-objects", "a tree without objects of OLM",
		"There is nothing to predict. Check the paths.")
	ruleDrift = rule("annotation-drift", "OLM changes an annotation",
		"OLM and a GitOps tool would overwrite each other's value. Remove the annotation, or set the value that OLM "+
			"sets. Source: OLM, operatorgroup.go, pruneProvidedAPIs, annotateCSVs.")
	ruleUnsynced = rule("engine-order", "an object that an engine never applies, or on a new cluster does not come to",
		"A sync of Argo CD ends with the first wave that fails, as one does whose objects are in a namespace of a "+
			"later wave. Flux, Helm and Argo CD apply nothing if a custom resource has no CRD yet. "+
			"Source: gitops-engine, pkg/sync.")
	ruleDuplicate = rule("duplicate-object", "two different objects have the same name",
		"In one root the last one counts. Between two roots of a cluster neither does, rights are those of both, and "+
			"what OLM does with it is unknown. Check one environment at a time, for example the output of kustomize "+
			"build.")
	ruleInvalid = rule("invalid-object", "the API server rejects an object",
		"A field is missing, has the wrong type or a value that the schema of OLM's CRD does not allow. Source: OLM's "+
			"API, crds.")
	ruleNoNamespace = rule("no-namespace", "an object without a namespace",
		"It is not checked, unless you set a namespace for such objects.")
	ruleRestless = rule("unsettled", "OLM never reaches a stable state",
		"The findings about CSVs describe one state of many.")
	ruleSkipped   = rule("skipped", "a file was not read", "The file may have objects that matter.")
	rulePlanFails = rule("install-plan-fails", "an InstallPlan that fails, or is never complete",
		"OLM executes the steps of an InstallPlan in their order: ClusterServiceVersions, CRDs, what the bundle "+
			"ships, then accounts and roles. It stops at the first one that fails, and tries again for a minute. What "+
			"is forbidden it tries for ever, and it waits for an OperatorGroup with targets and its ServiceAccount.")
	ruleNotLookedAt = rule("not-looked-at", "what the outcome may depend on and nobody knows",
		"The bundle is not there, or the tree has no CustomResourceDefinitions and so does not say what the cluster "+
			"serves.")
	ruleLost = rule("object-lost", "an object that goes with the release or the ClusterExtension that owned it",
		"The garbage collector deletes what only the replaced ClusterServiceVersion owns, or the deleted extension.")
	ruleChance = rule("service-twice", "a Service that a bundle ships and that OLM makes, too",
		"OLM makes a Service for the webhooks and APIServices of a Deployment. The InstallPlan and the installation "+
			"of the CSV write it one after the other, again and again. Source: OLM, pkg/controller/install/"+
			"certresources.go.")
	ruleUpdateUnknown = rule("update-unknown", "an update of a catalog that is not judged",
		"The bundle cannot be read, or not all of it. OLM may refuse the update, or the operator may fail.")
	ruleStays = rule("operator-stays", "an operator that stays although nobody asks for it any more",
		"A Subscription or an OperatorPolicy that is deleted takes nothing with it: OLM leaves the "+
			"ClusterServiceVersion, its Deployments, permissions and CRDs. Source: OpenShift documentation, Deleting "+
			"Operators from a cluster.")
	ruleRecovers = rule("operator-recovers", "an operator that fails before and not afterwards",
		"The change removes what keeps OLM from installing it.")
	ruleUnattended = rule("approval-ends", "updates that need no approval any more",
		"One Subscription with installPlanApproval Manual makes every InstallPlan of its namespace wait. Without one, "+
			"OLM updates the operators by itself. An InstallPlan that waits already goes on waiting.")
	ruleUnreadable = rule("unreadable", "a file is not readable",
		"The file looks like a Kubernetes object. kubectl would fail on it.")
)

// ClusterExtensions, and fields without effect.
var (
	ruleExtension = rule("extension-stuck", "OLM v1 installs nothing for a ClusterExtension",
		"It finds no bundle, or refuses the one that it finds. It keeps what is installed. The condition Progressing "+
			"has its words. With the feature gate BoxcutterRuntime it asks the same before it rolls out a revision. "+
			"Source: operator-controller, internal/operator-controller/resolve/catalog.go, applier/provider.go, "+
			"rukpak/preflights/crdupgradesafety.")
	ruleExtensionUnknown = rule("extension-unknown", "a ClusterExtension that is not checked, or not all of it",
		"Pass the content of its catalog, with the objects of its bundles.")
	ruleCollision = rule("extension-collision", "an object of a bundle that somebody else makes",
		"OLM v1 takes over no object of others, unless it has the marks of its own release of Helm. Source: helm, "+
			"pkg/action/validate.go; operator-controller, docs/concepts/single-owner-objects.md.")
	ruleIgnoredField = rule("field-ignored", "a field or a value that nobody reads",
		"OLM reads no spec.config.selector of a Subscription (operator-lifecycle-manager#1298), takes each "+
			"installPlanApproval but Manual for Automatic, and newer releases of OLM v1 read no "+
			"spec.serviceAccount (operator-controller#2743).")
)

// The upgrade of the cluster.
var (
	ruleFitUnknown = rule(fit.Prefix+"unknown", "an operator of which nobody can say whether it works in the cluster",
		"Its catalog or its bundle is not known.")
	ruleHeld = rule(fit.Prefix+"not-upgradeable",
		"an operator that holds back its own upgrade by its OperatorCondition",
		"The cluster may need that upgrade first. Source: OLM, pkg/controller/operators/olm/operatorconditions.go.")
)
