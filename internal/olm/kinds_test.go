package olm

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/crds"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestKinds compares kinds-kubernetes.txt with what the API server of Kubernetes lists (Kubernetes: api/discovery) and with OLM's CRDs.
func TestKinds(t *testing.T) {
	var lines []string
	add := func(plural, group, kind string, namespaced bool) {
		scope := "Cluster"
		if namespaced {
			scope = "Namespaced"
		}
		line := strings.TrimSuffix(plural+"."+group, ".") + " " + kind + " " + scope + "\n"
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, list := range apiLists(t) {
		group, _, found := strings.Cut(list.GroupVersion, "/")
		if !found {
			group = ""
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				add(r.Name, group, r.Kind, r.Namespaced)
			}
		}
	}
	for _, c := range []*apiextensionsv1.CustomResourceDefinition{
		crds.CatalogSource(), crds.ClusterServiceVersion(), crds.InstallPlan(), crds.OLMConfig(), crds.Operator(), crds.OperatorCondition(),
		crds.OperatorGroup(), crds.Subscription(),
	} {
		add(c.Spec.Names.Plural, c.Spec.Group, c.Spec.Names.Kind, c.Spec.Scope == apiextensionsv1.NamespaceScoped)
	}
	slices.Sort(lines)
	want := "# The kinds of Kubernetes and OLM. Do not edit: go test ./internal/olm -run TestKinds -update writes it.\n" + strings.Join(lines, "")
	if *update {
		if err := os.WriteFile("kinds-kubernetes.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, kubernetesKinds); d != "" {
		t.Errorf("the APIs have changed; -update writes the file anew:\n%s", d)
	}
}

// apiLists returns the API lists of the version of Kubernetes that the tests with a real API server run.
func apiLists(t *testing.T) (all []metav1.APIResourceList) {
	t.Helper()
	c := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes")
	c.Dir = filepath.Join("..", "..", "e2e", "kubernetes")
	out, err := c.Output()
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		t.Skipf("k8s.io/kubernetes is not there: %v %s", err, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "api", "discovery", "*__v*.json"))
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		var list metav1.APIResourceList
		data, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list)
	}
	return all
}

// Each line of the tables is complete, and no kind or resource has two.
func TestKindTables(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(kubernetesKinds + openShiftKinds + otherKinds) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "Namespaced" && f[2] != "Cluster" {
			t.Fatalf("%q", line)
		}
		_, group, _ := strings.Cut(f[0], ".")
		for _, key := range []string{f[0], group + "/" + f[1]} {
			if seen[key] && f[1] != "-" {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
		}
	}
}

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		group, kind, resource string
		namespaced, builtin   bool
	}{
		{"", "Pod", "pods", true, true},
		{"node.k8s.io", "RuntimeClass", "runtimeclasses.node.k8s.io", false, true},
		{"flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas.flowcontrol.apiserver.k8s.io", false, true},
		{"security.openshift.io", "SecurityContextConstraints", "securitycontextconstraints.security.openshift.io", false, false},
		{"config.openshift.io", "ImagePolicy", "imagepolicies.config.openshift.io", true, false},
		{Group, "OLMConfig", "olmconfigs." + Group, false, false},
		{Group, "Subscription", "subscriptions." + Group, true, false},
	} {
		k, ok := KindOf(c.group, c.kind)
		if !ok || k.Resource() != c.resource || k.Namespaced != c.namespaced || BuiltinGroup(c.group) != c.builtin {
			t.Errorf("%s %s: %+v", c.group, c.kind, k)
		}
		if namespaced, known := NamespacedResource(c.group, k.Plural); !known || namespaced != c.namespaced {
			t.Errorf("%s: %v, %v", c.resource, namespaced, known)
		}
	}
	for _, kind := range []string{"", "-", "Unknown"} {
		if k, ok := KindOf("", kind); ok {
			t.Errorf("%q: %+v", kind, k)
		}
	}
	for _, c := range []struct {
		group                             string
		namespaced, clusterScoped, served bool
	}{
		{"apps", true, false, true}, {"", false, false, true}, {"apiextensions.k8s.io", false, true, true}, {"x", false, false, false},
	} {
		if AllNamespaced(c.group) != c.namespaced || AllClusterScoped(c.group) != c.clusterScoped || KnownGroup(c.group) != c.served {
			t.Errorf("%q: %v, %v, %v", c.group, AllNamespaced(c.group), AllClusterScoped(c.group), KnownGroup(c.group))
		}
		// A resource that is not in the table, such as one of an old version.
		if namespaced, known := NamespacedResource(c.group, "olds"); namespaced == c.clusterScoped || known != c.served {
			t.Errorf("olds of %q: %v, %v", c.group, namespaced, known)
		}
	}
}
