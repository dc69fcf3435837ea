package permissions

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
)

// Risk groups permissions by what a person asks.
type Risk string

// The risks, the most dangerous first. NoEffect is what Kubernetes never asks for at that place: a cluster-scoped
// resource, or a URL, in a namespace.
const (
	Everything   Risk = "everything"
	ReadsSecrets Risk = "reads-secrets"
	WritesRBAC   Risk = "writes-rbac"
	RunsInPods   Risk = "runs-in-pods"
	Impersonates Risk = "impersonates"
	ChangesAPIs  Risk = "changes-webhooks-crds"
	Other        Risk = "other"
	NoEffect     Risk = "no-effect"
)

// Risks are all risks in their order.
var Risks = []Risk{Everything, ReadsSecrets, WritesRBAC, RunsInPods, Impersonates, ChangesAPIs, Other, NoEffect}

// title is the heading of a risk.
var title = map[Risk]string{
	Everything:   "everything (wildcards)",
	ReadsSecrets: "reads Secrets",
	WritesRBAC:   "writes RBAC",
	RunsInPods:   "runs in pods",
	Impersonates: "impersonates",
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
	groupSCC          = "security.openshift.io"
)

var (
	core    = []string{""}
	reading = []string{"get", "list", "watch"}
	writing = []string{"create", "update", "patch"}
	// changing is writing, and removing what protects the cluster
	changing = []string{"create", "update", "patch", "delete", "deletecollection"}

	secretsRead = pattern{core, []string{"secrets"}, reading}
	roleWrite   = pattern{[]string{groupRBAC, "authorization.openshift.io"},
		[]string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"},
		append([]string{"bind", "escalate"}, changing...)}
	podWrite  = pattern{core, []string{"pods", "replicationcontrollers"}, writing}
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

	impersonateUsers    = pattern{core, []string{"users", "groups"}, []string{"impersonate"}}
	impersonateAccounts = pattern{core, []string{"serviceaccounts"}, []string{"impersonate"}}
	impersonateExtra    = pattern{[]string{groupAuthn}, []string{"uids", "userextras"}, []string{"impersonate"}}
	tokenCreate         = pattern{core, []string{"serviceaccounts/token"}, []string{"create"}}
	csrApprove          = pattern{[]string{groupCertificates}, []string{"certificatesigningrequests/approval"},
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

var byRisk = map[Risk][]pattern{
	ReadsSecrets: {secretsRead},
	WritesRBAC:   {roleWrite},
	RunsInPods:   {podExec, podReach, podDebug, podWrite, appsWrite, batchWrite, dcWrite, nodesProxy},
	Impersonates: {impersonateUsers, impersonateAccounts, impersonateExtra, tokenCreate, csrApprove, csrSigner},
	ChangesAPIs:  {webhookWrite, policyWrite, crdWrite, apiServiceWrite},
}

// touches reports whether an atom allows something that the pattern describes.
func (p pattern) touches(a rbac.Atom) bool {
	return !a.IsURL && !ownSigner(a) && in(p.verbs, a.Verb) && in(p.groups, a.Group) &&
		slices.ContainsFunc(p.resources, func(r string) bool { return resourceMatches(a.Resource, r) })
}

// ownSigner reports whether an atom is about a signer whose certificates the API server does not take for users.
func ownSigner(a rbac.Atom) bool {
	return a.Group == groupCertificates && a.Resource == "signers" && a.Named &&
		!strings.HasPrefix(a.Name, "kubernetes.io/")
}

// allowedBy reports whether an item allows something that the pattern describes, with an effect at a place.
func (p pattern) allowedBy(i Item, place string, s scopes) bool {
	verb := slices.IndexFunc(p.verbs, func(v string) bool {
		return slices.Contains(i.Verbs, v) || slices.Contains(i.Verbs, all)
	})
	if verb < 0 {
		return false
	}
	for _, group := range p.groups {
		if !slices.Contains(i.APIGroups, group) && !slices.Contains(i.APIGroups, all) {
			continue
		}
		for _, resource := range p.resources {
			if s.withoutEffect(rbac.Atom{Group: group, Resource: resource, Verb: p.verbs[verb]}, place) {
				continue
			}
			if slices.ContainsFunc(i.Resources, func(r string) bool { return resourceMatches(r, resource) }) {
				return true
			}
		}
	}
	return false
}

func in(list []string, given string) bool { return given == all || slices.Contains(list, given) }

// resourceMatches is Kubernetes' ResourceMatches (pkg/apis/rbac/v1/evaluation_helpers.go).
func resourceMatches(given, asked string) bool {
	if given == all || given == asked {
		return true
	}
	sub, ok := strings.CutPrefix(given, "*/")
	return ok && strings.HasSuffix(asked, "/"+sub)
}

func touchesAny(a rbac.Atom, patterns []pattern) bool {
	return slices.ContainsFunc(patterns, func(p pattern) bool { return p.touches(a) })
}

// sweeping reports whether an atom is about all resources, or all those of Kubernetes' core group.
func sweeping(a rbac.Atom) bool {
	return !a.IsURL && !a.Named && a.Resource == all && (a.Group == all || a.Group == "")
}

// scopes knows the cluster-scoped resources, by group.
type scopes map[string][]string

// clusterScoped are Kubernetes' and OpenShift's cluster-scoped resources that operators ask for. A request
// about one Namespace has it as its namespace, so a rule about Namespaces holds there.
var clusterScoped = scopes{
	"":                     {"nodes", "persistentvolumes", "componentstatuses", "users", "groups"},
	groupRBAC:              {"clusterroles", "clusterrolebindings"},
	groupAdmission:         {all},
	groupExtensions:        {all},
	groupRegistration:      {all},
	groupCertificates:      {all},
	groupAuthn:             {all},
	"authorization.k8s.io": {"subjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"},
	"storage.k8s.io": {"storageclasses", "volumeattachments", "csidrivers", "csinodes",
		"volumeattributesclasses"},
	"scheduling.k8s.io":            {"priorityclasses"},
	"node.k8s.io":                  {"runtimeclasses"},
	"flowcontrol.apiserver.k8s.io": {all},
	"networking.k8s.io":            {"ingressclasses", "ipaddresses", "servicecidrs"},
	groupSCC:                       {"securitycontextconstraints"},
	"config.openshift.io":          {all},
	"operator.openshift.io":        nil, // some of its kinds are namespaced
	olm.GroupV1:                    {all},
}

// withoutEffect reports whether no request can match an atom at a place.
func (s scopes) withoutEffect(a rbac.Atom, place string) bool {
	switch {
	case place == "":
		return false
	case a.IsURL:
		return true
	case a.Group == all || a.Resource == all:
		// A wildcard holds for what is in the namespace, unless the whole group is cluster-scoped.
		return slices.Contains(s[a.Group], all)
	case a.Group == "" && a.Resource == "namespaces":
		return a.Verb == "create" || a.Verb == "list" || a.Verb == "watch" || a.Verb == "deletecollection"
	case a.Verb == "use" && a.Group == groupSCC:
		return false // OpenShift asks for it in the namespace of the pod
	case a.Verb == "bind" && a.Group == groupRBAC:
		return false // asked for in the namespace of the binding (Kubernetes: pkg/registry/rbac/escalation_check.go)
	}
	resource, _, _ := strings.Cut(a.Resource, "/")
	return listed(s[a.Group], resource)
}

func listed(list []string, resource string) bool {
	return slices.Contains(list, all) || slices.Contains(list, resource)
}

// riskOf returns the first risk that an atom is part of.
func (s scopes) riskOf(a rbac.Atom, place string) Risk {
	switch {
	case s.withoutEffect(a, place):
		return NoEffect
	case sweeping(a):
		return Everything
	}
	for _, r := range Risks {
		if touchesAny(a, byRisk[r]) {
			return r
		}
	}
	return Other
}
