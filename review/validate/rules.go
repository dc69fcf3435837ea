package validate

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/review/findings"
)

// The rules of operator-framework/api have the names that operator-sdk bundle validate gives its validators, behind a prefix.
const (
	apiPrefix   = "api/"
	ruleRefused = "refused"
)

// Rules gives every rule that a finding may have, sorted by id.
func Rules() []findings.Rule {
	list := []findings.Rule{
		{ID: ruleRefused, Text: "olmgen refuses the bundle, as OLM or the API server would"},

		{ID: bundle.WarnAggregatedRules, Text: "a shipped ClusterRole with an aggregationRule has rules, which the cluster fills in: server-side apply conflicts with it"},
		{ID: bundle.WarnAPIVersion, Text: "an object without apiVersion, or a ClusterServiceVersion of another one than v1alpha1"},
		{ID: bundle.WarnDuplicateKey, Text: "a mapping key occurs twice, the last one counts"},
		{ID: bundle.WarnForeignSubject, Text: "a shipped binding has a subject in another namespace"},
		{ID: bundle.WarnInstallMode, Text: "an install mode that OLM does not know"},
		{ID: bundle.WarnLayout, Text: "annotations are missing, or a file is not read"},
		{ID: bundle.WarnNotAnObject, Text: "a document without kind"},
		{ID: bundle.WarnOldAPI, Text: "an API version that current clusters do not serve"},
		{ID: bundle.WarnOldCRD, Text: "a CustomResourceDefinition of v1beta1, which current clusters do not serve"},
		{ID: bundle.WarnSelector, Text: "a Deployment with a selector that the API server refuses"},
		{ID: bundle.WarnSeveralDocuments, Text: "several documents in a file, of which OLM reads only the first"},
		{ID: bundle.WarnShadowed, Text: "a shipped object has the name of a generated one"},
		{ID: bundle.WarnStrategy, Text: "no install strategy: OLM installs only deployment"},
		{ID: bundle.WarnUnknownField, Text: "a field that a ClusterServiceVersion, or a CRD of v1, does not have: OLM drops it, and server-side apply refuses such a CRD"},
		{ID: bundle.WarnUnknownAccount, Text: "a Deployment runs as a ServiceAccount that nobody creates"},
		{ID: bundle.WarnUnsupportedKind, Text: "a kind of object that OLM does not install from a bundle"},
		{ID: bundle.WarnCertificates, Text: "certificates are left to whoever makes and rotates them"},
		{ID: bundle.WarnInstallation, Text: "OLM in the cluster may not do what is asked of it"},
		{ID: bundle.WarnMirrorMap, Text: "an entry of a mirror map that no image of the bundle is in"},
		{ID: bundle.WarnScope, Text: "descoped: the operator was not made for it"},
		{ID: bundle.WarnDescoped, Text: "descoped: what is left out of the objects that the bundle ships"},
		{ID: bundle.WarnClusterRules, Text: "descoped: a rule that a binding in a namespace does not grant"},
		{ID: bundle.WarnWatchNamespace, Text: "descoped: the operator is told which namespaces to watch"},
		{ID: bundle.WarnOLMAPIs, Text: "descoped: the operator looks at objects of OLM"},
		{ID: bundle.WarnStatus, Text: "descoped: an owned API whose status the operator may not update"},
		{ID: bundle.WarnOwnNamespace, Text: "descoped: the operator has no rights in its own namespace"},
		{ID: bundle.WarnMetadataObject, Text: "a Kubernetes object in the metadata directory, which OLM installs"},

		{ID: apiPrefix + "alpha-deprecated-apis", Text: "an API that a newer Kubernetes has removed"},
		{ID: apiPrefix + "bundle", Text: "the bundle as a whole: owned CRDs, accounts, size, related images"},
		{ID: apiPrefix + "crd", Text: "a CustomResourceDefinition that the API server would refuse"},
		{ID: apiPrefix + "csv", Text: "the ClusterServiceVersion: required fields, names, install modes, examples"},
		{ID: apiPrefix + "good-practices", Text: "recommendations: resource requests, channel names, descriptions, permissions"},
		{ID: apiPrefix + "object", Text: "PodDisruptionBudgets, PriorityClasses and RBAC that harm a cluster"},
		{ID: apiPrefix + "operatorhub", Text: "what OperatorHub.io asks of a ClusterServiceVersion"},
		{ID: apiPrefix + "standardcapabilities", Text: "the capability level is one that OperatorHub.io knows"},
		{ID: apiPrefix + "standardcategories", Text: "the categories are those that OperatorHub.io knows"},
	}
	slices.SortFunc(list, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
