package upgrade

import (
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
)

// The rules. Their findings are errors where OLM refuses the upgrade, or where an operator fails because of it.
var (
	RuleAPIRequired = findings.Rule{ID: "api-required", Text: "requires an API that the upgrade removes",
		Help: "Another operator requires an API that the upgrade removes. Operators that are not in NEW are " +
			"those of a tree beside it."}
	RuleInstallMode = findings.Rule{ID: "install-mode", Text: "does not support what its OperatorGroup asks for",
		Help: "The OperatorGroup needs an install mode that NEW does not support any more."}
	RuleCRDOwner = findings.Rule{ID: "crd-owner", Text: "owns a CRD that another operator owns, too",
		Help: "NEW owns a CRD that another operator owns already, or takes from it the version that it owns."}
	RulePath = findings.Rule{ID: "no-upgrade", Text: "does not replace the older release",
		Help: "replaces, skips and skipRange of NEW do not name OLD, so OLM does not upgrade in one step."}
	RuleSameName = findings.Rule{ID: "same-name", Text: "has the name of the older release",
		Help: "OLM knows a release by the name of its ClusterServiceVersion. It installs nothing of NEW where OLD is " +
			"installed (OLM: pkg/controller/registry/resolver/resolver.go)."}
	RuleLost = findings.Rule{ID: "object-lost", Text: "needs an object that goes with the older release",
		Help: "OLM makes the ClusterServiceVersion the owner of the ServiceAccounts in its permissions. One that NEW " +
			"ships as a file keeps the older owner (OLM: pkg/controller/operators/catalog/step_ensurer.go, " +
			"EnsureServiceAccount)."}
	RuleNotServed = findings.Rule{ID: "api-not-served", Text: "owns a version that its CRD does not serve",
		Help: "The CSV stays Pending with RequirementsNotMet (OLM: pkg/controller/operators/olm/requirements.go)."}
	RuleStored = findings.Rule{ID: "stored-version", Text: "drops a version in which objects are stored",
		Help: "The InstallPlan fails: risk of data loss (OLM: pkg/lib/crd/storage.go). What is stored is in " +
			"status.storedVersions of live CRDs in a tree or directory of objects, or else the storage version of " +
			"OLD."}
	RuleImmutable = findings.Rule{ID: "immutable-field",
		Text: "changes a field that the API server does not let change",
		Help: "OLM updates what is there and deletes nothing (OLM: pkg/api/wrappers/deployment_install_client.go; " +
			"pkg/controller/operators/catalog/step_ensurer.go)."}
	RuleConversion   = fit.RuleConversion
	RuleObjectsUnfit = findings.Rule{ID: "objects-unfit", Text: "has a CRD that existing objects do not fit",
		Help: "The InstallPlan fails: error validating existing CRs against new CRD's schema (OLM: " +
			"pkg/controller/operators/catalog/step.go). OLM looks at the schema of each version that both CRDs " +
			"serve. It does not ratchet as the API server does. The objects are those of the directory or tree that " +
			"is given. Where NEW converts by a webhook, OLM only warns."}
)

// Rules explains the findings.
var Rules = []findings.Rule{RuleAPIRequired, RuleInstallMode, RuleCRDOwner, RulePath, RuleSameName, RuleLost,
	RuleNotServed, RuleStored, RuleImmutable, RuleConversion, RuleObjectsUnfit}
