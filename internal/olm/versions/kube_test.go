package versions

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/golden"
)

func nativeScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	native := runtime.NewScheme()
	if err := nativeTypes.AddToScheme(native); err != nil {
		t.Fatal(err)
	}
	return native
}

// kubetypes.txt says what the Go types of Kubernetes say.
func TestKubeTypes(t *testing.T) {
	native := nativeScheme(t)
	var lines []string
	for kind := range native.AllKnownTypes() {
		object, err := native.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		since, until := 0, 0
		if o, ok := object.(interface{ APILifecycleIntroduced() (major, minor int) }); ok {
			_, since = o.APILifecycleIntroduced()
		}
		if o, ok := object.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
			_, until = o.APILifecycleRemoved()
		}
		gv := kind.GroupVersion().String()
		if since != 0 || until != 0 || removed[gv] != 0 {
			lines = append(lines, fmt.Sprintf("%s %s %d %d\n", gv, kind.Kind, since, until))
		}
		if s, u := lifetime(gv, kind.Kind); !*Update && (int(s) != since || int(u) != until) {
			t.Errorf("%s: from 1.%d until 1.%d, want %d and %d", kind, s, u, since, until)
		}
	}
	slices.Sort(lines)
	var want bytes.Buffer
	want.WriteString("# apiVersion, kind, the minor version of Kubernetes 1 that serves it first, and the one that no longer does\n")
	for _, line := range lines {
		want.WriteString(line)
	}
	golden.CheckFile(t, "kubetypes.txt", want.Bytes(), *Update)
}

// The versions are those of Kubernetes' deprecation guide and of its release notes.
func TestUnserved(t *testing.T) {
	for _, c := range []struct {
		apiVersion, kind string
		since, until     uint64 // 0: always, or never
	}{
		{"policy/v1", "PodDisruptionBudget", 21, 0},
		{"policy/v1beta1", "PodDisruptionBudget", 0, 25},
		{"policy/v1beta1", "PodSecurityPolicy", 0, 25},
		{"batch/v1", "CronJob", 21, 0},
		{"batch/v1beta1", "CronJob", 8, 25},
		{"autoscaling/v2", "HorizontalPodAutoscaler", 23, 0},
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler", 0, 26},
		{"networking.k8s.io/v1", "Ingress", 19, 0},
		{"extensions/v1beta1", "Ingress", 0, 22},
		{"extensions/v1beta1", "Deployment", 0, 16},
		{"apps/v1beta2", "Deployment", 8, 16},
		{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", 29, 0},
		{"flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 26, 32},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", 30, 0},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", 16, 0},
		{"admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration", 0, 22},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", 16, 0},
		{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 7, 22},
		{"rbac.authorization.k8s.io/v1beta1", "Role", 0, 22},
		{"rbac.authorization.k8s.io/v1alpha1", "ClusterRole", 0, 22},
		{"storage.k8s.io/v1beta1", "CSIStorageCapacity", 21, 27},
		{"apiregistration.k8s.io/v1beta1", "APIService", 0, 22},
		{"v1", "ConfigMap", 0, 0},
		{"monitoring.coreos.com/v1", "ServiceMonitor", 0, 0},
	} {
		since, until := lifetime(c.apiVersion, c.kind)
		if c.since > 0 && since != c.since || until != c.until {
			t.Errorf("%s %s: from 1.%d until 1.%d, want %d and %d", c.apiVersion, c.kind, since, until, c.since, c.until)
		}
		if c.since > 0 && (Unserved(c.apiVersion, c.kind, c.since-1) == "" || Unserved(c.apiVersion, c.kind, c.since) != "") {
			t.Errorf("%s %s is not served from 1.%d on", c.apiVersion, c.kind, c.since)
		}
		if c.until > 0 && (Unserved(c.apiVersion, c.kind, c.until-1) != "" || Unserved(c.apiVersion, c.kind, c.until) == "") {
			t.Errorf("%s %s is not served until 1.%d", c.apiVersion, c.kind, c.until)
		}
	}
}

// What is typed in is only what the types do not say: it is needed for a kind at least.
func TestRemovedIsNotKnown(t *testing.T) {
	native := nativeScheme(t)
	for gv, kind := range map[string]string{"apiregistration.k8s.io/v1beta1": "APIService", "scheduling.k8s.io/v1alpha1": "PriorityClass",
		"rbac.authorization.k8s.io/v1alpha1": "Role", "policy/v1beta1": "PodSecurityPolicy",
		"autoscaling/v2beta1": "HorizontalPodAutoscaler", "autoscaling/v2beta2": "HorizontalPodAutoscaler"} {
		if removed[gv] == 0 || native.Recognizes(apischema.FromAPIVersionAndKind(gv, kind)) {
			t.Errorf("%s %s: the types know it", gv, kind)
		}
	}
	if len(removed) != 6 {
		t.Errorf("removed has %d entries", len(removed))
	}
}
