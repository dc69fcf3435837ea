package manifest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/fuzztest"
)

// odd has what Kubernetes' types have seldom or never.
type odd struct {
	Name   string             `json:"name"`
	Small  int8               `json:"small,omitempty"`
	Whole  uint               `json:"whole,omitempty"`
	Float  float64            `json:"float,omitempty"`
	Bytes  []byte             `json:"bytes,omitempty"`
	Any    any                `json:"any,omitempty"`
	Map    map[string]*int    `json:"map,omitempty"`
	Floats map[string]float32 `json:"floats,omitempty"`
	Array  [2]int             `json:"array,omitzero"`
	Spec   *odd               `json:"spec,omitempty"`
	List   [][]string         `json:"list"`
	Plain  string
	Hidden string `json:"-"`
}

func typesForTests() []any {
	return []any{new(v1alpha1.ClusterServiceVersion), new(appsv1.Deployment), new(corev1.Pod), new(corev1.Secret),
		new(rbacv1.ClusterRole), new(admissionv1.ValidatingWebhookConfiguration), new(apiextensionsv1.CustomResourceDefinition), new(odd)}
}

// sameTyped decodes an object into a type in both ways, and back. It reports whether the type takes it.
func sameTyped(t *testing.T, o *Object, typed any) bool {
	t.Helper()
	kind := reflect.TypeOf(typed).Elem()
	got, want := reflect.New(kind).Interface(), reflect.New(kind).Interface()
	unknown, err := o.Into(got)
	v, err2 := o.Value()
	var unknown2 []string
	if err2 == nil {
		unknown2, err2 = o.Decode(v, want)
	}
	if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() || !reflect.DeepEqual(unknown, unknown2) {
		t.Fatalf("%s as %s: %v, %v, want %v, %v", o.Raw(), kind, unknown, err, unknown2, err2)
	}
	if err != nil {
		return false
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s as %s: %#v, want %#v", o.Raw(), kind, got, want)
	}
	back, err := Typed(got)
	back2, err2 := typedByJSON(got)
	if err != nil || err2 != nil || !reflect.DeepEqual(back, back2) {
		t.Fatalf("%s of %s: %v, %v, want %v, %v", kind, o.Raw(), back, err, back2, err2)
	}
	return len(unknown) == 0
}

func FuzzInto(f *testing.F) {
	for _, s := range []string{
		"kind: A\nname: b\nsmall: 1\nwhole: 2\nfloat: 1.5\nbytes: YQ==\nany: {a: [1, x, 1.5, null]}\n",
		"kind: A\nname: 1\n", "kind: A\nsmall: 300\n", "kind: A\nwhole: -1\n", "kind: A\nmap: {a: 1, b: null}\nlist: [[a], [], null]\n",
		"kind: A\nfloats: {a: 1e3}\narray: [1, 2]\nspec:\n  spec:\n    name: ~\nPlain: x\n", "kind: A\nHidden: a\n", "kind: A\nplain: a\n",
		"kind: A\nany: 18446744073709551615\n", "kind: A\n? a\n: b\n", "kind: A\nspec: &x {name: a}\nany: *x\n", "kind: A\n<<: {name: b}\n",
		"kind: Deployment\nmetadata:\n  creationTimestamp: null\n  labels: {a: b}\nspec:\n  replicas: 1\n  template:\n    spec:\n" +
			"      containers:\n      - name: a\n        resources:\n          limits: {cpu: 1, memory: 1Gi}\n        ports:\n        - containerPort: 80\n" +
			"        livenessProbe:\n          httpGet: {port: http}\n",
		"kind: Secret\ndata: {a: YQ==}\n", "kind: A\nname: \"\\ud800\"\n", "kind: A\nany: !!binary YQ==\n", "kind: A\nname: y\nany: {y: n}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		docs, err := ReadFile("f", data, Limits{})
		if err != nil {
			return
		}
		for _, d := range docs {
			objects, err := d.Objects()
			if err != nil {
				return
			}
			for _, o := range objects {
				for _, typed := range typesForTests() {
					sameTyped(t, o, typed)
				}
			}
		}
	})
}

// What DecodeJSON accepts has the value that encoding/json gives it.
func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{
		`{"name":"\ud800","small":1,"whole":2,"float":1.5,"bytes":"e30=","any":{"a":[1e3,null]},"map":{"a":1,"a":null}}`,
		`{"NAME":"a","name":"b","spec":{"list":[["a"],null]},"spec":{"list":[]},"array":[1]}`, "{\"name\":\"\xff\"}", `{} {}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want odd
		if DecodeJSON(data, &got) != nil {
			return
		}
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want %+v", err, got, want)
		}
	})
}

// acceptedObjects returns the objects of a file; none if it is refused, which this test is not about.
func acceptedObjects(name string, data []byte) (list []*Object) {
	docs, _ := ReadFile(name, data, Limits{})
	for _, d := range docs {
		if objects, err := d.Objects(); err == nil {
			list = append(list, objects...)
		}
	}
	return list
}

// Real objects become the same in both ways, whatever their type.
func TestCorpusTyped(t *testing.T) {
	kinds := map[string]any{}
	for _, typed := range typesForTests() {
		kinds[reflect.TypeOf(typed).Elem().Name()] = typed
	}
	taken, fast := 0, 0
	for name, data := range corpusFiles(t) {
		for _, o := range acceptedObjects(name, data) {
			if typed, ok := kinds[o.Kind]; ok && o.Kind != "CustomResourceDefinition" {
				if sameTyped(t, o, typed) {
					taken++
				}
				n := o.decodable()
				if d := (typeDecoder{decoder: decoder{limits: o.doc.limits}}); n != nil && d.into(n, reflect.New(reflect.TypeOf(typed).Elem()).Elem(), 1) {
					fast++
				}
			}
		}
	}
	if fast < taken*9/10 || taken < corpustest.Least(t, 100) {
		t.Errorf("of %d objects, %d are not decoded by way of JSON", taken, fast)
	}
	t.Logf("%d objects, %d not by way of JSON", taken, fast)
}

// What a template made, as ReadOne takes it, is decoded from its nodes too.
func TestIntoPrinted(t *testing.T) {
	text := Encode(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"b": "1"}},
		"rules":    []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}}})
	o, err := ReadOne("ClusterRole a", text)
	if err != nil || o.printed == nil {
		t.Fatal(o, err)
	}
	if o.printed.read.decodable() == nil {
		t.Error("it has no nodes")
	}
	if !sameTyped(t, o, new(rbacv1.ClusterRole)) {
		t.Error("refused")
	}
	edited, err := o.Edit(Edit{Change: func(v map[string]any) { v["rules"] = []any{} }})
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if _, err := edited.Into(&role); err != nil || len(role.Rules) > 0 {
		t.Error("an edited object has the values from before", role, err)
	}
}
