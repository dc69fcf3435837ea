package olm

import (
	"bytes"
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
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/yamltext"
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
	dir := moduleDir("kubernetes", "k8s.io/kubernetes")
	if dir == "" {
		t.Skip("k8s.io/kubernetes is not there")
	}
	files, err := filepath.Glob(filepath.Join(dir, "api", "discovery", "*__v*.json"))
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

// Each line of the tables is complete and stands below its source, and no kind or resource has two.
func TestKindTables(t *testing.T) {
	seen := map[string]bool{}
	above := ""
	for line := range strings.Lines(kubernetesKinds + openShiftKinds + otherKinds) {
		if strings.HasPrefix(line, "#") {
			above = line
			continue
		}
		if above != "" && !strings.HasPrefix(above, "# Source: ") && !strings.Contains(above, "-run TestKinds") {
			t.Errorf("no line with the source is above %q", line)
		}
		above = ""
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

// The tables that are made by hand say of a CRD what it says of itself. The CRDs are those of OpenShift, as far as a module of
// this repository needs them, and those of $OLMGEN_CORPUS.
func TestKindsOfCRDs(t *testing.T) {
	known := map[string]Kind{}
	for _, k := range readKinds(openShiftKinds + otherKinds) {
		known[k.Resource()] = k
	}
	for _, tc := range []struct {
		name, dir string
		least     int
	}{
		{"OpenShift", moduleDir("olm", "github.com/openshift/api"), 90},
		{"corpus", os.Getenv("OLMGEN_CORPUS"), 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.dir == "" {
				t.Skip("there are no such CRDs")
			}
			compared := map[string]bool{}
			for _, k := range crdKinds(t, tc.dir) {
				if of, ok := known[k.Resource()]; ok {
					compared[k.Resource()] = true
					if of != k {
						t.Errorf("the table has %+v, the CRD %+v", of, k)
					}
				}
			}
			if len(compared) < tc.least {
				t.Errorf("only %d kinds were compared", len(compared))
			}
			t.Logf("%d kinds", len(compared))
		})
	}
}

// moduleDir returns the directory of a module that a module below e2e needs, or "".
func moduleDir(of, path string) string {
	c := exec.Command("go", "mod", "download", "-json", path)
	c.Dir = filepath.Join("..", "..", "e2e", of)
	out, err := c.Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil {
		return ""
	}
	return module.Dir
}

// crdKinds returns what the CRDs below a directory define.
func crdKinds(t *testing.T, dir string) (all []Kind) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == "tests" || d.Name() == "payload-manifests") {
			return filepath.SkipDir // OpenShift has each CRD several times
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") || strings.Contains(path, "featuregated") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("CustomResourceDefinition")) {
			return err
		}
		for part, err := range yamltext.Split(bytes.NewReader(data), 1<<30) {
			var crd apiextensionsv1.CustomResourceDefinition
			if err != nil || yaml.Unmarshal(part.Data, &crd) != nil || crd.Kind != "CustomResourceDefinition" {
				continue
			}
			all = append(all, Kind{Group: crd.Spec.Group, Name: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
				Namespaced: crd.Spec.Scope != apiextensionsv1.ClusterScoped})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
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
		_, known := NamespacedResource(c.group, "-")
		if AllScoped(c.group, true) != c.namespaced || AllScoped(c.group, false) != c.clusterScoped || known != c.served {
			t.Errorf("%q: %v, %v, %v", c.group, AllScoped(c.group, true), AllScoped(c.group, false), known)
		}
		// A resource that is not in the table, such as one of an old version.
		if namespaced, known := NamespacedResource(c.group, "olds"); namespaced == c.clusterScoped || known != c.served {
			t.Errorf("olds of %q: %v, %v", c.group, namespaced, known)
		}
	}
}
