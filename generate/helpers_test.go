package generate

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
)

// Parts of a CSV's spec for the tests.
const (
	allModes = `
installModes:
- {type: OwnNamespace, supported: true}
- {type: SingleNamespace, supported: true}
- {type: MultiNamespace, supported: true}
- {type: AllNamespaces, supported: true}
`
	globalOnly = `
installModes:
- {type: OwnNamespace, supported: false}
- {type: SingleNamespace, supported: false}
- {type: MultiNamespace, supported: false}
- {type: AllNamespaces, supported: true}
`
	memcachedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  group: cache.example.com
  names: {kind: Memcached, listKind: MemcachedList, plural: memcacheds, singular: memcached}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object}
`
	ownsMemcached = `
customresourcedefinitions:
  owned:
  - {name: memcacheds.cache.example.com, version: v1alpha1, kind: Memcached}
`
	oneDeployment = `
install:
  strategy: deployment
  spec:
    deployments:
    - name: my.dep
      spec:
        selector: {matchLabels: {app: memcached}}
        template:
          metadata: {labels: {app: memcached}}
          spec:
            containers:
            - {name: manager, image: "quay.io/example/memcached-operator:v0.0.1"}
`
)

// testBundle reads a bundle of the package memcached: a CSV memcached-operator.v0.0.1 with the given spec, and other manifests.
func testBundle(t *testing.T, spec string, manifests ...string) *bundle.Bundle {
	t.Helper()
	return annotatedBundle(t, "{}", spec, manifests...)
}

// annotatedBundle is testBundle with annotations of the CSV as a YAML flow mapping.
func annotatedBundle(t *testing.T, annotations, spec string, manifests ...string) *bundle.Bundle {
	t.Helper()
	csv := "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: memcached-operator.v0.0.1\n" +
		"  annotations: " + annotations + "\nspec:\n  displayName: Memcached" + strings.ReplaceAll("\n"+spec, "\n", "\n  ") + "\n"
	return csvBundle(t, csv, manifests...)
}

// csvBundle reads a bundle of the package memcached with a whole CSV.
func csvBundle(t *testing.T, csv string, manifests ...string) *bundle.Bundle {
	t.Helper()
	fsys := fstest.MapFS{
		"metadata/annotations.yaml": {Data: []byte("annotations:\n  operators.operatorframework.io.bundle.package.v1: memcached\n")},
		"manifests/0csv.yaml":       {Data: []byte(csv)},
	}
	for i, m := range manifests {
		fsys["manifests/"+string(rune('a'+i))+".yaml"] = &fstest.MapFile{Data: []byte(strings.TrimPrefix(m, "\n"))}
	}
	b, err := bundle.Read(fsys, bundle.ReadOptions{})
	if err != nil {
		t.Fatalf("the test's own bundle: %v", err)
	}
	return b
}

// objects is what a rendering made, decoded, by "Kind name" or, where it is namespaced, "Kind namespace/name".
type objects map[string]map[string]any

// rendered renders a bundle into the namespace operators, unless the options say another.
func rendered(t *testing.T, b *bundle.Bundle, o Options) objects {
	t.Helper()
	if o.Namespace == "" {
		o.Namespace = "operators"
	}
	result, err := Render(b, o)
	if err != nil {
		t.Fatal(err)
	}
	out := objects{}
	for _, x := range result.Objects {
		key := x.Kind + " " + x.Name
		if x.Namespace != "" {
			key = x.Kind + " " + x.Namespace + "/" + x.Name
		}
		if out[key] != nil {
			t.Errorf("two objects %s", key)
		}
		v := map[string]any{}
		if err := yaml.UnmarshalStrict(x.Data, &v); err != nil {
			t.Fatalf("%s: %v\n%s", key, err, x.Data)
		}
		out[key] = v
	}
	return out
}

// rendering1 returns a rendering before its generators have run.
func rendering1(t *testing.T, b *bundle.Bundle, o Options) *rendering {
	t.Helper()
	if o.Namespace == "" {
		o.Namespace = "operators"
	}
	o, err := o.complete(b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRendering(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at returns a value inside a decoded object by keys and, in lists, indexes. A missing one ends the test.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for i, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			x, ok := m[p]
			if !ok {
				t.Fatalf("nothing at %v of %v", path[:i+1], v)
			}
			v = x
		case int:
			s, _ := v.([]any)
			if p >= len(s) {
				t.Fatalf("nothing at %v of %v", path[:i+1], v)
			}
			v = s[p]
		}
	}
	return v
}

// fromYAML decodes what a test expects.
func fromYAML[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatalf("the test's own YAML: %v", err)
	}
	return v
}

// checkYAML compares a decoded value with YAML.
func checkYAML(t *testing.T, what string, got any, want string) {
	t.Helper()
	if diff := cmp.Diff(fromYAML[any](t, want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// checkRefused checks that an operation failed with a message, or went well where there is none.
func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("no error, want %q", want)
	case err != nil && want == "":
		t.Errorf("unexpected error: %v", err)
	case err != nil && !strings.Contains(err.Error(), want):
		t.Errorf("got error %q, want %q in it", err, want)
	}
}
