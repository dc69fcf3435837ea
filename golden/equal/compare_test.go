package equal

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// Whatever is changed in a recorded object, in any field of any recorded kind, is a difference: each value in it, each
// entry less, each field more.
func TestMutations(t *testing.T) {
	fuzztest.Seconds(t)
	files, err := filepath.Glob("../live/*/case.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	perKind, mutations := map[string]int{}, 0
	for _, file := range files {
		c, objects, err := ReadCase(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range objects {
			if perKind[o.Kind()]++; perKind[o.Kind()] > 4 || len(fmt.Sprint(o)) > 20000 {
				continue
			}
			want := []Object{o}
			if d := Diff(want, []Object{o}, c.Options()); d != "" {
				t.Fatalf("%s: %s is not equal to itself:\n%s", c.Name, o.Key(), d)
			}
			if slices.Contains(c.Optional, o.Key()) {
				continue
			}
			if Diff(want, nil, Options{}) == "" || Diff(nil, want, Options{}) == "" ||
				Diff(want, []Object{o, o}, Options{}) == "" {
				t.Errorf("%s: nobody notices that %s is missing, too many or there twice", c.Name, o.Key())
			}
			mutate(map[string]any(objects[i]), "", func(path string) {
				mutations++
				if !masking(o, path) && Diff(want, []Object{renormalized(t, o)}, Options{}) == "" {
					t.Errorf("%s: nobody notices a change of %s in %s", c.Name, path, o.Key())
				}
			}, func() { want = []Object{clone(o)} })
		}
	}
	t.Logf("%d mutations in %d kinds", mutations, len(perKind))
	for _, kind := range []string{"APIService", "ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion",
		"CustomResourceDefinition", "Deployment",
		"MutatingWebhookConfiguration", "OperatorCondition", "OperatorGroup", "Role", "RoleBinding", "Service",
		"ServiceAccount", "ValidatingWebhookConfiguration"} {
		if perKind[kind] == 0 {
			t.Errorf("no recording has a %s", kind)
		}
	}
}

// renormalized is what a rendered object with that content would be compared as.
func renormalized(t *testing.T, o Object) Object {
	t.Helper()
	n, ok := normalize.Comparable(o)
	if !ok {
		t.Fatalf("%s is not compared", o.Key())
	}
	return n
}

// masking lists fields that the comparison hides on purpose (see the table in docs/conformance.md).
func masking(o Object, path string) bool {
	// another object then; missing and too many are tested
	hidden := []string{".kind", ".metadata.name", ".metadata.namespace",
		".metadata." + added} // the server's own fields
	switch {
	case o.Kind() == "Secret":
		hidden = append(hidden, ".data")
	// only name, served and storage count
	case o.Kind() == "CustomResourceDefinition" && strings.HasPrefix(path, ".spec.versions.") &&
		strings.HasSuffix(path, added):
		hidden = append(hidden, strings.TrimSuffix(path, "."+added))
	}
	return slices.ContainsFunc(hidden,
		func(h string) bool { return path == h || len(path) > len(h) && path[:len(h)+1] == h+"." })
}

const added = "addedByTest"

// mutate changes one thing after the other in v, in place, and puts it back. before is called when all is as it was.
func mutate(v any, path string, changed func(string), before func()) {
	switch v := v.(type) {
	case map[string]any:
		before()
		v[added] = "x"
		changed(path + "." + added)
		delete(v, added)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			old := v[k]
			before()
			delete(v, k)
			changed(path + "." + k)
			v[k] = old
			if other := changedScalar(old); other != nil {
				before()
				v[k] = other
				changed(path + "." + k)
				v[k] = old
			}
			mutate(old, path+"."+k, changed, before)
		}
	case []any:
		for i, x := range v {
			if other := changedScalar(x); other != nil {
				before()
				v[i] = other
				changed(fmt.Sprintf("%s.%d", path, i))
				v[i] = x
			}
			mutate(x, fmt.Sprintf("%s.%d", path, i), changed, before)
		}
	}
}

func changedScalar(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case float64:
		return v + 7
	case bool:
		return !v
	}
	return nil
}

func clone(o Object) Object { return o.Copy() }

// What is only said in another way is no difference.
func TestSameMeaning(t *testing.T) {
	read := func(s string) Object {
		o, err := Decode([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		n, ok := normalize.Comparable(o)
		if !ok {
			t.Fatalf("not compared: %s", s)
		}
		return n
	}
	for _, c := range []struct{ what, want, got string }{
		{"defaults of a Deployment",
			"{kind: Deployment, metadata: {name: a}, spec: {replicas: 1, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}}}",
			"{kind: Deployment, metadata: {name: a}, spec: {}}"},
		{"a default port",
			"{kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, ports: [{port: 80, targetPort: 80, protocol: TCP}]}}",
			"{kind: Service, metadata: {name: a}, spec: {ports: [{port: 80, targetPort: 0}]}}"},
		{"quantities",
			"{kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [{image: 'i:1', resources: {limits: {cpu: '1'}}}]}}}}",
			"{kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [{image: 'i:1', resources: {limits: {cpu: 1000m}}}]}}}}"},
		{"what the server adds",
			"{kind: Role, metadata: {name: a, uid: u, resourceVersion: '1', ownerReferences: [{name: b}]}, rules: []}",
			"{kind: Role, metadata: {name: a}}"},
		{"who owns the old name of a field",
			"{kind: Deployment, metadata: {name: a}, spec: {template: {spec: {serviceAccount: s, serviceAccountName: s}}}}",
			"{kind: Deployment, metadata: {name: a}, spec: {template: {spec: {serviceAccountName: s}}}}"},
	} {
		if d := Diff([]Object{read(c.want)}, []Object{read(c.got)}, Options{}); d != "" {
			t.Errorf("%s:\n%s", c.what, d)
		}
	}
	optional := []Object{read("{kind: Role, metadata: {name: a, namespace: b}}")}
	for _, o := range []Options{{Optional: []string{"Role b/a"}}, {Incomplete: true}} {
		if d := Diff(nil, optional, o); d != "" {
			t.Errorf("%+v: %s", o, d)
		}
	}
}
