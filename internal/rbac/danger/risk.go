// Package danger says how bad a right is.
//
// Risk is what a person asks about: does it read Secrets? Scopes.RiskOf groups rights by it. A Consequence is what
// follows from rights that do not look like it, and Scopes.Level is the worst of these.
package danger

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// Risk groups permissions by what a person asks.
type Risk string

// The risks, the most dangerous first. NoEffect is what Kubernetes never asks for at that place.
const (
	Everything   Risk = "everything"
	ReadsSecrets Risk = "reads-secrets"
	WritesRBAC   Risk = "writes-rbac"
	RunsInPods   Risk = "runs-in-pods"
	Impersonates Risk = "impersonates"
	Installs     Risk = "installs-operators"
	ReachesNodes Risk = "reaches-nodes"
	ChangesAPIs  Risk = "changes-webhooks-crds"
	Other        Risk = "other"
	NoEffect     Risk = "no-effect"
)

// Dangerous are the risks that a person asks about, in their order.
var Dangerous = []Risk{Everything, ReadsSecrets, WritesRBAC, RunsInPods, Impersonates, ReachesNodes, Installs,
	ChangesAPIs}

// Risks are all risks in their order.
var Risks = append(slices.Clone(Dangerous), Other, NoEffect)

// title is the heading of a risk.
var title = map[Risk]string{
	Everything:   "everything (wildcards)",
	ReadsSecrets: "reads Secrets",
	WritesRBAC:   "writes RBAC",
	RunsInPods:   "runs in pods",
	Impersonates: "impersonates",
	ReachesNodes: "reaches nodes",
	Installs:     "installs operators",
	ChangesAPIs:  "changes webhooks and CRDs",
	Other:        "the rest",
	NoEffect:     "without effect",
}

// Title returns the heading of a risk.
func (r Risk) Title() string { return title[r] }

// pattern matches atoms that allow at least one of its verbs on at least one of its resources.
type pattern struct {
	groups, resources, verbs []string
}

const (
	groupRBAC         = "rbac.authorization.k8s.io"
	groupAdmission    = "admissionregistration.k8s.io"
	groupExtensions   = "apiextensions.k8s.io"
	groupRegistration = "apiregistration.k8s.io"
	groupCertificates = "certificates.k8s.io"
	groupAuthn        = "authentication.k8s.io"
	groupAuthz        = "authorization.k8s.io"
	groupSCC          = "security.openshift.io"
	groupUsers        = "user.openshift.io"
	groupOAuth        = "oauth.openshift.io"
	groupMachines     = "machineconfiguration.openshift.io"
	groupBuilds       = "build.openshift.io"
)

var (
	core    = []string{""}
	reading = []string{"get", "list", "watch"}
	writing = []string{"create", "update", "patch"}
	// changing is writing, and removing what protects the cluster
	changing = []string{"create", "update", "patch", "delete", "deletecollection"}

	// A request that changes an object returns it (Kubernetes: apiserver/pkg/endpoints/handlers).
	secretsRead   = pattern{core, []string{"secrets"}, slices.Concat(reading, []string{"patch", "update"})}
	secretsRemove = pattern{core, []string{"secrets"}, []string{"deletecollection"}}
	roleWrite     = pattern{[]string{groupRBAC, "authorization.openshift.io"},
		[]string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"},
		append([]string{"bind", "escalate"}, changing...)}
	podWrite  = pattern{core, []string{"pods"}, writing}
	podCreate = with(podWrite, "create")
	podChange = pattern{core, []string{"pods"}, []string{"update", "patch"}}
	rcWrite   = pattern{core, []string{"replicationcontrollers"}, writing}
	podDebug  = pattern{core, []string{"pods/ephemeralcontainers"}, []string{"update", "patch"}}
	appsWrite = pattern{[]string{"apps", "extensions"},
		[]string{"deployments", "statefulsets", "daemonsets", "replicasets"}, writing}
	batchWrite = pattern{[]string{"batch"}, []string{"jobs", "cronjobs"}, writing}
	dcWrite    = pattern{[]string{"apps.openshift.io"}, []string{"deploymentconfigs"}, writing}
	// A WebSocket request is a get, which was enough before Kubernetes 1.35 (pkg/features/kube_features.go,
	// AuthorizePodWebsocketUpgradeCreatePermission).
	podExec    = pattern{core, []string{"pods/exec", "pods/attach"}, []string{"create", "get"}}
	podReach   = pattern{core, []string{"pods/portforward", "pods/proxy"}, []string{"create", "get"}}
	nodesProxy = pattern{core, []string{"nodes/proxy"}, []string{"get", "create"}}

	// Since Kubernetes 1.35 a verb of its own limits what somebody is impersonated for (KEP-5284).
	asUser              = []string{"impersonate", "impersonate:user-info"}
	impersonateUsers    = pattern{[]string{"", groupAuthn}, []string{"users"}, asUser}
	impersonateGroups   = pattern{[]string{"", groupAuthn}, []string{"groups"}, asUser}
	impersonateAccounts = pattern{[]string{"", groupAuthn}, []string{"serviceaccounts"},
		[]string{"impersonate", "impersonate:serviceaccount"}}
	impersonateExtra = pattern{[]string{groupAuthn}, []string{"uids", "userextras", "userextras/*"}, asUser}
	usersWrite       = pattern{[]string{groupUsers}, []string{"users", "groups", "identities", "useridentitymappings"},
		writing}
	oauthWrite = pattern{[]string{groupOAuth}, []string{"oauthaccesstokens", "oauthauthorizetokens", "oauthclients"},
		writing}
	identityProviders = pattern{[]string{"config.openshift.io"}, []string{"oauths"}, writing}
	buildsCreate      = pattern{[]string{groupBuilds, ""}, []string{"builds", "buildconfigs",
		"buildconfigs/instantiate", "buildconfigs/instantiatebinary", "builds/clone"}, writing}
	sccWrite      = pattern{[]string{groupSCC}, []string{"securitycontextconstraints"}, writing}
	sccUse        = pattern{[]string{groupSCC}, []string{"securitycontextconstraints"}, []string{"use"}}
	machinesWrite = pattern{[]string{groupMachines}, []string{"machineconfigs", "machineconfigpools",
		"kubeletconfigs", "containerruntimeconfigs"}, writing}
	// OLM grants what a ClusterServiceVersion asks for, and installs what a Subscription or ClusterExtension names.
	olmInstall     = pattern{[]string{olm.Group}, []string{"subscriptions", "installplans"}, []string{"create"}}
	olmSubscribe   = pattern{[]string{olm.Group}, []string{"subscriptions"}, writing}
	csvWrite       = pattern{[]string{olm.Group}, []string{"clusterserviceversions"}, writing}
	catalogWrite   = pattern{[]string{olm.Group}, []string{"catalogsources"}, writing}
	planStatus     = pattern{[]string{olm.Group}, []string{"installplans/status"}, []string{"update", "patch"}}
	extWrite       = pattern{[]string{olm.GroupV1}, []string{"clusterextensions"}, writing}
	v1CatalogWrite = pattern{[]string{olm.GroupV1}, []string{"clustercatalogs"}, writing}
	olmSteer       = []pattern{{[]string{olm.Group}, []string{"operatorgroups"}, writing}, catalogWrite,
		v1CatalogWrite, {[]string{olm.Group}, []string{"subscriptions", "installplans"}, []string{"update", "patch"}}}
	tokenCreate = pattern{core, []string{"serviceaccounts/token"}, []string{"create"}}
	csrApprove  = pattern{[]string{groupCertificates}, []string{"certificatesigningrequests/approval"},
		[]string{"update", "patch"}}
	csrSigner = pattern{[]string{groupCertificates}, []string{"signers"}, []string{"approve", "sign"}}

	webhookWrite = pattern{[]string{groupAdmission}, []string{"mutatingwebhookconfigurations",
		"validatingwebhookconfigurations"}, changing}
	policyWrite = pattern{[]string{groupAdmission}, []string{
		"validatingadmissionpolicies", "validatingadmissionpolicybindings",
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}, changing}
	crdWrite        = pattern{[]string{groupExtensions}, []string{"customresourcedefinitions"}, changing}
	apiServiceWrite = pattern{[]string{groupRegistration}, []string{"apiservices"}, changing}
)

// Facet is a part of a risk.
type Facet struct {
	Name     string // empty if the risk says it
	patterns []pattern
}

// facets are the dangerous rights: those that make a risk, apart from rules about all resources.
var facets = map[Risk][]Facet{
	ReadsSecrets: {{"", []pattern{secretsRead}}},
	WritesRBAC: {{"escalate", []pattern{with(roleWrite, "escalate")}}, {"bind", []pattern{with(roleWrite, "bind")}},
		{"", []pattern{roleWrite}}},
	RunsInPods: {{"exec", []pattern{podExec}}, {"port-forward", []pattern{podReach}},
		{"debug containers", []pattern{podDebug}}, {"pods", []pattern{podWrite}},
		{"workloads", []pattern{rcWrite, appsWrite, batchWrite, dcWrite}}, {"builds", []pattern{buildsCreate}},
		{"nodes/proxy", []pattern{nodesProxy}}},
	Impersonates: {{"users", []pattern{impersonateUsers, impersonateGroups, impersonateExtra}},
		{"users of OpenShift", []pattern{usersWrite, oauthWrite, identityProviders}},
		{"accounts", []pattern{impersonateAccounts}}, {"tokens of accounts", []pattern{tokenCreate}},
		{"certificates", []pattern{csrApprove, csrSigner}}},
	ReachesNodes: {{"writes SecurityContextConstraints", []pattern{sccWrite}},
		{"uses SecurityContextConstraints", []pattern{sccUse}}, {"machine configurations", []pattern{machinesWrite}}},
	Installs: {{"", append([]pattern{olmInstall, csvWrite, planStatus, extWrite}, olmSteer...)}},
	ChangesAPIs: {{"webhooks", []pattern{webhookWrite}}, {"admission policies", []pattern{policyWrite}},
		{"CRDs", []pattern{crdWrite}}, {"APIServices", []pattern{apiServiceWrite}}},
}

// Facets returns the parts of a risk that a rule allows something of, with an effect at a place.
func (s Scopes) Facets(risk Risk, rule rbacv1.PolicyRule, place string) []Facet {
	return lists.Filter(facets[risk], func(f Facet) bool { return s.allowAny(f.patterns, rule, place) })
}

// FacetNames returns the names of all parts of a risk, in their order.
func (r Risk) FacetNames() []string {
	names := lists.Map(facets[r], func(f Facet) string { return f.Name })
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

func with(p pattern, verb string) pattern {
	p.verbs = []string{verb}
	return p
}

// matches reports whether a resource of a rule is one of a pattern: a resource, or any subresource of it (r/*).
func matches(given, r string) bool {
	if parent, any := strings.CutSuffix(r, rbac.All); any {
		return given == rbac.All || strings.HasPrefix(given, parent)
	}
	return rbac.ResourceMatches(given, r)
}

// harmless reports whether the name that an atom is limited to takes its danger away.
func harmless(a rbac.Atom) bool {
	switch {
	case !a.Named:
		return false
	case a.Verb == "create" && !strings.Contains(a.Resource, "/"):
		return true // the name of a new object is not known when the right to create it is asked for
	case a.Verb == "use":
		return a.Group == groupSCC && Restricted(a.Name)
	}
	// a signer whose certificates the API server does not take for users
	return a.Group == groupCertificates && a.Resource == "signers" && !strings.HasPrefix(a.Name, "kubernetes.io/")
}

// Restricted reports whether SecurityContextConstraints of a name let a pod do no more than it may by default
// (OpenShift: cluster-kube-apiserver-operator, bindata/assets/kube-apiserver/scc-restricted*.yaml).
func Restricted(name string) bool { return strings.HasPrefix(name, "restricted") }

// allow reports whether a rule allows something that a pattern describes, with an effect at a place.
func (s Scopes) allow(p pattern, rule rbacv1.PolicyRule, place string) bool {
	return slices.ContainsFunc(p.groups, func(group string) bool {
		if !rbac.Has(rule.APIGroups, group) {
			return false // before the rest: it tells most rules apart
		}
		verb := slices.IndexFunc(p.verbs, func(v string) bool { return rbac.Has(rule.Verbs, v) })
		return verb >= 0 && slices.ContainsFunc(p.resources, func(resource string) bool {
			return !s.withoutEffect(rbac.Atom{Group: group, Resource: resource, Verb: p.verbs[verb]}, place) &&
				slices.ContainsFunc(rule.Resources, func(given string) bool { return matches(given, resource) })
		})
	})
}

func (s Scopes) allowAny(patterns []pattern, rule rbacv1.PolicyRule, place string) bool {
	return slices.ContainsFunc(patterns, func(p pattern) bool { return s.allow(p, rule, place) })
}

// Scopes is what is known of a cluster: its cluster-scoped resources, and what ClusterRoles allow.
type Scopes struct {
	resources map[string][]string // cluster-scoped, that CustomResourceDefinitions define, by group

	Role func(name string) []rbacv1.PolicyRule // the rules of a ClusterRole; none of one that is not known
}

// NewScopes returns what is known of every cluster, which AddCRD adds to.
func NewScopes() Scopes { return Scopes{map[string][]string{}, rbac.DefaultRules} }

// AddCRD adds the resource of a CustomResourceDefinition if it is cluster-scoped.
func (s Scopes) AddCRD(o *manifest.Object) error {
	k, err := olm.DefinedKind(o)
	if err != nil {
		return err
	}
	if !k.Namespaced {
		s.resources[k.Group] = append(s.resources[k.Group], k.Plural)
	}
	return nil
}

// withoutEffect reports whether no request can match an atom at a place.
func (s Scopes) withoutEffect(a rbac.Atom, place string) bool {
	switch {
	case place == "":
		return false
	case a.IsURL:
		return true
	case a.Group == rbac.All || a.Resource == rbac.All:
		// A wildcard holds for what is in the namespace, unless the whole group is cluster-scoped.
		return olm.AllScoped(a.Group, false)
	case AskedInNamespace(a.Group, a.Resource, a.Verb):
		return false
	}
	resource, _, _ := strings.Cut(a.Resource, "/")
	namespaced, known := olm.NamespacedResource(a.Group, resource)
	return known && !namespaced || slices.Contains(s.resources[a.Group], resource) ||
		slices.ContainsFunc(platforms(), func(r row) bool { return slices.Contains(r.ClusterKinds[a.Group], resource) })
}

// AskedInNamespace reports whether a verb on a cluster-scoped resource is asked for with a namespace, so that a
// RoleBinding grants it. An API server takes a request for one Namespace as one in it (Kubernetes:
// staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go), and asks for bind in the namespace of the binding
// (pkg/registry/rbac/escalation_check.go, BindingAuthorized). OpenShift asks for use in the namespace of the pod
// (apiserver-library-go: pkg/securitycontextconstraints/sccmatching/matcher.go, authorizedForSCC). "*" has more.
func AskedInNamespace(group, resource, verb string) bool {
	var verbs []string
	switch {
	case group == "" && resource == "namespaces":
		verbs = []string{"get", "update", "patch", "delete"}
	case group == groupSCC && resource == "securitycontextconstraints",
		group == "policy" && resource == "podsecuritypolicies": // the same, up to Kubernetes v1.24
		verbs = []string{"use"}
	case group == groupRBAC && resource == "clusterroles":
		verbs = []string{"bind"}
	}
	return len(verbs) > 0 && (verb == rbac.All || slices.Contains(verbs, verb))
}

// Vain reports whether an atom matches no request anywhere. Only the resources "*" and "*/SUBRESOURCE" stand for
// others (Kubernetes: pkg/apis/rbac/v1/evaluation_helpers.go), groups and resources have no capitals, and only roles
// such names.
func Vain(a rbac.Atom) bool {
	resource, sub, _ := strings.Cut(a.Resource, "/")
	return !a.IsURL && (sub == rbac.All || resource != strings.ToLower(resource) ||
		a.Group != strings.ToLower(a.Group) || a.Named && a.Name == rbac.All && a.Group != groupRBAC)
}

// RiskOf returns the first risk that an atom is part of at a place.
func (s Scopes) RiskOf(a rbac.Atom, place string) Risk {
	switch {
	case Vain(a), s.withoutEffect(a, place):
		return NoEffect
	case a.IsURL || harmless(a):
		return Other
	case !a.Named && a.Resource == rbac.All && (a.Group == rbac.All || a.Group == ""):
		return Everything
	}
	rule := rbacv1.PolicyRule{Verbs: []string{a.Verb}, APIGroups: []string{a.Group}, Resources: []string{a.Resource}}
	return cmp.Or(lists.Find(Dangerous, func(r Risk) bool {
		return slices.ContainsFunc(facets[r], func(f Facet) bool { return s.allowAny(f.patterns, rule, "") })
	}), Other)
}

var reads = lazy.Regexp(`(^|[-:. ])(view|viewer|read|reader|watch|watcher|list|get|metrics|discovery)([-:. ]|$)`)

// ReadsByName reports whether the name of a role says that it only reads, as metrics-reader and node-viewer do.
func ReadsByName(role string) bool { return reads().MatchString(role) }
