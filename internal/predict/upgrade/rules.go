package upgrade

// The rules. Their findings are errors where OLM refuses the upgrade, or where an operator fails because of it.
const (
	RuleAPIRequired  = "api-required"
	RuleInstallMode  = "install-mode"
	RuleCRDOwner     = "crd-owner"
	RulePath         = "no-upgrade"
	RuleSameName     = "same-name"
	RuleLost         = "object-lost"
	RuleNotServed    = "api-not-served"
	RuleStored       = "stored-version"
	RuleImmutable    = "immutable-field"
	RuleConversion   = "conversion-webhook"
	RuleObjectsUnfit = "objects-unfit"
)

// Rules explains the rules.
var Rules = []struct{ ID, Text, Help string }{
	{
		RuleAPIRequired,
		"requires an API that the upgrade removes",
		"Another operator requires an API that the upgrade removes. Operators that are not in NEW are " +
			"those of a tree beside it.",
	},
	{RuleInstallMode, "does not support what its OperatorGroup asks for",
		"The OperatorGroup needs an install mode that NEW does not support any more."},
	{RuleCRDOwner, "owns a CRD that another operator owns, too",
		"NEW owns a CRD that another operator owns already, or takes from it the version that it owns."},
	{RulePath, "does not replace the older release",
		"replaces, skips and skipRange of NEW do not name OLD, so OLM does not upgrade in one step."},
	{RuleSameName, "has the name of the older release",
		"OLM knows a release by the name of its ClusterServiceVersion. It installs nothing of NEW where OLD is " +
			"installed (OLM: pkg/controller/registry/resolver/resolver.go)."},
	{RuleLost, "needs an object that goes with the older release",
		"OLM makes the ClusterServiceVersion the owner of the ServiceAccounts in its permissions. One that NEW ships " +
			"as a file keeps the older owner (OLM: pkg/controller/operators/catalog/step_ensurer.go, " +
			"EnsureServiceAccount)."},
	{RuleNotServed, "owns a version that its CRD does not serve",
		"The CSV stays Pending with RequirementsNotMet (OLM: pkg/controller/operators/olm/requirements.go)."},
	{RuleStored, "drops a version in which objects are stored",
		"The InstallPlan fails: risk of data loss (OLM: pkg/lib/crd/storage.go). What is stored is in " +
			"status.storedVersions of live CRDs in a tree or directory of objects, or else the storage version of " +
			"OLD."},
	{RuleImmutable, "changes a field that the API server does not let change",
		"OLM updates what is there and deletes nothing (OLM: pkg/api/wrappers/deployment_install_client.go; " +
			"pkg/controller/operators/catalog/step_ensurer.go)."},
	{RuleConversion, "serves no conversion webhook for a CRD, or at another Service",
		"The API server asks the Service that the CRD names (OLM: pkg/controller/install/webhook.go)."},
	{RuleObjectsUnfit, "has a CRD that existing objects do not fit",
		"The InstallPlan fails: error validating existing CRs against new CRD's schema (OLM: " +
			"pkg/controller/operators/catalog/step.go). OLM looks at the schema of each version that both CRDs " +
			"serve. It does not ratchet as the API server does. The objects are those of the directory or tree that " +
			"is given. Where NEW converts by a webhook, OLM only warns."},
}
