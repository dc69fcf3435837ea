package permissions

// source returns who says that something follows from a right.
type source struct {
	practice string // the heading of Kubernetes' RBAC good practices
	police   string // the policy of rbac-police
	attack   string // the technique of MITRE ATT&CK
	// code are lines of OpenShift's or OLM's code that do it, as repository/blob/revision/path#line.
	code []string
}

// Where the code is that is cited.
const (
	olmv0             = "operator-framework/operator-lifecycle-manager/blob/0368a3f9dff1fa14c8645b867fba25c3be9df845/"
	olmv1             = "operator-framework/operator-controller/blob/df2c201d70e83d02eae23597d604269fa1baf20a/"
	openshiftBuilds   = "openshift/openshift-controller-manager/blob/26d20feae8892f648f5b06ed3f5492fe6ffb4532/"
	openshiftLogin    = "openshift/oauth-server/blob/f892602b822782e0080abc70c6cd1d178f11e684/"
	openshiftMachines = "openshift/machine-config-operator/blob/7ff337a4ffac8e7562692181178ede61e4b2eec5/"
	openshiftTokens   = "openshift/oauth-apiserver/blob/467c63180c69eb57c57f456a09e839c9d8c1f480/"
	openshiftSCC      = "openshift/apiserver-library-go/blob/a8019f39f6708878cbb42101693940ed4817ab82/" +
		"pkg/securitycontextconstraints/"
)

// sources are those of the consequences that have some.
var sources = map[string]source{
	"everything":    {practice: "least-privilege", police: "cluster_admin", attack: "T1078"},
	"secrets-read":  {practice: "listing-secrets", police: "retrieve_secrets", attack: "T1552.007"},
	"secrets-write": {police: "issue_token_secrets", attack: "T1528"},
	"pods-create":   {practice: "workload-creation", police: "assign_sa", attack: "T1610"},
	"builds-create": {code: []string{
		openshiftBuilds + "pkg/build/controller/strategy/docker.go#L69",
		openshiftBuilds + "pkg/build/controller/strategy/custom.go#L99",
	}},
	"pods-exec":          {police: "pods_exec", attack: "T1609"},
	"pods-debug":         {police: "pods_ephemeral_ctrs", attack: "T1609"},
	"nodes-proxy":        {practice: "access-to-proxy-subresource-of-nodes", police: "nodes_proxy", attack: "T1609"},
	"rbac-escalate":      {practice: "escalate-verb", police: "escalate_roles", attack: "T1098.006"},
	"rbac-bind":          {practice: "bind-verb", police: "bind_roles", attack: "T1098.006"},
	"rbac-write":         {attack: "T1098.006"},
	"impersonate":        {practice: "impersonate-verb", police: "impersonate", attack: "T1078"},
	"impersonate-groups": {practice: "impersonate-verb", police: "impersonate", attack: "T1078"},
	"users-write": {code: []string{
		openshiftTokens + "pkg/tokenvalidation/tokenauthenticator.go#L60",
		openshiftTokens + "pkg/tokenvalidation/tokenauthenticator.go#L74",
		openshiftLogin + "pkg/oauthserver/auth.go#L306",
	}},
	"impersonate-accounts":      {practice: "impersonate-verb", police: "impersonate", attack: "T1078"},
	"token-create":              {practice: "token-request", police: "token_request", attack: "T1528"},
	"csr-approve":               {practice: "csrs-and-certificate-issuing", police: "approve_csrs", attack: "T1078"},
	"webhooks-write":            {practice: "control-admission-webhooks", police: "control_webhooks"},
	"validating-webhooks-write": {practice: "control-admission-webhooks", police: "control_webhooks"},
	"namespaces-write":          {practice: "namespace-modification"},
	"volumes-create":            {practice: "persistent-volume-creation", attack: "T1611"},
	"nodes-write":               {police: "steal_pods"},
	"operators-own": {attack: "T1098.006", code: []string{
		olmv0 + "pkg/controller/registry/resolver/resolver.go#L234",
		olmv0 + "pkg/controller/operators/catalog/operator.go#L2673",
	}},
	"extensions-own": {attack: "T1098.006", code: []string{
		olmv1 + "internal/operator-controller/rukpak/render/registryv1/generators/generators.go#L189",
		olmv1 + "helm/olmv1/templates/rbac/clusterrolebinding-operator-controller-manager-rolebinding.yml#L15",
	}},
	"installplans-status": {attack: "T1098.006", code: []string{
		olmv0 + "pkg/controller/operators/catalog/operator.go#L2479",
	}},
	"csvs-write": {attack: "T1610", code: []string{
		olmv0 + "pkg/controller/install/deployment.go#L100",
		olmv0 + "pkg/controller/install/webhook.go#L77",
	}},
	"operators-install": {attack: "T1098.006", code: []string{
		olmv0 + "pkg/controller/operators/catalog/operator.go#L2654",
	}},
	"operators-steer": {code: []string{
		olmv0 + "pkg/controller/operators/catalog/operator.go#L2237",
		olmv0 + "pkg/controller/operators/olm/operatorgroup.go#L546",
	}},
	"scc-write": {attack: "T1611", code: []string{
		openshiftSCC + "sccmatching/matcher.go#L94",
		openshiftSCC + "sccmatching/provider.go#L344",
	}},
	"machines-write": {attack: "T1611", code: []string{
		openshiftMachines + "pkg/daemon/update.go#L2425",
		openshiftMachines + "pkg/daemon/update.go#L2519",
	}},
	"scc-privileged": {attack: "T1611", code: []string{
		openshiftSCC + "sccmatching/matcher.go#L71",
		openshiftSCC + "sccmatching/provider.go#L344",
	}},
	"scc-use": {attack: "T1611", code: []string{
		openshiftSCC + "sccmatching/matcher.go#L71",
	}},
	"configmaps-write": {police: "eks_modify_aws_auth"},
	"services-status":  {police: "modify_service_status_cve_2020_8554"},
}
