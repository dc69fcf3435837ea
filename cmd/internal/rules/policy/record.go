package policy

import (
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
)

// recordName is the decision record of the rules with the prefix of-.
const recordName = "operate-first/blueprint, docs/adr/0011-operators.md, Managing Operators, 2021-01-27"

const (
	marketplace     = olm.NamespaceMarketplace
	globalOperators = olm.NamespaceOperators
)

const (
	ruleUnreadable      = "unreadable"
	ruleUnknownField    = "unknown-field"
	ruleSkipped         = "skipped"
	ruleUnknown         = "operator-unknown"
	ruleOperatorRights  = "operator-rights"
	ruleUnusedException = "unused-exception"
	ruleDuplicate       = "duplicate-object"
)

// ownRules are the rules that are part of every policy.
var ownRules = []Rule{
	{ID: ruleUnreadable, Level: findings.Error, Text: "every object can be read",
		Help: "olmgen cannot check a file that is not valid YAML or a field of the wrong type."},
	{ID: ruleUnknownField, Level: findings.Error,
		Text: "OLM's objects have only fields that the schemas of its CRDs have",
		Help: "An apply that validates refuses it; else the API server drops it. A misspelled selector or " +
			"targetNamespaces makes an OperatorGroup global. In a ClusterServiceVersion it is a warning, because OLM " +
			"installs the rest."},
	{ID: ruleDuplicate, Level: findings.Error, Text: "no two different objects have the same name",
		Help: "In one root the last one counts, which is a warning. Between two roots of a cluster neither does."},
	{ID: ruleUnknown, Level: findings.Note, Text: "every operator that OLM installs is looked at",
		Help: "A Subscription or ClusterExtension installs what its catalog has. Without the content of the " +
			"catalog nobody knows its permissions and images."},
	{ID: ruleOperatorRights, Level: findings.Warning,
		Text: "nobody gets the rights of an operator by its namespace",
		Help: "Whoever creates pods in the namespace of an operator, or reads its Secrets, has the rights of its " +
			"ServiceAccounts. Source: OLM's descoping plan, History."},
	{ID: ruleSkipped, Level: findings.Note, Text: "every file is read",
		Help: "Templates, and files that neither are readable nor look like Kubernetes objects, are skipped. " +
			"Check the rendered output of templates."},
	{ID: ruleUnusedException, Level: findings.Note, Text: "every exception of the policy is used",
		Help: "An exception that matches nothing may hide a later finding. Remove it."},
}

// BuiltinRules returns all built-in rules, sorted by id.
func BuiltinRules() []Rule { return (&Policy{rules: recordRules}).Rules() }

const (
	catalogQuote = "If it is necessary to deploy an additional CatalogSource resource, this resource must be " +
		"deployed to the openshift-marketplace namespace and therefore must be declared within the cluster-scope " +
		"application."
	defaultsQuote = "Operators are expected to be provisioned from the default catalogs and it is advised to publish " +
		"the desired operator to a community catalog rather than deploying a custom Catalog source."
)

// recordRules are those of the decision record, in its order. What it requires or expects is an error, advice a note.
var recordRules = []Rule{
	{ID: "of-no-csv", Level: findings.Error,
		check: notDeployed("ClusterServiceVersion", "ClusterServiceVersions must not be deployed by hand",
			"subscribe to the operator in a catalog"),
		Text: "no ClusterServiceVersion is deployed by hand",
		Quote: "This resource is not meant to be deployed manually and is expected to be provided from a " +
			"Catalog source.",
		Help: "If there is a real need, as the record allows, add an exception with its reason to your policy."},
	{ID: "of-csv-in-cluster-scope", Level: findings.Error,
		check: inClusterScope("ClusterServiceVersion", "move it to cluster-scope if it is really needed"),
		Text:  "a ClusterServiceVersion is in the cluster-scope application",
		Quote: "If there’s really a need to deploy a custom Cluster service version, the resource has to live " +
			"within the cluster-scope application."},
	{ID: "of-no-installplan", Level: findings.Error,
		check: notDeployed("InstallPlan", "InstallPlans must not be deployed by hand",
			"remove the file: OLM creates InstallPlans"),
		Text: "no InstallPlan is deployed by hand",
		Quote: "Operators are not expected to deploy a custom Install plan. We expect every plan to be provided " +
			"by the Cluster service version resource belonging to the given operator."},
	{ID: "of-no-catalogsource", Level: findings.Note,
		check: notDeployed("CatalogSource", "a custom CatalogSource",
			"publish the operator to a community catalog"),
		Text:  "no CatalogSource is declared by hand",
		Quote: defaultsQuote},
	{ID: "of-default-catalog", Level: findings.Error, check: defaultCatalog,
		Text:  "a Subscription is to a default catalog",
		Quote: defaultsQuote,
		Help: "The default catalogs are redhat-operators, certified-operators, redhat-marketplace and " +
			"community-operators in " + marketplace + ". A CatalogSource that the tree declares may be used too; " +
			"of-no-catalogsource has a note about it."},
	{ID: "of-catalogsource-namespace", Level: findings.Error, check: catalogNamespace,
		Text:  "a CatalogSource is in the namespace " + marketplace,
		Quote: catalogQuote},
	{ID: "of-catalogsource-in-cluster-scope", Level: findings.Error,
		check: inClusterScope("CatalogSource", "move it to cluster-scope"),
		Text:  "a CatalogSource is in the cluster-scope application",
		Quote: catalogQuote},
	{ID: "of-subscription-with-application", Level: findings.Error, check: subscriptionWithApplication,
		Text: "a Subscription in an application is in the application's namespace",
		Quote: "The Subscription resource can be hosted along with application manifests in an application " +
			"repository. This application has to be deployed to the same namespace as specified for the " +
			"subscription.",
		Help: "The namespaces of an application are those of its other objects. The Subscription must be in one " +
			"of them."},
	{ID: "of-global-subscription-in-cluster-scope", Level: findings.Error, check: globalSubscriptionPlace,
		Text: "a Subscription of an operator that sees all namespaces is in the cluster-scope application",
		Quote: "For operators with global effect, we expect the Subscription resource to be hosted in " +
			"cluster-scope application only.",
		Help: "An operator sees all namespaces if the OperatorGroup of its namespace is global, or if it is in " +
			globalOperators + ", where OpenShift has a global one."},
	{ID: "of-global-subscription-namespace", Level: findings.Note, check: globalSubscriptionNamespace,
		Text: "a Subscription of an operator that sees all namespaces is in " + globalOperators,
		Quote: "In general, the rule of thumb is to put them in openshift-operators, however we take note that " +
			"there may be various exceptions to this rule (e.g. ClusterLogging, OpenShift Metering, etc.)."},
	{ID: "of-subscription-with-group", Level: findings.Error, check: subscriptionWithGroup,
		Text: "a Subscription is in the namespace of an OperatorGroup",
		Quote: "The Subscription resource manifest is expected to be deployed to the same namespace where the " +
			"corresponding OperatorGroup is located.",
		Help: "OpenShift has an OperatorGroup in " + globalOperators + ". To check an application, pass the path " +
			"of the cluster-scope application as well, which has the OperatorGroups."},
	{ID: "of-operatorgroup-in-cluster-scope", Level: findings.Error,
		check: inClusterScope("OperatorGroup", "move it to cluster-scope: only cluster admins may manage it"),
		Text:  "an OperatorGroup is in the cluster-scope application",
		Quote: "An OperatorGroup resource is a namespace-scoped resource. However we require this resource to be " +
			"placed in the cluster-scope application only"},
	{ID: "of-no-operatorgroup-access", Level: findings.Error, check: groupAccess,
		Text: "project admins and editors may not create or change OperatorGroups",
		Quote: "By default project admins do not have create/edit rights to OperatorGroups (due to points 2 and " +
			"3), so only cluster-admins can manage Operator groups.",
		Help: "The rule checks ClusterRoles that are aggregated to admin or edit, or bound to all users."},
	{ID: "of-one-operatorgroup", Level: findings.Error, check: oneGroup,
		Text: "a namespace has one OperatorGroup",
		Quote: "This resource is a singleton in namespace context. There can’t be multiple instances of the " +
			"said resource in the same namespace, even if the name differs.",
		Help: "Several files with the same OperatorGroup, such as a kustomize base and its patches, count as one."},
	{ID: "of-no-second-instance", Level: findings.Error, check: noSecondInstance,
		Text: "no operator is installed for a namespace while it is installed for all",
		Quote: "Centralized Operator Group management ensures we won’t be deploying the same namespaced " +
			"operator while we already have another instance with all namespace visibility, etc."},
	{ID: "of-operatorgroup-targets", Level: findings.Error, check: groupTargets,
		Text: "an OperatorGroup is global, with a blank spec, or has one target namespace",
		Quote: "we enforce and support only these options for target namespace specification in Operator groups " +
			"specification: A global, cluster-wide operator with visibility to all namespaces, that means the " +
			".spec section of the manifest is blank. A single namespace operator. Resource manifest specifies " +
			".spec.targetNamespaces: [ SINGLE_MEMBER_NAMESPACE ] .",
		Help: "upgradeStrategy: Default is allowed, because the API server adds it to a blank spec. So is an " +
			"empty selector."},
	{ID: "of-target-namespace-in-cluster-scope", Level: findings.Error, check: targetDeclared,
		Text:  "the target namespace of an OperatorGroup is declared in the cluster-scope application",
		Quote: "This namespace has to be deployed via cluster-scope application as well.",
		Help:  "A Namespace or an OpenShift Project declares a namespace."},
	{ID: "of-operatorgroup-with-subscription", Level: findings.Warning, check: groupWithSubscription,
		Text: "an OperatorGroup is in the namespace of a Subscription",
		Quote: "The OperatorGroup resource manifest is expected to be deployed to the same namespace where the " +
			"corresponding Subscription is located.",
		Help: "A warning, because the Subscription may be in the application's own repository."},
	{ID: "of-cluster-resources-in-cluster-scope", Level: findings.Error, check: clusterResources,
		Text: "cluster-scoped objects are in the cluster-scope application",
		Quote: "Some operators are not deployed via the OLM. That means, their manifests require manual " +
			"deployment of CustomResourceDefinitions, ClusterRoles etc. We require this kind of resources to be " +
			"deployed via cluster-scope application.",
		Help: "olmgen knows the cluster-scoped kinds of Kubernetes and OpenShift and those that a " +
			"CustomResourceDefinition of the tree defines."},
	{ID: "of-workload-in-application", Level: findings.Error, check: workloads,
		Text: "workloads are in an application of their own, in a folder below the root",
		Quote: "all the other resources required for a non-OLM operator deployment, like Deployment, Route etc. " +
			"are treated as any other namespace scoped application and all the manifests required for deployment " +
			"are expected to be located as a separate application in the operate-first/apps repository as a root " +
			"folder.",
		Help: "Workloads are Deployments and their like, Jobs, Pods, Services, Routes and Ingresses. ConfigMaps, " +
			"Secrets, volume claims, ServiceAccounts and namespaced RBAC may configure the cluster or an " +
			"application, so they may be in either."},
	{ID: "of-meta-operator-without-olm", Level: findings.Error, check: metaByOLM,
		Text: "a meta-operator that is not limited is not installed by OLM",
		Quote: "If it is not possible to deploy a meta-operator in a way that respects one of the 2 conditions, " +
			"it is expected from the operator requester to raise this issue upstream. Until this is fixed we " +
			"expect the operator to be installed manually via Direct operator deployment, not via OLM framework",
		Help: "A meta-operator may deploy operators at cluster scope: create Subscriptions, " +
			"ClusterServiceVersions, InstallPlans or ClusterExtensions in all namespaces, or create " +
			"CustomResourceDefinitions, ClusterRoles, ClusterRoleBindings and Deployments. The rule checks " +
			"ClusterServiceVersions that own an API, because OLM lets the admins and editors of every project " +
			"write it."},
	{ID: "of-meta-operator-access", Level: findings.Error, check: metaAccess,
		Text: "the custom resources of a meta-operator are not open to project admins and editors",
		Quote: "Limit the create/edit access permission to the custom resources they create, in order to limit " +
			"normal project users or project admins from escalating their privileges.",
		Help: "The rule checks ServiceAccounts that ClusterRoleBindings make meta-operators, and ClusterRoles " +
			"that are aggregated to admin or edit, or bound to all users, and write resources of the " +
			"CustomResourceDefinitions whose API groups a role of the operator names. If its roles name none of " +
			"the tree but have a *, that stands for all of them."},
}
