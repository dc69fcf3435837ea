package normalize

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A default is a value that the API server fills in, or that OLM's Go types always write. It goes from both sides.
type defaultValue struct {
	kinds string
	path  string // from the root; "*" is every element of a list, "**" any way down
	value any    // or a func of the map that holds the field
}

var (
	none = map[string]any{}
	zero = []any{}
)

const (
	webhooks = "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
	// workloads have pods
	workloads = "Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob Pod PodTemplate"
)

// defaults are applied in this order: a map that is empty when its fields are gone can follow them.
var defaults = []defaultValue{
	{"OperatorGroup", "spec.upgradeStrategy", "Default"},
	{"OperatorGroup", "spec", none},

	// pods, also those in a CSV, whose CRD has a few of the same defaults
	{workloads + " ClusterServiceVersion", "**.ports.*.protocol", "TCP"},
	{workloads + " ClusterServiceVersion", "**.env.*.value", ""},
	{workloads + " ClusterServiceVersion", "**.resourceFieldRef.divisor", "0"},
	{workloads + " ClusterServiceVersion", "**.fileKeyRef.optional", false},
	{workloads + " ClusterServiceVersion", "**.grpc.service", ""},
	{workloads + " ClusterServiceVersion", "**.resources", none},
	{workloads + " ClusterServiceVersion", "**.strategy", none},
	{"ClusterServiceVersion",
		"**.{secretKeyRef,configMapKeyRef,secretRef,configMapRef,configMap,secret,nodePublishSecretRef}.name", ""},
	{"ClusterServiceVersion", "**.imagePullSecrets.*.name", ""},
	{"ClusterServiceVersion", "**.hostAliases.*.ip", ""},
	{workloads + " ClusterServiceVersion", "**.iscsi.iscsiInterface", "default"},
	{workloads + " ClusterServiceVersion", "**.rbd.keyring", "/etc/ceph/keyring"},
	{workloads + " ClusterServiceVersion", "**.rbd.pool", "rbd"},
	{workloads + " ClusterServiceVersion", "**.rbd.user", "admin"},
	{workloads + " ClusterServiceVersion", "**.azureDisk.fsType", "ext4"},
	{workloads + " ClusterServiceVersion", "**.azureDisk.readOnly", false},
	{workloads + " ClusterServiceVersion", "**.scaleIO.fsType", "xfs"},
	{workloads + " ClusterServiceVersion", "**.scaleIO.storageMode", "ThinProvisioned"},
	{"ClusterServiceVersion", "spec.install.spec.deployments.*.spec.template.metadata", none},
	{"ClusterServiceVersion",
		"spec.{customresourcedefinitions,apiservicedefinitions}.{owned,required}.*.resources.*.name", ""},
	{"ClusterServiceVersion", "spec.{customresourcedefinitions,apiservicedefinitions}", none},
	{"ClusterServiceVersion", "spec.webhookdefinitions.*.containerPort", 443.0},
	{"ClusterServiceVersion", "spec.cleanup.enabled", false},
	{"ClusterServiceVersion", "spec.cleanup", none},
	{"ClusterServiceVersion", "spec.provider", none},
	{"ClusterServiceVersion", "spec.version", "0.0.0"},

	{"Deployment StatefulSet ReplicaSet ReplicationController", "spec.replicas", 1.0},
	{"Deployment StatefulSet DaemonSet", "spec.revisionHistoryLimit", 10.0},
	{"StatefulSet DaemonSet", "spec.updateStrategy.type", "RollingUpdate"},
	{"DaemonSet StatefulSet", "spec.updateStrategy.rollingUpdate.maxUnavailable", 1.0},
	{"DaemonSet", "spec.updateStrategy.rollingUpdate.maxSurge", 0.0},
	{"StatefulSet", "spec.updateStrategy.rollingUpdate.partition", 0.0},
	{"StatefulSet DaemonSet", "spec.updateStrategy.rollingUpdate", none},
	{"StatefulSet DaemonSet", "spec.updateStrategy", none},
	{"StatefulSet", "spec.podManagementPolicy", "OrderedReady"},
	{"StatefulSet", "spec.persistentVolumeClaimRetentionPolicy.{whenDeleted,whenScaled}", "Retain"},
	{"StatefulSet", "spec.persistentVolumeClaimRetentionPolicy", none},
	{"StatefulSet", "spec.volumeClaimTemplates.*.apiVersion", "v1"},
	{"StatefulSet", "spec.volumeClaimTemplates.*.kind", "PersistentVolumeClaim"},
	{"StatefulSet", "spec.volumeClaimTemplates.*.status.phase", "Pending"},
	{"StatefulSet", "spec.volumeClaimTemplates.*.spec.volumeMode", "Filesystem"},
	{"StatefulSet", "spec.volumeClaimTemplates.*.{spec,status}", none},
	{"Job", "spec.backoffLimit", given("backoffLimitPerIndex", float64(math.MaxInt32), 6.0)},
	{"Job", "spec.podReplacementPolicy", given("podFailurePolicy", "Failed", "TerminatingOrFailed")},
	{"Job", "spec.{completions,parallelism}", 1.0},
	{"Job", "spec.completionMode", "NonIndexed"},
	{"Job", "spec.manualSelector", false},
	{"Job CronJob", "**.onPodConditions.*.status", "True"},
	{"Job CronJob", "**.{onPodConditions,values}", zero},
	{"CronJob", "spec.concurrencyPolicy", "Allow"},
	{"CronJob", "spec.successfulJobsHistoryLimit", 3.0},
	{"CronJob", "spec.failedJobsHistoryLimit", 1.0},
	{"CronJob Job", "spec.suspend", false},
	{"Deployment", "spec.progressDeadlineSeconds", 600.0},
	{"Deployment", "spec.{minReadySeconds,paused}", isZero},
	{"Deployment", "spec.strategy.rollingUpdate.{maxSurge,maxUnavailable}", "25%"},
	{"Deployment", "spec.strategy.rollingUpdate", none},
	{"Deployment", "spec.strategy.type", "RollingUpdate"},
	{"Deployment", "spec.strategy", none},
	{workloads, "**.template.metadata.annotations", none},
	{workloads, "**.spec.dnsPolicy", "ClusterFirst"},
	{workloads, "**.spec.enableServiceLinks", true},
	{workloads, "**.spec.restartPolicy", "Always"},
	{workloads, "**.spec.schedulerName", "default-scheduler"},
	{workloads, "**.spec.terminationGracePeriodSeconds", 30.0},
	{workloads, "**.spec.securityContext", none},
	{workloads, "**.spec.serviceAccount", fieldOf("serviceAccountName")},
	{workloads, "**.spec.{hostNetwork,hostPID,hostIPC}", false},
	{workloads, "**.imagePullPolicy", pullPolicy},
	{workloads, "**.volumes.*.image.pullPolicy", pullPolicy},
	{workloads, "**.volumes.*.emptyDir", none},
	{workloads, "**.preference", none},
	{workloads, "**.terminationMessagePath", "/dev/termination-log"},
	{workloads, "**.terminationMessagePolicy", "File"},
	{workloads, "**.{stdin,stdinOnce,tty}", false},
	{workloads, "**.volumeMounts.*.readOnly", false},
	{workloads, "**.fieldRef.apiVersion", "v1"},
	{workloads, "**.{livenessProbe,readinessProbe,startupProbe}.failureThreshold", 3.0},
	{workloads, "**.{livenessProbe,readinessProbe,startupProbe}.periodSeconds", 10.0},
	{workloads, "**.{livenessProbe,readinessProbe,startupProbe}.{successThreshold,timeoutSeconds}", 1.0},
	{workloads, "**.{livenessProbe,readinessProbe,startupProbe}.initialDelaySeconds", 0.0},
	{workloads, "**.httpGet.scheme", "HTTP"},
	{workloads, "**.httpGet.path", "/"},
	{workloads, "**.defaultMode", 420.0},
	{workloads, "**.serviceAccountToken.expirationSeconds", 3600.0},
	{workloads, "**.volumeClaimTemplate.spec.volumeMode", "Filesystem"},
	{workloads, "**.volumeClaimTemplate.spec", none},
	{workloads, "**.hostPath.type", ""},
	{workloads, "**.azureDisk.cachingMode", "ReadWrite"},
	{workloads, "**.azureDisk.kind", "Shared"},

	{"Service", "spec.type", "ClusterIP"},
	{"Service", "spec.clusterIP", ""},
	{"Service", "spec.sessionAffinity", "None"},
	{"Service", "spec.sessionAffinityConfig.clientIP.timeoutSeconds", 10800.0},
	{"Service", "spec.sessionAffinityConfig.clientIP", none},
	{"Service", "spec.sessionAffinityConfig", none},
	{"Service", "spec.{internalTrafficPolicy,externalTrafficPolicy}", "Cluster"},
	{"Service", "spec.allocateLoadBalancerNodePorts", true},
	{"Service", "spec.ipFamilies", []any{"IPv4"}},
	{"Service", "spec.ipFamilyPolicy", "SingleStack"},
	{"Service", "spec.ports.*.protocol", "TCP"},
	{"Service", "spec.ports.*.targetPort", fieldOf("port")},
	{"Service", "spec.ports.*.targetPort", 0.0},

	{webhooks, "webhooks.*.failurePolicy", "Fail"},
	{webhooks, "webhooks.*.matchPolicy", "Equivalent"},
	{webhooks, "webhooks.*.timeoutSeconds", 10.0},
	{webhooks, "webhooks.*.{namespaceSelector,objectSelector}", none},
	{webhooks, "webhooks.*.reinvocationPolicy", "Never"},
	{webhooks, "webhooks.*.rules.*.scope", "*"},
	{webhooks, "webhooks.*.clientConfig.service.port", 443.0},
	{"APIService", "spec.service.port", 443.0},

	{"CustomResourceDefinition", "spec.names.{categories,shortNames}", zero},
	{"CustomResourceDefinition", "spec.names.listKind",
		func(m map[string]any) any { s, _ := m["kind"].(string); return s + "List" }},
	{"CustomResourceDefinition", "spec.names.singular",
		func(m map[string]any) any { s, _ := m["kind"].(string); return strings.ToLower(s) }},
	{"CustomResourceDefinition", "spec.conversion.webhook.clientConfig.service.port", 443.0},
	{"CustomResourceDefinition", "spec.conversion.strategy", "None"},
	{"CustomResourceDefinition", "spec.conversion", none},

	{"Role ClusterRole", "rules", zero},
	{"RoleBinding ClusterRoleBinding", "roleRef.apiGroup", "rbac.authorization.k8s.io"},
	{"RoleBinding ClusterRoleBinding", "subjects.*.apiGroup", "rbac.authorization.k8s.io"},
	{"RoleBinding ClusterRoleBinding", "subjects.*.apiGroup", ""},

	{"PriorityClass", "preemptionPolicy", "PreemptLowerPriority"},
	{"PriorityClass", "globalDefault", false},
	{"NetworkPolicy", "**.protocol", "TCP"},
	{"NetworkPolicy", "**.{egress,ingress,from,to,ports,policyTypes}", zero},
	{"NetworkPolicy", "spec.policyTypes", given("egress", []any{"Ingress", "Egress"}, []any{"Ingress"})},
	{"NetworkPolicy", "spec.podSelector", none},
	{"Secret", "type", "Opaque"},
	{"PersistentVolumeClaim", "spec.volumeMode", "Filesystem"},
	{"PersistentVolumeClaim", "spec.resources", none},
	{"StorageClass", "reclaimPolicy", "Delete"},
	{"StorageClass", "volumeBindingMode", "Immediate"},
	{"Ingress Lease Namespace NetworkPolicy PersistentVolumeClaim PodDisruptionBudget ResourceQuota Service",
		"spec", none},
}

// Filled returns the paths, with indexes, of the fields of an object with the value that the API server fills in, and
// the object without them; none of both for a kind without any.
func Filled(o map[string]any) (found map[string]bool, without map[string]any) {
	found = map[string]bool{}
	for _, d := range defaultsOf()[Object(o).Kind()] {
		if without == nil {
			without = Object(o).Copy()
			quantities(without)
		}
		d.walk(without, strings.Split(d.path, "."), "",
			func(at string) { found[strings.TrimPrefix(at, ".")] = true })
	}
	return found, without
}

// Defaults returns the kinds, the path and the value of each default, for people.
func Defaults() (rows [][3]string) {
	for _, d := range defaults {
		value := "depends on other fields"
		if reflect.TypeOf(d.value).Kind() != reflect.Func {
			text, _ := json.Marshal(d.value) //nolint:errchkjson // a value of the table
			value = string(text)
		}
		kinds := d.kinds
		if rest, ok := strings.CutPrefix(kinds, workloads); ok {
			kinds = "workloads" + rest
		}
		rows = append(rows, [3]string{strings.Join(strings.Fields(kinds), ", "), d.path, value})
	}
	return rows
}

// defaultsOf returns the defaults of each kind, in the order of the table.
var defaultsOf = sync.OnceValue(func() map[string][]defaultValue {
	byKind := map[string][]defaultValue{}
	for _, d := range defaults {
		for kind := range strings.FieldsSeq(d.kinds) {
			byKind[kind] = append(byKind[kind], d)
		}
	}
	return byKind
})

// walk removes the fields that have the value, and calls a function for each. at is the path of v.
func (d defaultValue) walk(v any, path []string, at string, found func(at string)) {
	switch v := v.(type) {
	case map[string]any:
		if path[0] == "**" {
			for key, x := range v {
				d.walk(x, path, at+"."+key, found)
			}
			path = path[1:]
		}
		for field := range strings.SplitSeq(strings.Trim(path[0], "{}"), ",") {
			x, ok := v[field]
			switch {
			case ok && len(path) > 1:
				d.walk(x, path[1:], at+"."+field, found)
			case ok && d.equals(x, v):
				found(at + "." + field)
				delete(v, field)
			}
		}
	case []any:
		if path[0] != "*" && path[0] != "**" {
			return
		}
		if path[0] == "*" {
			path = path[1:]
		}
		for i, x := range v {
			d.walk(x, path, at+"["+strconv.Itoa(i)+"]", found)
		}
	}
}

func (d defaultValue) equals(x any, parent map[string]any) bool {
	switch f := d.value.(type) {
	case func(map[string]any) any:
		return reflect.DeepEqual(x, f(parent))
	case func(any) bool:
		return f(x)
	}
	return reflect.DeepEqual(x, d.value)
}

func isZero(x any) bool { return x == 0.0 || x == false }

func fieldOf(name string) func(map[string]any) any {
	return func(m map[string]any) any { return m[name] }
}

// given returns one value where another field is given, and a second one where it is not.
func given(field string, value, otherwise any) func(map[string]any) any {
	return func(m map[string]any) any {
		if m[field] != nil {
			return value
		}
		return otherwise
	}
}

// pullPolicy is Always for the tag latest, said or not (Kubernetes: pkg/apis/core/v1/defaults.go; pkg/util/parsers).
func pullPolicy(m map[string]any) any {
	image, ok := m["image"].(string)
	if !ok {
		image, _ = m["reference"].(string)
	}
	name, _, pinned := strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	name, tag, tagged := strings.Cut(name, ":")
	if tag == "latest" || !tagged && !pinned && name != "" && name == strings.ToLower(name) {
		return "Always"
	}
	return "IfNotPresent"
}

// quantities writes those in pod specs as the API server does: 1000m is 1.
func quantities(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			switch k {
			case "limits", "requests":
				amounts, _ := x.(map[string]any)
				for name, amount := range amounts {
					amounts[name] = quantity(amount)
				}
			case "sizeLimit", "divisor":
				v[k] = quantity(x)
			}
			quantities(x)
		}
	case []any:
		for _, x := range v {
			quantities(x)
		}
	}
}

func quantity(v any) any {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return resource.NewQuantity(int64(f), resource.DecimalSI).String()
	}
	if s, ok := v.(string); ok {
		if q, err := resource.ParseQuantity(s); err == nil {
			return q.String()
		}
	}
	return v
}
