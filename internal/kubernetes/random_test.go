package kubernetes

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// texts are the values of types on which defaults depend.
var texts = map[reflect.Type][]string{
	typeOf[corev1.Protocol]():                                 {"TCP", "UDP", "SCTP"},
	typeOf[corev1.ServiceType]():                              {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"},
	typeOf[corev1.ServiceAffinity]():                          {"None", "ClientIP"},
	typeOf[corev1.ServiceExternalTrafficPolicy]():             {"Cluster", "Local"},
	typeOf[corev1.ServiceInternalTrafficPolicy]():             {"Cluster", "Local"},
	typeOf[corev1.PullPolicy]():                               {"Always", "IfNotPresent", "Never"},
	typeOf[corev1.TerminationMessagePolicy]():                 {"File", "FallbackToLogsOnError"},
	typeOf[corev1.DNSPolicy]():                                {"ClusterFirst", "Default", "None"},
	typeOf[corev1.RestartPolicy]():                            {"Always", "OnFailure", "Never"},
	typeOf[corev1.URIScheme]():                                {"HTTP", "HTTPS"},
	typeOf[corev1.HostPathType]():                             {"", "Directory"},
	typeOf[corev1.SecretType]():                               {"Opaque", "example.com/other"},
	typeOf[corev1.PreemptionPolicy]():                         {"PreemptLowerPriority", "Never"},
	typeOf[corev1.PersistentVolumeMode]():                     {"Filesystem", "Block"},
	typeOf[corev1.AzureDataDiskCachingMode]():                 {"ReadWrite", "None"},
	typeOf[corev1.AzureDataDiskKind]():                        {"Shared", "Managed"},
	typeOf[corev1.ConditionStatus]():                          {"True", "False"},
	typeOf[corev1.ResourceName]():                             {"cpu", "memory", "hugepages-2Mi", "example.com/gpu"},
	typeOf[appsv1.DeploymentStrategyType]():                   {"RollingUpdate", "Recreate"},
	typeOf[appsv1.DaemonSetUpdateStrategyType]():              {"RollingUpdate", "OnDelete"},
	typeOf[appsv1.StatefulSetUpdateStrategyType]():            {"RollingUpdate", "OnDelete"},
	typeOf[appsv1.PodManagementPolicyType]():                  {"OrderedReady", "Parallel"},
	typeOf[batchv1.CompletionMode]():                          {"NonIndexed", "Indexed"},
	typeOf[batchv1.ConcurrencyPolicy]():                       {"Allow", "Forbid"},
	typeOf[batchv1.PodReplacementPolicy]():                    {"TerminatingOrFailed", "Failed"},
	typeOf[networkingv1.PolicyType]():                         {"Ingress", "Egress"},
	typeOf[admissionv1.FailurePolicyType]():                   {"Fail", "Ignore"},
	typeOf[admissionv1.MatchPolicyType]():                     {"Equivalent", "Exact"},
	typeOf[admissionv1.ReinvocationPolicyType]():              {"Never", "IfNeeded"},
	typeOf[admissionv1.ScopeType]():                           {"*", "Namespaced", "Cluster"},
	typeOf[admissionv1.OperationType]():                       {"CREATE", "UPDATE", "DELETE"},
	typeOf[apiextensionsv1.ConversionStrategyType]():          {"None", "Webhook"},
	typeOf[apiextensionsv1.ResourceScope]():                   {"Namespaced", "Cluster"},
	typeOf[appsv1.PersistentVolumeClaimRetentionPolicyType](): {"Retain", "Delete"},
}

// named are the values of fields by their names, where the type says nothing.
var named = map[string][]string{
	"Image": {"quay.io/a/b", "quay.io/a/b:latest", "quay.io/a/b:v1", "quay.io:5000/a/b", "quay.io:5000/b:v2",
		"b@sha256:" + strings.Repeat("a", 64), "b:latest@sha256:" + strings.Repeat("a", 64), "b"},
	"APIGroup": {"rbac.authorization.k8s.io", ""}, "APIVersion": {"v1", "v2"}, "Path": {"/", "/healthz"},
	"SchedulerName": {"default-scheduler", "other"}, "FSType": {"ext4", "xfs"}, "StorageMode": {"ThinProvisioned", "x"},
	"TerminationMessagePath": {"/dev/termination-log", "/x"}, "RadosUser": {"admin", "x"}, "RBDPool": {"rbd", "x"},
	"Keyring": {"/etc/ceph/keyring", "x"}, "ISCSIInterface": {"default", "x"},
}

var numbers = []int64{0, 1, 2, 3, 6, 10, 30, 420, 443, 600, 3600, 8080, 10800}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// oneOf are types of which the API server takes one field.
var oneOf = map[reflect.Type]bool{
	typeOf[corev1.VolumeSource](): true, typeOf[corev1.ProbeHandler](): true, typeOf[corev1.LifecycleHandler](): true,
	typeOf[corev1.EnvVarSource](): true, typeOf[corev1.VolumeProjection](): true,
}

// filler sets fields at random: few, so that defaults apply.
type filler struct {
	*rand.Rand
	names int
}

func (f *filler) text(t reflect.Type, field string) string {
	if list := texts[t]; list != nil {
		return list[f.IntN(len(list))]
	}
	if list := named[field]; list != nil {
		return list[f.IntN(len(list))]
	}
	f.names++
	return fmt.Sprintf("%c%d", 'a'+f.IntN(26), f.names)
}

func (f *filler) words() (list []string) {
	for range 1 + f.IntN(2) {
		list = append(list, f.text(nil, ""))
	}
	return list
}

// fill gives a value to v, which is the field of a name. depth is how far down.
func (f *filler) fill(v reflect.Value, field string, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*x = resource.MustParse([]string{"1", "100m", "1000m", "1Gi", "0", "1500m"}[f.IntN(6)])
		return
	case *intstr.IntOrString:
		if *x = intstr.FromInt32(int32(numbers[f.IntN(len(numbers))])); f.IntN(2) == 0 {
			*x = intstr.FromString([]string{"25%", "http", "50%"}[f.IntN(3)])
		}
		return
	case *metav1.Time:
		*x = metav1.Unix(int64(f.IntN(1e9)), 0)
		return
	case *metav1.MicroTime:
		*x = metav1.NewMicroTime(metav1.Unix(int64(f.IntN(1e9)), 0).UTC())
		return
	case *apiextensionsv1.JSONSchemaProps: // the API server fills in nothing below
		*x = apiextensionsv1.JSONSchemaProps{Type: "object", Description: f.text(nil, "")}
		return
	case *metav1.LabelSelectorRequirement:
		*x = metav1.LabelSelectorRequirement{Key: f.text(nil, ""), Operator: "In", Values: []string{f.text(nil, "")}}
		return
	case *rbacv1.PolicyRule:
		*x = rbacv1.PolicyRule{Verbs: f.words(), APIGroups: f.words(), Resources: f.words()}
		if f.IntN(4) == 0 {
			x.ResourceNames = f.words()
		}
		return
	case *rbacv1.Subject:
		*x = []rbacv1.Subject{{Kind: "User"}, {Kind: "Group"}, {Kind: "ServiceAccount", Namespace: "ns"}}[f.IntN(3)]
		if x.Name = f.text(nil, ""); x.Kind != "ServiceAccount" && f.IntN(2) == 0 {
			x.APIGroup = rbacv1.GroupName
		}
		return
	case *admissionv1.Rule:
		*x = admissionv1.Rule{APIGroups: f.words(), APIVersions: f.words(), Resources: f.words()}
		if f.IntN(2) == 0 {
			x.Scope = new([]admissionv1.ScopeType{"*", "Namespaced"}[f.IntN(2)])
		}
		return
	case *metav1.ObjectMeta:
		x.Labels = map[string]string{"app": f.text(nil, "")}
		if f.IntN(2) == 0 {
			x.Annotations = map[string]string{"a": f.text(nil, "")}
		}
		return
	}
	defer consistent(v)
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text(v.Type(), field))
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		if n := numbers[f.IntN(len(numbers))]; v.CanInt() {
			v.SetInt(n)
		} else {
			v.SetUint(uint64(n) % 256)
		}
	case reflect.Float64:
		v.SetFloat(float64(f.IntN(10)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field, depth)
	case reflect.Slice:
		n := 1 + f.IntN(2)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.item(v.Index(i), field, depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + f.IntN(2) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, "", depth+1)
			f.item(value, field, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		f.fields(v, depth)
	default:
		panic(v.Type().String())
	}
}

// consistent removes what the API server refuses beside something else, or drops.
func consistent(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *appsv1.DeploymentStrategy:
		if x.Type == appsv1.RecreateDeploymentStrategyType {
			x.RollingUpdate = nil
		}
	case *appsv1.StatefulSetUpdateStrategy:
		if x.Type != appsv1.RollingUpdateStatefulSetStrategyType {
			x.RollingUpdate = nil
		}
	case *appsv1.DaemonSetUpdateStrategy:
		if x.Type != appsv1.RollingUpdateDaemonSetStrategyType {
			x.RollingUpdate = nil
		}
	case *corev1.ServiceSpec:
		if x.SessionAffinity != corev1.ServiceAffinityClientIP {
			x.SessionAffinityConfig = nil
		}
		if x.Type == corev1.ServiceTypeExternalName {
			x.InternalTrafficPolicy = nil
		}
		if x.Type != corev1.ServiceTypeLoadBalancer {
			x.AllocateLoadBalancerNodePorts = nil
		}
		if x.Type != corev1.ServiceTypeLoadBalancer && x.Type != corev1.ServiceTypeNodePort && len(x.ExternalIPs) == 0 {
			x.ExternalTrafficPolicy = ""
		}
	case *admissionv1.RuleWithOperations:
		if slices.Sort(x.Operations); len(x.Operations) == 0 {
			x.Operations = []admissionv1.OperationType{admissionv1.Create}
		}
		x.Operations = slices.Compact(x.Operations)
	case *networkingv1.IngressServiceBackend:
		if x.Port == (networkingv1.ServiceBackendPort{}) {
			x.Port.Number = 80
		}
	case *networkingv1.IngressBackend:
		if x.Service == nil && x.Resource == nil {
			x.Resource = &corev1.TypedLocalObjectReference{Kind: "A", Name: "a"}
		}
	case *batchv1.JobSpec:
		if p := x.Parallelism; p != nil && *p == 1 && x.Completions == nil { // one of one, too
			x.Completions = new(int32(1))
		}
	case *rbacv1.ClusterRole:
		if x.AggregationRule != nil { // a controller writes the rules
			x.Rules = nil
		}
	case *apiextensionsv1.CustomResourceDefinitionVersion:
		if x.Schema == nil {
			x.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
		}
	case *admissionv1.WebhookClientConfig:
		if x.Service == nil {
			x.URL = new("https://example.com")
		}
	}
}

// required fills a field that the type always prints: a person writes it, and the API server takes no zero.
func (f *filler) required(v reflect.Value, name string, depth int) {
	for f.fill(v, name, depth); v.IsZero() && (v.CanInt() || v.Kind() == reflect.String || v.Type() == typeOf[intstr.IntOrString]()); {
		f.fill(v, name, depth)
	}
}

// item fills an item of a list, which has a name if its type has one.
func (f *filler) item(v reflect.Value, field string, depth int) {
	f.fill(v, field, depth+1)
	if v.Kind() != reflect.Struct {
		return
	}
	for _, key := range []string{"Name", "MountPath", "DevicePath"} {
		if x := v.FieldByName(key); x.IsValid() && x.Kind() == reflect.String {
			x.SetString(f.text(x.Type(), ""))
		}
	}
	for _, key := range []string{"Image", "ContainerPort", "Port"} {
		if x := v.FieldByName(key); x.IsValid() && (x.Kind() == reflect.String || x.CanInt()) && x.IsZero() {
			f.fill(x, key, depth)
		}
	}
}

func (f *filler) fields(v reflect.Value, depth int) {
	t, only := v.Type(), -1
	if oneOf[t] {
		only = f.IntN(t.NumField() + 1)
	}
	for i := range t.NumField() {
		name := t.Field(i).Name
		switch {
		case name == "TypeMeta" || name == "Status" || !t.Field(i).IsExported() || only >= 0 && i != only:
		case !strings.Contains(t.Field(i).Tag.Get("json"), ",omitempty"):
			f.required(v.Field(i), name, depth+1)
		case depth > 12:
		case name == "Spec" || name == "Template" || t.Field(i).Anonymous || only == i || f.IntN(5) == 0 || depth == 0 && f.IntN(2) == 0:
			f.fill(v.Field(i), name, depth+1)
		}
	}
}

// prune removes from the JSON of v what a person does not write: zeros that the type always prints.
func prune(decoded any, v reflect.Value) {
	switch m := decoded.(type) {
	case map[string]any:
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() == reflect.Map {
			for _, key := range v.MapKeys() {
				prune(m[key.String()], v.MapIndex(key))
			}
		}
		if v.Kind() != reflect.Struct {
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			switch x := v.Field(i); {
			case name == "":
				prune(m, x)
			case x.Kind() != reflect.Pointer && x.Kind() != reflect.Slice && x.Kind() != reflect.Map && x.IsZero():
				delete(m, name)
			default:
				prune(m[name], x)
			}
		}
	case []any:
		for i, x := range m {
			prune(x, v.Index(i))
		}
	}
}

// written returns a typed object as a person writes it.
func written(o any) map[string]any {
	m := plain(o)
	prune(m, reflect.ValueOf(o))
	unusual(m)
	return m
}

// unusual writes the quantity 1 in other ways. No other text of an object is 1.
func unusual(value any) {
	switch x := value.(type) {
	case map[string]any:
		for key, item := range x {
			if item == "1" {
				x[key] = map[string]any{"cpu": 1, "memory": "1000m", "divisor": "1000m"}[key]
				if x[key] == nil {
					x[key] = "1.0"
				}
			}
			unusual(item)
		}
	case []any:
		for _, item := range x {
			unusual(item)
		}
	}
}

func plain(o any) (m map[string]any) {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		panic(err)
	}
	return m
}

// slot is a field that can be changed. owner is the struct that has it.
type slot struct {
	field, owner reflect.Value
	name, path   string
	required     bool
}

// slots returns the fields of an object at which something can be changed.
func slots(v reflect.Value, path string) (list []slot) {
	switch v.Interface().(type) {
	case resource.Quantity, intstr.IntOrString, metav1.Time, apiextensionsv1.JSONSchemaProps, metav1.LabelSelectorRequirement,
		rbacv1.PolicyRule, rbacv1.Subject, admissionv1.Rule, apiextensionsv1.CustomResourceValidation:
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return slots(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, slots(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case reflect.Struct:
		meta := v.Type() == typeOf[metav1.ObjectMeta]()
		for i := range v.NumField() {
			t := v.Type().Field(i)
			switch {
			case t.Name == "TypeMeta" || t.Name == "Status" || !t.IsExported() || meta && t.Name != "Labels" && t.Name != "Annotations":
				continue
			case oneOf[v.Type()] && v.Field(i).IsNil():
				continue
			case !t.Anonymous && t.Name != "ObjectMeta":
				list = append(list, slot{v.Field(i), v, t.Name, path + "." + t.Name,
					!strings.Contains(t.Tag.Get("json"), ",omitempty")})
			}
			list = append(list, slots(v.Field(i), path+"."+t.Name)...)
		}
	}
	return list
}

// change changes one field of an object, and returns its path.
func (f *filler) change(o any) string {
	list := slots(reflect.ValueOf(o).Elem(), "")
	for {
		s := list[f.IntN(len(list))]
		before := written(o)
		old := reflect.New(s.field.Type()).Elem()
		old.Set(s.field)
		s.field.SetZero()
		if s.required {
			f.required(s.field, s.name, 4)
		} else if f.IntN(4) > 0 {
			f.fill(s.field, s.name, 4)
		}
		consistent(s.owner)
		if !reflect.DeepEqual(before, written(o)) {
			return s.path
		}
		s.field.Set(old)
	}
}
