package predict

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/manifest"
)

// crdYAML is a CRD with one version; %SPEC is a schema of spec.
const crdYAML = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.x.io}
spec:
  group: x.io
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: SPEC}}}}]
`

// TestRefusal compares with the words of operator-controller v1.11 (crdupgradesafety_test.go).
func TestRefusal(t *testing.T) {
	const mode = "{type: object, properties: {mode: {type: string, enum: [a, b]}}}"
	for name, c := range map[string]struct{ now, want string }{
		"the same":          {mode, ""},
		"a new field":       {strings.Replace(mode, "mode:", "more: {type: string}, mode:", 1), ""},
		"a new value":       {strings.Replace(mode, "a, b", "a, b, c", 1), ""},
		"a new description": {strings.Replace(mode, "type: string", "type: string, description: x", 1), ""},
		"a value less":      {strings.Replace(mode, "a, b", "b", 1), `v1: ^.spec.mode: enum: allowed enum values removed : ["a"]`},
		"a field less": {"{type: object}", "existingFieldRemoval: removed field : v1.^.spec.mode\n" +
			`v1: ^.spec.mode: enum: allowed enum values removed : ["a" "b"]` + "\n" +
			`v1: ^.spec.mode: type: type changed : "string" -> ""`},
		"a required field":   {strings.Replace(mode, "type: object", "type: object, required: [mode]", 1), "v1: ^.spec: required: new required fields: [mode]"},
		"another format":     {strings.Replace(mode, "type: string", "type: string, format: email", 1), "v1: ^.spec.mode: unhandled: unhandled changes found"},
		"a text in the diff": {strings.Replace(mode, "type: string", `type: string, title: "- x - ERROR - y"`, 1), "v1: ^.spec.mode: unhandled: unhandled changes found"},
	} {
		t.Run(name, func(t *testing.T) {
			words, err := upgrade.CRDSafety(crd(t, mode), crd(t, c.now))
			if got := strings.Join(words, "\n"); err != nil || got != c.want && got != `validating upgrade for CRD "widgets.x.io": `+c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// crdify reads the schema of each version without a look whether there is one.
func TestRefusalWithoutSchema(t *testing.T) {
	bare, err := manifest.ReadOne("crd.yaml", []byte(strings.Split(crdYAML, ", schema:")[0]+"}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := upgrade.CRDSafety(crd(t, "{type: object}"), bare); err == nil || !strings.Contains(err.Error(), "version v1 has no schema") {
		t.Errorf("got %v", err)
	}
}

// crdify leaves out what is between two versions of the live CRD already, where its lists happen to have one order.
func TestRefusalOfWhatIsThere(t *testing.T) {
	const older = ", {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]"
	two := func(required string) *manifest.Object {
		o := strings.Replace(crdYAML, "SPEC", "{type: object, required: ["+required+"]}", 1)
		read, err := manifest.ReadOne("crd.yaml", []byte(strings.Replace(o, "}]\n", "}"+older+"\n", 1)))
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	if words, err := upgrade.CRDSafety(two("a, b, c, d, e, f"), two("a, b, c, d, e, f")); err != nil || len(words) > 0 {
		t.Errorf("nothing changes: got %q, %v", words, err)
	}
	const want = `validating upgrade for CRD "widgets.x.io": v1: ^.spec: required: new required fields: [f]` + "\n" +
		"v1alpha1 -> v1: ^.spec: required: new required fields: [a b c d e f]"
	words, err := upgrade.CRDSafety(two("a, b, c, d, e"), two("a, b, c, d, e, f"))
	if got := strings.Join(words, "\n"); err != nil || got != want {
		t.Errorf("one more: got %q, %v, want %q", got, err, want)
	}
}

func crd(t *testing.T, spec string) *manifest.Object {
	t.Helper()
	o, err := manifest.ReadOne("crd.yaml", []byte(strings.Replace(crdYAML, "SPEC", spec, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}
