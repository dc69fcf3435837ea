package bundle

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

// resourceGroup is an API group whose resources are all known: those that are cluster-scoped. The others are
// namespaced.
type resourceGroup struct {
	group   string
	builtin bool     // served by every Kubernetes API server
	cluster []string // "*" for all of the group
	except  []string // with "*": what is namespaced all the same
}

// resourceGroups are the groups of Kubernetes, of OpenShift and of what operators most often ask for besides
// (Kubernetes: kubectl api-resources of 1.36; OpenShift: github.com/openshift/api).
var resourceGroups = []resourceGroup{
	{group: "", builtin: true, cluster: []string{"componentstatuses", "namespaces", "nodes", "persistentvolumes"}},
	{group: "admissionregistration.k8s.io", builtin: true,
		cluster: []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
			"mutatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings",
			"validatingwebhookconfigurations"}},
	{group: "apiextensions.k8s.io", builtin: true, cluster: []string{"customresourcedefinitions"}},
	{group: "apiregistration.k8s.io", builtin: true, cluster: []string{"apiservices"}},
	{group: "apps", builtin: true},
	{group: "authentication.k8s.io", builtin: true, cluster: []string{"selfsubjectreviews", "tokenreviews"}},
	{group: "authorization.k8s.io", builtin: true,
		cluster: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"}},
	{group: "autoscaling", builtin: true},
	{group: "batch", builtin: true},
	{group: "certificates.k8s.io", builtin: true,
		cluster: []string{"certificatesigningrequests", "clustertrustbundles", "signers"}},
	{group: "coordination.k8s.io", builtin: true},
	{group: "discovery.k8s.io", builtin: true},
	{group: "events.k8s.io", builtin: true},
	{group: "extensions", builtin: true, cluster: []string{"podsecuritypolicies"}},
	{group: "flowcontrol.apiserver.k8s.io", builtin: true,
		cluster: []string{"flowschemas", "prioritylevelconfigurations"}},
	{group: "networking.k8s.io", builtin: true, cluster: []string{"ingressclasses", "ipaddresses", "servicecidrs"}},
	{group: "node.k8s.io", builtin: true, cluster: []string{"runtimeclasses"}},
	{group: "policy", builtin: true, cluster: []string{"podsecuritypolicies"}},
	{group: "rbac.authorization.k8s.io", builtin: true, cluster: []string{"clusterrolebindings", "clusterroles"}},
	{group: "resource.k8s.io", builtin: true, cluster: []string{"deviceclasses", "devicetaintrules", "resourceslices"}},
	{group: "scheduling.k8s.io", builtin: true, cluster: []string{"priorityclasses"}},
	{group: "storage.k8s.io", builtin: true,
		cluster: []string{"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"}},
	{group: "storagemigration.k8s.io", builtin: true, cluster: []string{"storageversionmigrations"}},

	{group: "apps.openshift.io"},
	{group: "build.openshift.io"},
	{group: "config.openshift.io", cluster: []string{"*"}},
	{group: "console.openshift.io", cluster: []string{"*"}},
	{group: "image.openshift.io", cluster: []string{"images", "imagesignatures"}},
	{group: "machine.openshift.io"},
	{group: "machineconfiguration.openshift.io", cluster: []string{"*"}, except: []string{"machineosbuilds"}},
	{group: "oauth.openshift.io", cluster: []string{"*"}},
	{group: "operator.openshift.io", cluster: []string{"*"}, except: []string{"ingresscontrollers"}},
	{group: "project.openshift.io", cluster: []string{"*"}},
	{group: "quota.openshift.io", cluster: []string{"clusterresourcequotas"}},
	{group: "route.openshift.io"},
	{group: "security.openshift.io", cluster: []string{"rangeallocations", "securitycontextconstraints"}},
	{group: "template.openshift.io", cluster: []string{"brokertemplateinstances"}},
	{group: "user.openshift.io", cluster: []string{"*"}},

	{group: "acme.cert-manager.io"},
	{group: "autoscaling.k8s.io"},
	{group: "cert-manager.io", cluster: []string{"clusterissuers"}},
	{group: "gateway.networking.k8s.io", cluster: []string{"gatewayclasses"}},
	{group: "k8s.cni.cncf.io"},
	{group: "keda.sh", cluster: []string{"clustertriggerauthentications"}},
	{group: "metrics.k8s.io", cluster: []string{"nodes"}},
	{group: "monitoring.coreos.com"},
	{group: "networking.istio.io"},
	{group: olm.Group, cluster: []string{"olmconfigs", "operators"}},
	{group: olm.GroupPackages},
	{group: "security.istio.io"},
	{group: "serving.knative.dev"},
	{group: "snapshot.storage.k8s.io", cluster: []string{"volumesnapshotclasses", "volumesnapshotcontents"}},
}

func groupOf(group string) *resourceGroup {
	i := slices.IndexFunc(resourceGroups, func(g resourceGroup) bool { return g.group == group })
	if i < 0 {
		return nil
	}
	return &resourceGroups[i]
}

// BuiltinGroup reports whether every Kubernetes API server serves the API group.
func BuiltinGroup(group string) bool {
	g := groupOf(group)
	return g != nil && g.builtin
}

// ResourceScope returns whether a resource of an RBAC rule, perhaps with a subresource, is namespaced: by the bundle's
// own CRDs, then by what is known of its group. A group or resource "*" is ScopeUnknown, unless all resources of the
// group are namespaced. The resources of an unknown group are those of the bundle's CRDs.
func (b *Bundle) ResourceScope(group, resource string) Scope {
	resource, _, _ = strings.Cut(resource, "/")
	for _, c := range b.CRDs {
		if c.Group == group && c.Plural == resource {
			if c.Scope == "Cluster" {
				return ClusterScoped
			}
			return Namespaced
		}
	}
	g := groupOf(group)
	switch {
	case g == nil && resource == "*":
		return b.scopeOfAll(group)
	case g == nil:
		return ScopeUnknown
	case slices.Contains(g.except, resource):
		return Namespaced
	case resource == "*" && len(g.cluster) > 0:
		return ScopeUnknown
	case slices.Contains(g.cluster, resource), slices.Contains(g.cluster, "*"):
		return ClusterScoped
	}
	return Namespaced
}

func (b *Bundle) scopeOfAll(group string) Scope {
	scope := ScopeUnknown
	for _, c := range b.CRDs {
		if c.Group != group {
			continue
		}
		if c.Scope == "Cluster" {
			return ScopeUnknown
		}
		scope = Namespaced
	}
	return scope
}
