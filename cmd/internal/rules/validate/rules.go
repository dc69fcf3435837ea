package validate

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/fit"
)

// The rules of operator-framework/api are the validator names of operator-sdk bundle validate, with a prefix.
const (
	apiPrefix   = "api/"
	ruleRefused = "refused"
)

// Rules returns all rules that a finding may have, sorted by id.
func Rules() []findings.Rule {
	list := slices.Concat(rules, fit.Rules())
	slices.SortFunc(list, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// rules are all but those of fit.Rules.
var rules = []findings.Rule{
	{ID: ruleRefused, Text: "olmgen refuses the bundle, as OLM or the API server does"},

	{ID: RuleAPIServer,
		Text: "the API server refuses an object that the bundle ships, or that OLM makes of its CSV: " +
			"Kubernetes' own code says so"},
	{ID: ruleChannels,
		Text: "the channels of the annotations: none, an empty name, a default that is not among them"},
	{ID: ruleDependencies,
		Text: "dependencies.yaml has an unknown type, a missing field or a bad range of versions"},
	{ID: ruleSkipRange, Text: "olm.skipRange is not a range of versions"},
	{ID: ruleCSVSchema,
		Text: "the schema of OLM's CRD rejects the ClusterServiceVersion, so OLM cannot install it"},
	{ID: ruleNamespace, Text: "the CSV suggests a namespace that the API server refuses"},
	{ID: ruleNameVersion, Text: "spec.version is not the version in the name of the ClusterServiceVersion"},
	{ID: ruleReplacesSelf, Text: "spec.replaces or spec.skips names the ClusterServiceVersion itself"},

	{ID: bundle.WarnAggregatedRules,
		Text: "a shipped ClusterRole has an aggregationRule and rules: the cluster sets the rules, so " +
			"server-side apply conflicts"},
	{ID: ruleOwnedVersion, Text: "the CSV does not name the version in which objects of an owned API are stored"},
	fit.RuleNotServed, fit.RuleNames, fit.RuleDefaultRole,
	{ID: ruleStoredWithout,
		Text: "a field of a served version of an owned API is not in the storage version, and no webhook converts",
		Help: "The API server drops it when an object is written (apiextensions-apiserver: " +
			"pkg/apiserver/customresource_handler.go)."},
	{ID: ruleWebhook,
		Text: "the API server never asks a webhook, or at a port that its Deployment does not declare",
		Help: "OLM makes the Service (OLM: pkg/controller/install/certresources.go, getServicePort)."},
	{ID: ruleExamples, Text: "an example of a custom resource does not fit its CustomResourceDefinition"},
	{ID: bundle.WarnAPIVersion,
		Text: "an object without apiVersion, or a ClusterServiceVersion that is not v1alpha1"},
	{ID: bundle.WarnDuplicateKey, Text: "a mapping key occurs twice; the last one counts"},
	{ID: bundle.WarnForeignSubject, Text: "a shipped binding has a subject in another namespace"},
	{ID: ruleInVain, Text: "permissions on cluster-scoped resources, which a Role in a namespace does not grant"},
	{ID: ruleSlip, Text: "a rule of permissions names a group, a resource or a verb that nothing has"},
	{ID: ruleRoleMissing, Text: "a shipped RoleBinding names a Role that the bundle does not have"},
	{ID: fit.RuleConversion.ID,
		Text: "a CRD names a Service for conversion, or a Certificate for its CA, that nobody has"},
	{ID: bundle.WarnInstallMode, Text: "an install mode that OLM does not know"},
	{ID: bundle.WarnLayout, Text: "annotations are missing, or a file is not read"},
	{ID: bundle.WarnNotAnObject, Text: "a document without kind"},
	{ID: ruleNetwork, Text: "NetworkPolicies of the bundle cut its pods off from what they call, or who calls them"},
	fit.RuleCatalog,
	{ID: RuleCatalogName, Text: "CSV, annotations and directory name one operator",
		Help: "It is an error for the first bundle of an operator, and where all other bundles have another name." +
			fromPipelines + "common/bundle.py."},
	{ID: ruleCatalogDir, Text: "the directory of a bundle has the name of its version",
		Help: "It is asked below operators/NAME/VERSION." + fromPipelines + "common/bundle.py."},
	{ID: ruleCatalogVersion, Text: "the version is one of semver.org, without v"},
	{ID: ruleCatalogFields, Text: "community: the fields that the catalog wants of a CSV",
		Help: "Those that the pipeline only warns of are warnings." + fromPipelines + "community/bundle.py."},
	{ID: ruleCatalogKube, Text: "com.redhat.openshift.versions names releases; community: they serve minKubeVersion",
		Help: "The latter is not asked of operators with file-based catalogs: outside of operators/NAME/VERSION it " +
			"is a warning. The pipeline knows releases to 4.17." + fromPipelines + "community/bundle.py."},
	{ID: ruleCatalogPruned, Text: "certified: olm.skipRange without replaces takes other bundles out of a channel",
		Help: "The pipeline warns." + fromPipelines + "isv/bundle.py."},
	{ID: ruleCatalogFeature, Text: "certified: the annotations about features are true or false",
		Help: "Seven are required, three optional." + fromPreflight + "required_annotations.go."},
	{ID: ruleCatalogImages, Text: "certified: images are in relatedImages, pinned if the operator claims disconnected",
		Help: "Both checks are optional there." + fromPreflight + "related_images.go, restricted_network_aware.go."},
	{ID: bundle.WarnOldAPI, Text: "an API version that current clusters do not serve"},
	{ID: bundle.WarnOldCRD, Text: "a CustomResourceDefinition of v1beta1, which current clusters do not serve"},
	{ID: bundle.WarnProperty, Text: "an entry of properties.yaml without type or value, which OLM leaves out, or a " +
		"number for a text"},
	{ID: bundle.WarnSelector, Text: "a Deployment with a selector that the API server refuses"},
	{ID: bundle.WarnSeveralDocuments, Text: "a file has several documents; OLM reads only the first"},
	{ID: bundle.WarnShadowed, Text: "a shipped object has the name of a generated one"},
	{ID: bundle.WarnStrategy, Text: "no install strategy; OLM knows only deployment"},
	{ID: bundle.WarnUnknownField,
		Text: "a field that the Go type of the object does not declare, such as x-descriptors in the schema of " +
			"a CRD: OLM drops it"},
	fit.RuleAccount,
	{ID: bundle.WarnUnsupportedKind, Text: "a kind of object that OLM does not install from a bundle"},

	// what the options of a rendering make of a bundle, and its metadata
	{ID: bundle.WarnCertificates, Text: "someone else must create and rotate the certificates"},
	{ID: bundle.WarnUnreadMetadata,
		Text: "a file in the metadata directory is not YAML, or an annotation with properties not JSON: OLM's " +
			"catalogs leave it out, and its dependencies and properties are lost"},
	{ID: bundle.WarnReplacedObject, Text: "two manifests have one kind and name: the last one counts"},
	{ID: bundle.WarnInstallation, Text: "OLM in the cluster may not do what the options ask for"},
	{ID: bundle.WarnMirrorMap, Text: "an entry of a mirror map that matches no image of the bundle"},
	{ID: bundle.WarnUnmirrored, Text: "an image of the bundle that a mirror map has no mirror for"},
	{ID: bundle.WarnScope, Text: "descoped: the operator does not support it"},
	{ID: ruleVisibility,
		Text: "descoped: owned APIs whose schemas do not name the operator, by which a UI groups them"},
	{ID: bundle.WarnDescoped, Text: "descoped: objects of the bundle that are left out"},
	{ID: bundle.WarnClusterObjects, Text: "a cluster-scoped object that another group renders with other content"},
	{ID: bundle.WarnClusterRules, Text: "descoped: a rule that a RoleBinding cannot grant"},
	{ID: bundle.WarnWatchNamespace, Text: "descoped: the operator gets the list of namespaces to watch"},
	{ID: bundle.WarnOLMAPIs, Text: "the operator has rights on APIs of OLM, which its form does not have"},
	{ID: bundle.WarnStatus, Text: "descoped: an owned API whose status the operator may not update"},
	{ID: bundle.WarnDescriptorValue,
		Text: "a descriptor of the ClusterServiceVersion has a list as its value: OLM takes it, and server-side " +
			"apply refuses it"},
	{ID: bundle.WarnOwnNamespace, Text: "descoped: the operator has no rights in its own namespace"},
	{ID: bundle.WarnMetadataObject, Text: "a Kubernetes object in the metadata directory, which OLM installs"},

	// the validators of operator-framework/api
	{ID: apiPrefix + "alpha-deprecated-apis", Text: "an API that a newer Kubernetes has removed"},
	{ID: apiPrefix + "bundle", Text: "the bundle as a whole: owned CRDs, accounts, size, related images"},
	{ID: apiPrefix + "crd", Text: "a CustomResourceDefinition that the API server would refuse"},
	{ID: apiPrefix + "csv", Text: "the ClusterServiceVersion: required fields, names, install modes, examples"},
	{ID: apiPrefix + "good-practices",
		Text: "recommendations: resource requests, channel names, descriptions, permissions"},
	{ID: apiPrefix + "object", Text: "PodDisruptionBudgets, PriorityClasses and RBAC that harm a cluster"},
	{ID: apiPrefix + "operatorhub", Text: "what OperatorHub.io asks of a ClusterServiceVersion"},
	{ID: apiPrefix + "standardcapabilities", Text: "the capability level must be one that OperatorHub.io knows"},
	{ID: apiPrefix + "standardcategories", Text: "the categories must be those that OperatorHub.io knows"},
}
