package kubernetes

import (
	"cmp"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
)

// without are kinds that no bundle ships and OLM does not make, and of whose defaults package normalize knows a part only.
var without = map[string]string{
	"HorizontalPodAutoscaler": "its metrics and its behaviour have defaults",
	"LimitRange":              "a limit is the default of another one",
	"Pod":                     "limits are the defaults of requests, and ports those of the host",
}

// random returns an object with few fields.
func random(t *testing.T, gvk schema.GroupVersionKind, r *rand.Rand) runtime.Object {
	t.Helper()
	o, err := kinds[gvk.GroupKind()].scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(o).Elem()
	(&filler{Rand: r}).fields(v, 0)
	consistent(v)
	meta := v.FieldByName("ObjectMeta")
	meta.FieldByName("Name").SetString("x")
	meta.FieldByName("Namespace").SetString("ns")
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return o
}

// stored returns an object as the API server gives it back: with its defaults, and converted to the internal version and
// back.
func stored(t *testing.T, gvk schema.GroupVersionKind, o map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	k := kinds[gvk.GroupKind()]
	internal, _, err := k.decode(data, gvk, false)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	external, err := k.scheme.ConvertToVersion(internal, gvk.GroupVersion())
	if err != nil {
		t.Fatal(err)
	}
	return plain(external)
}

// state reads objects as "olmgen diff" does.
func state(t *testing.T, text []byte) compare.State {
	t.Helper()
	s := compare.State{Objects: reviewtest.Objects(t, "a.yaml", string(text))}
	csvs, err := permissions.InstalledCSVs(s.Objects)
	if err == nil {
		s.Permissions, s.Roles, err = permissions.EvaluateWithRoles(permissions.Input{Objects: s.Objects, CSVs: csvs})
	}
	if err == nil {
		s.Operators, err = compare.TreeOperators(s.Objects, csvs)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// differences returns what "olmgen diff" says.
func differences(t *testing.T, old, now compare.State) string {
	t.Helper()
	report, err := compare.Compare(t.Context(), old, now, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report.OLM = nil // what refuses an object that is made at random is no difference
	if report.Empty() {
		return ""
	}
	return string(text(t, report))
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var count = flag.Int("objects", 0, "how many objects of each kind are made")

// eachKind calls f with many objects of each kind.
func eachKind(t *testing.T, f func(t *testing.T, gvk schema.GroupVersionKind, o runtime.Object, r *rand.Rand)) {
	t.Helper()
	for gk := range kinds {
		if without[gk.Kind] != "" {
			continue
		}
		t.Run(gk.Kind, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 63))
			for range cmp.Or(*count, 60) {
				f(t, gk.WithVersion("v1"), random(t, gk.WithVersion("v1"), r), r)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// TestDefaults holds that an object and what the API server makes of it do not differ.
func TestDefaults(t *testing.T) {
	eachKind(t, func(t *testing.T, gvk schema.GroupVersionKind, o runtime.Object, _ *rand.Rand) {
		was, is := text(t, written(o)), text(t, stored(t, gvk, written(o)))
		old, now := state(t, was), state(t, is)
		for _, said := range []string{differences(t, old, now), differences(t, now, old)} {
			if said != "" {
				t.Errorf("%s\nwritten:\n%s\nstored:\n%s", said, was, is)
			}
		}
	})
}

// TestChanges holds that a changed field is a difference if and only if the API server's objects differ.
func TestChanges(t *testing.T) {
	eachKind(t, func(t *testing.T, gvk schema.GroupVersionKind, o runtime.Object, r *rand.Rand) {
		was := written(o)
		old := meaning(stored(t, gvk, was))
		path := (&filler{Rand: r, names: 1000}).change(o)
		is := written(o)
		same := reflect.DeepEqual(old, meaning(stored(t, gvk, is)))
		said := differences(t, state(t, text(t, was)), state(t, text(t, is)))
		if same != (said == "") {
			t.Errorf("%s: the objects are the same: %t; said: %s\nold:\n%s\nnew:\n%s", path, same, said, text(t, was), text(t, is))
		}
	})
}

// means are values that mean what a missing field means, though the API server keeps them.
var means = map[string]any{"affinity": map[string]any{}, "nodeSelector": map[string]any{}, "resources": map[string]any{},
	"securityContext": map[string]any{}, "rollingUpdate": map[string]any{}, "partition": 0.0, "enableServiceLinks": true,
	"privileged": false, "readOnlyRootFilesystem": false}

// meaning returns an object without these, and without its status.
func meaning(value any) any {
	switch x := value.(type) {
	case map[string]any:
		delete(x, "status")
		for key, item := range x {
			if x[key] = meaning(item); reflect.DeepEqual(x[key], means[key]) {
				delete(x, key)
			}
		}
	case []any:
		for i := range x {
			x[i] = meaning(x[i])
		}
	}
	return value
}

// TestDefaultsOfCSV holds the same for the Deployments that OLM makes of a ClusterServiceVersion.
func TestDefaultsOfCSV(t *testing.T) {
	gvk, r := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, rand.New(rand.NewPCG(1, 63))
	for range 100 {
		o := written(random(t, gvk, r))
		var sides [2]compare.State
		for i, deployment := range []map[string]any{o, stored(t, gvk, o)} {
			spec := map[string]any{"name": "x", "spec": deployment["spec"]}
			sides[i] = state(t, text(t, map[string]any{"apiVersion": "operators.coreos.com/v1alpha1",
				"kind": "ClusterServiceVersion", "metadata": map[string]any{"name": "a.v1.0.0", "namespace": "ns"},
				"spec": map[string]any{"displayName": "a", "version": "1.0.0", "install": map[string]any{"strategy": "deployment",
					"spec": map[string]any{"deployments": []any{spec}}}}}))
		}
		if said := differences(t, sides[0], sides[1]) + differences(t, sides[1], sides[0]); said != "" {
			t.Fatalf("%s\n%s", said, text(t, o))
		}
	}
}
