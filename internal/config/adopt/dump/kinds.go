package dump

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

// Kind is a kind of objects that a dump should have.
type Kind struct {
	Group, Kind string
	Resource    string // as kubectl get takes it
	Needed      bool   // the operators can't be found without it; the others are compared with what is rendered
	marked      bool   // only those with a label or an owner of OLM are kept: others are none of its business
}

// Kinds are what OLM reads and makes, and what operators make and give to their CSV, in the order of the kubectl
// command.
var Kinds = []Kind{
	{"", "Namespace", "namespaces", true, false},
	{olm.Group, "ClusterServiceVersion", "clusterserviceversions." + olm.Group, true, false},
	{olm.Group, "OperatorGroup", "operatorgroups." + olm.Group, true, false},
	{olm.Group, "Subscription", "subscriptions." + olm.Group, true, false},
	{olm.Group, "InstallPlan", "installplans." + olm.Group, true, false},
	{olm.Group, "CatalogSource", "catalogsources." + olm.Group, true, false},
	{olm.Group, "OperatorCondition", "operatorconditions." + olm.Group, false, false},
	{"apps", "Deployment", "deployments.apps", false, true},
	{"", "ServiceAccount", "serviceaccounts", false, true},
	{rbacGroup, "Role", "roles." + rbacGroup, false, false},
	{rbacGroup, "RoleBinding", "rolebindings." + rbacGroup, false, false},
	{rbacGroup, "ClusterRole", "clusterroles." + rbacGroup, false, false},
	{rbacGroup, "ClusterRoleBinding", "clusterrolebindings." + rbacGroup, false, false},
	{"apps", "StatefulSet", "statefulsets.apps", false, true},
	{"apps", "DaemonSet", "daemonsets.apps", false, true},
	{"batch", "Job", "jobs.batch", false, true},
	{"batch", "CronJob", "cronjobs.batch", false, true},
	{"", "PersistentVolumeClaim", "persistentvolumeclaims", false, true},
	{"networking.k8s.io", "Ingress", "ingresses.networking.k8s.io", false, true},
	{"", "Service", "services", false, true},
	{"", "ConfigMap", "configmaps", false, true},
	{"networking.k8s.io", "NetworkPolicy", "networkpolicies.networking.k8s.io", false, true},
	{"policy", "PodDisruptionBudget", "poddisruptionbudgets.policy", false, true},
	{"scheduling.k8s.io", "PriorityClass", "priorityclasses.scheduling.k8s.io", false, true},
	{"apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions.apiextensions.k8s.io", false, true},
	{"apiregistration.k8s.io", "APIService", "apiservices.apiregistration.k8s.io", false, true},
	{webhookGroup, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations." + webhookGroup, false, true},
	{webhookGroup, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations." + webhookGroup, false, true},
}

// ClusterCatalog is the kind of OLM v1's catalogs. A cluster without OLM v1 does not know it, and kubectl would fail.
var ClusterCatalog = Kind{olm.GroupV1, "ClusterCatalog", "clustercatalogs." + olm.GroupV1, false, false}

// others are kinds that a bundle may ship and a cluster need not know, so that kubectl is not asked for them.
var others = []Kind{
	{"monitoring.coreos.com", "PrometheusRule", "", false, true},
	{"monitoring.coreos.com", "ServiceMonitor", "", false, true},
	{"autoscaling.k8s.io", "VerticalPodAutoscaler", "", false, true},
	{"console.openshift.io", "ConsoleCLIDownload", "", false, true},
	{"console.openshift.io", "ConsoleLink", "", false, true},
	{"console.openshift.io", "ConsolePlugin", "", false, true},
	{"console.openshift.io", "ConsoleQuickStart", "", false, true},
	{"console.openshift.io", "ConsoleYAMLSample", "", false, true},
	{olm.GroupV1, "ClusterCatalog", "", false, false},
}

const (
	rbacGroup    = "rbac.authorization.k8s.io"
	webhookGroup = "admissionregistration.k8s.io"
)

// kindOf returns the kind of an object that is kept, and whether there is one.
func kindOf(apiVersion, kind string) (Kind, bool) {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	for _, list := range [][]Kind{Kinds, others} {
		i := slices.IndexFunc(list, func(k Kind) bool { return k.Kind == kind && k.Group == group })
		if i >= 0 {
			return list[i], true
		}
	}
	return Kind{}, false
}

// BuiltIn reports whether an API version is one of the API server's own, and not of a CRD.
func BuiltIn(apiVersion string) bool {
	group, _, found := strings.Cut(apiVersion, "/")
	return !found || slices.Contains(builtIn, group)
}

// builtIn are the groups that the API server serves by itself and a dump can have.
var builtIn = []string{"apps", "autoscaling", "batch", "policy", rbacGroup, webhookGroup, "apiextensions.k8s.io",
	"apiregistration.k8s.io", "networking.k8s.io", "scheduling.k8s.io"}

// Command returns the kubectl command that prints a dump of some kinds; of all without any.
func Command(kinds ...Kind) string {
	if len(kinds) == 0 {
		kinds = Kinds
	}
	var resources []string
	for _, k := range kinds {
		resources = append(resources, k.Resource)
	}
	return "kubectl get " + strings.Join(resources, ",") + " -A -o yaml"
}
