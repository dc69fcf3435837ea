package dump

import (
	"cmp"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Kind is a kind of objects that a dump should have.
type Kind struct {
	Group, Kind string
	Needed      bool // the operators can't be found without it; the others are compared with what is rendered
	marked      bool // only those with a label or an owner of OLM are kept: others are none of its business
}

// Kinds are what OLM reads and makes, and what operators make and give to their CSV, in kubectl's order.
var Kinds = []Kind{
	{"", "Namespace", true, false},
	{olm.Group, "ClusterServiceVersion", true, false},
	{olm.Group, "OperatorGroup", true, false},
	{olm.Group, "Subscription", true, false},
	{olm.Group, "InstallPlan", true, false},
	{olm.Group, "CatalogSource", true, false},
	{olm.Group, "OperatorCondition", false, false},
	{"apps", "Deployment", false, true},
	{"", "ServiceAccount", false, true},
	{rbacGroup, "Role", false, false},
	{rbacGroup, "RoleBinding", false, false},
	{rbacGroup, "ClusterRole", false, false},
	{rbacGroup, "ClusterRoleBinding", false, false},
	{"apps", "StatefulSet", false, true},
	{"apps", "DaemonSet", false, true},
	{"batch", "Job", false, true},
	{"batch", "CronJob", false, true},
	{"", "PersistentVolumeClaim", false, true},
	{"networking.k8s.io", "Ingress", false, true},
	{"", "Service", false, true},
	{"", "ConfigMap", false, true},
	{"networking.k8s.io", "NetworkPolicy", false, true},
	{"policy", "PodDisruptionBudget", false, true},
	{"scheduling.k8s.io", "PriorityClass", false, true},
	{"apiextensions.k8s.io", "CustomResourceDefinition", false, true},
	{"apiregistration.k8s.io", "APIService", false, true},
	{webhookGroup, "ValidatingWebhookConfiguration", false, true},
	{webhookGroup, "MutatingWebhookConfiguration", false, true},
}

// ClusterCatalog is the kind of OLM v1's catalogs. A cluster without OLM v1 does not know it, and kubectl would fail.
var ClusterCatalog = Kind{olm.GroupV1, olm.KindClusterCatalog, false, false}

// ClusterVersion is the kind that has the release of OpenShift. Other clusters do not know it.
var ClusterVersion = Kind{"config.openshift.io", "ClusterVersion", false, false}

// optionalKinds are kinds that a bundle may ship and a cluster need not know, so that kubectl is not asked for them.
var optionalKinds = []Kind{
	{"monitoring.coreos.com", "PrometheusRule", false, true},
	{"monitoring.coreos.com", "ServiceMonitor", false, true},
	{"autoscaling.k8s.io", "VerticalPodAutoscaler", false, true},
	{"console.openshift.io", "ConsoleCLIDownload", false, true},
	{"console.openshift.io", "ConsoleLink", false, true},
	{"console.openshift.io", "ConsolePlugin", false, true},
	{"console.openshift.io", "ConsoleQuickStart", false, true},
	{"console.openshift.io", "ConsoleYAMLSample", false, true},
	ClusterCatalog,
	ClusterVersion,
}

const (
	rbacGroup    = "rbac.authorization.k8s.io"
	webhookGroup = "admissionregistration.k8s.io"
)

// kindOf returns the kind of an object that is kept, and whether there is one.
func kindOf(apiVersion, kind string) (Kind, bool) {
	group := manifest.GroupOf(apiVersion)
	is := func(k Kind) bool { return k.Kind == kind && k.Group == group }
	k := cmp.Or(lists.Find(Kinds, is), lists.Find(optionalKinds, is))
	return k, k.Kind != ""
}

// Command returns the kubectl command that prints a dump of some kinds; of all without any.
func Command(kinds ...Kind) string {
	if len(kinds) == 0 {
		kinds = Kinds
	}
	resources := lists.Map(kinds, func(k Kind) string {
		known, _ := olm.KindOf(k.Group, k.Kind)
		return known.Resource()
	})
	return "kubectl get " + strings.Join(resources, ",") + " -A -o yaml"
}
