package olmv1

// deviation is something that Render makes different from OLM v1's renderer on purpose. All else is equal: the
// conformance test undoes these one by one, on both sides.
type deviation struct {
	ID   string
	What string // what Render makes
	Why  string // what OLM v1 makes, and what is wrong with it
}

// The IDs of the deviations.
const (
	order            = "order"
	nullField        = "null-field"
	emptyStatus      = "empty-status"
	emptyStub        = "empty-stub"
	crdContent       = "crd-content"
	crDv1beta1       = "crd-v1beta1"
	webhookPort443   = "webhook-port"
	clusterNamespace = "cluster-namespace"
	vpaNamespace     = "vpa-namespace"
	apiVersion       = "api-version"
	serviceNameCut   = "service-name"
	emptyProperties  = "empty-properties"
	duplicateObject  = "duplicate-object"
	duplicateTarget  = "duplicate-target"
)

// deviations lists what Render makes different.
func deviations() []deviation {
	return []deviation{
		{order, "ServiceAccounts sorted by name, Issuers and Certificates by Deployment, a Service's ports of equal " +
			"numbers by target",
			"random: two renders of one bundle differ"},
		{nullField,
			"required fields without a value (a webhook's sideEffects, a role's rules) are left out, and so is " +
				"metadata.creationTimestamp: null",
			"null, which the API server takes for missing"},
		{emptyStatus, "no status where it holds nothing but empty texts, lists and mappings",
			"an empty status on every CRD, Issuer and Certificate, and on objects shipped with one: nobody may set " +
				"it, and it makes a diff against the cluster"},
		{emptyStub, "no strategy: {} of a Deployment and no resources: {} of a container",
			"both are printed where the bundle has none: Go's encoding, not the author's word"},
		{crdContent,
			"a CRD is the bundle's own text, without the fields that Go's type does not know",
			"decoded and encoded again by Go's type: numbers and empty values are written differently"},
		{crDv1beta1, "a v1beta1 CRD keeps its schema, and a conversion webhook is written as v1beta1 has it",
			"read as if it were v1: version, schema, sub-resources and columns are lost, the object is still " +
				"labelled v1beta1 and refused"},
		{webhookPort443, "port 443 in webhook and conversion references of a definition without containerPort",
			"port 0, which the API server refuses; 443 is the CSV schema's default and the port of the " +
				"generated Service"},
		{clusterNamespace, "no namespace on cluster-scoped objects",
			"the install namespace on webhook configurations, the author's on shipped ones; a cluster-scoped object " +
				"has none"},
		{vpaNamespace, "a shipped VerticalPodAutoscaler is in the install namespace",
			"taken for cluster-scoped: it goes wherever the applying client happens to be"},
		{apiVersion,
			"a shipped object without apiVersion has that of its kind (v1 Service, rbac.authorization.k8s.io/v1 " +
				"ClusterRole, ...)",
			"left without: no client can apply it"},
		{serviceNameCut, "the webhook Service of a Deployment whose name has 56 characters is cut to 63",
			"64 characters, which the API server refuses for a Service"},
		{emptyProperties, "no annotation olm.properties for an empty metadata/properties.yaml",
			"the annotation is the text null on every pod"},
		{duplicateObject,
			"of objects with one identity the last is kept: a shipped ServiceAccount, a generated webhook Service, " +
				"one of two equal roles",
			"all of them: installing fails with \"already exists\", or the last one wins"},
		{duplicateTarget, "a target namespace that is given twice counts once",
			"every Role is made twice, and the operator is told to watch the namespace twice"},
	}
}
