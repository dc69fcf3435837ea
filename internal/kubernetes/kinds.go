package kubernetes

import (
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
)

// kind is what the API server has for a kind of objects.
type kind struct {
	scheme   *runtime.Scheme
	strategy strategy
}

type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// kinds are those that a bundle may ship, that OLM makes of a CSV, and that stand beside them in a tree. The kinds of
// Kubernetes that are not among them need more than their own text to be judged, or stand in no tree.
var kinds = func() map[schema.GroupKind]kind {
	// As kubeadm and OpenShift have it (--allow-privileged=true): without it, Pods are refused that run there.
	capabilities.Setup(true, 0)
	crds, services := runtime.NewScheme(), runtime.NewScheme()
	apiextensions.Install(crds)
	apiregistration.Install(services)
	all := map[schema.GroupKind]kind{
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
			crds, customresourcedefinition.NewStrategy(crds)},
		{Group: "apiregistration.k8s.io", Kind: "APIService"}: {services, apiservice.NewStrategy(services)},
	}
	for name, s := range map[string]strategy{
		"ConfigMap":                             configmap.Strategy,
		"LimitRange":                            limitrange.Strategy,
		"Namespace":                             namespace.Strategy,
		"PersistentVolumeClaim":                 persistentvolumeclaim.Strategy,
		"Pod":                                   pod.Strategy,
		"ResourceQuota":                         resourcequota.Strategy,
		"Secret":                                secret.Strategy,
		"Service":                               service.Strategy,
		"ServiceAccount":                        serviceaccount.Strategy,
		"DaemonSet.apps":                        daemonset.Strategy,
		"Deployment.apps":                       deployment.Strategy,
		"StatefulSet.apps":                      statefulset.Strategy,
		"CronJob.batch":                         cronjob.Strategy,
		"Job.batch":                             job.Strategy,
		"Lease.coordination.k8s.io":             lease.Strategy,
		"PodDisruptionBudget.policy":            poddisruptionbudget.Strategy,
		"StorageClass.storage.k8s.io":           storageclass.Strategy,
		"PriorityClass.scheduling.k8s.io":       priorityclass.Strategy,
		"HorizontalPodAutoscaler.autoscaling":   horizontalpodautoscaler.Strategy,
		"Ingress.networking.k8s.io":             ingress.Strategy,
		"NetworkPolicy.networking.k8s.io":       networkpolicy.Strategy,
		"ClusterRole.rbac.authorization.k8s.io": clusterrole.Strategy,
		"ClusterRoleBinding.rbac.authorization.k8s.io":                clusterrolebinding.Strategy,
		"Role.rbac.authorization.k8s.io":                              role.Strategy,
		"RoleBinding.rbac.authorization.k8s.io":                       rolebinding.Strategy,
		"MutatingWebhookConfiguration.admissionregistration.k8s.io":   mutatingwebhookconfiguration.Strategy,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": validatingwebhookconfiguration.Strategy,
	} {
		name, group, _ := strings.Cut(name, ".")
		all[schema.GroupKind{Group: group, Kind: name}] = kind{legacyscheme.Scheme, s}
	}
	return all
}()
