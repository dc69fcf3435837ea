package validate

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/bundle"
)

// Rule explains what findings with its id have in common.
type Rule struct {
	ID, Text string
}

// The rules of operator-framework/api have the names that operator-sdk bundle validate gives its validators, behind a prefix.
const (
	apiPrefix   = "api/"
	ruleRefused = "refused"
)

// Rules gives every rule that a finding may have, sorted by id.
func Rules() []Rule {
	list := []Rule{
		{ruleRefused, "olmgen refuses the bundle, as OLM or the API server would"},

		{bundle.WarnAPIVersion, "an object without apiVersion, or a ClusterServiceVersion of another one than v1alpha1"},
		{bundle.WarnDuplicateKey, "a mapping key occurs twice, the last one counts"},
		{bundle.WarnForeignSubject, "a shipped binding has a subject in another namespace"},
		{bundle.WarnInstallMode, "an install mode that OLM does not know"},
		{bundle.WarnLayout, "annotations are missing, or a file is not read"},
		{bundle.WarnNotAnObject, "a document without kind"},
		{bundle.WarnOldAPI, "an API version that current clusters do not serve"},
		{bundle.WarnOldCRD, "a CustomResourceDefinition of v1beta1, which current clusters do not serve"},
		{bundle.WarnSelector, "a Deployment with a selector that the API server refuses"},
		{bundle.WarnSeveralDocuments, "several documents in a file, of which OLM reads only the first"},
		{bundle.WarnShadowed, "a shipped object has the name of a generated one"},
		{bundle.WarnStrategy, "no install strategy: OLM installs only deployment"},
		{bundle.WarnUnknownField, "a field that the ClusterServiceVersion does not have: OLM drops it"},
		{bundle.WarnUnknownAccount, "a Deployment runs as a ServiceAccount that nobody creates"},
		{bundle.WarnUnsupportedKind, "a kind of object that OLM does not install from a bundle"},
		{bundle.WarnCertificates, "certificates are left to whoever makes and rotates them"},
		{bundle.WarnInstallation, "OLM in the cluster may not do what is asked of it"},
		{bundle.WarnMetadataObject, "a Kubernetes object in the metadata directory, which OLM installs"},

		{apiPrefix + "alpha-deprecated-apis", "an API that a newer Kubernetes has removed"},
		{apiPrefix + "bundle", "the bundle as a whole: owned CRDs, accounts, size, related images"},
		{apiPrefix + "crd", "a CustomResourceDefinition that the API server would refuse"},
		{apiPrefix + "csv", "the ClusterServiceVersion: required fields, names, install modes, examples"},
		{apiPrefix + "good-practices", "recommendations: resource requests, channel names, descriptions, permissions"},
		{apiPrefix + "object", "PodDisruptionBudgets, PriorityClasses and RBAC that harm a cluster"},
		{apiPrefix + "operatorhub", "what OperatorHub.io asks of a ClusterServiceVersion"},
		{apiPrefix + "standardcapabilities", "the capability level is one that OperatorHub.io knows"},
		{apiPrefix + "standardcategories", "the categories are those that OperatorHub.io knows"},
	}
	slices.SortFunc(list, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
