package transform

import (
	"errors"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

const patched = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
  namespace: operators
spec:
  replicas: 1
  selector:
    matchLabels:
      app: a
  template:
    metadata:
      labels:
        app: a
    spec:
      containers:
      - args:
        - a
        image: registry/a
        imagePullPolice: Always
        name: a
      - image: registry/b
        name: b
`

func patchable(apiVersion, kind, data string) []generate.Shared {
	return []generate.Shared{{Object: generate.Object{APIVersion: apiVersion, Kind: kind, Namespace: "operators", Name: "manager", Data: []byte(data)}}}
}

// apply patches a Deployment, which has an unknown field from its bundle.
func apply(patch string) (string, error) {
	out, err := Apply(patchable("apps/v1", "Deployment", patched), "patch", Patch{Patch: patch, Target: &Target{Name: "manager"}}, nil)
	if err != nil || len(out) == 0 {
		return "", err
	}
	return string(out[0].Data), nil
}

// What a patch would make of an object is refused if its type has no place for it: in the patch where it is there, else in the object.
func TestPatchesThatDoNotFit(t *testing.T) {
	pod := func(containers string) string {
		return "spec:\n  template:\n    spec:\n      containers: " + containers + "\n"
	}
	const at = "patch:4: spec.template.spec.containers"
	for _, c := range []struct{ name, patch, want, hint string }{
		{"text for a container", pod("[a]"), at + "[0]: Deployment manager: has the wrong type: text, want a mapping", ""},
		{"text for containers", pod("a"), at + ": Deployment manager: has the wrong type: text, want a list", ""},
		{"a mapping for containers", pod("{name: a}"), at + ": Deployment manager: has the wrong type: a mapping, want a list", ""},
		{"a list for a container", pod("[[a]]"), at + "[0]: Deployment manager: has the wrong type: a list, want a mapping", ""},
		{"nothing for a container", pod("[null]"), at + "[0]: Deployment manager: has no name, which identifies the elements of the list", "$patch: replace"},
		{"a container without name", pod("[{image: b}]"), at + "[0]: Deployment manager: has no name, ", "$patch: replace"},
		{"a port without number", pod("[{name: a, ports: [{name: web}]}]"), at + "[0].ports[0]: Deployment manager: has no containerPort, ", ""},
		{"text for a number", "spec: {replicas: many}", "patch:1: spec.replicas: Deployment manager: has the wrong type: text, want a whole number", ""},
		{"an unknown field", "spec:\n  replica: 1", "patch:2: spec.replica: Deployment manager: no such field", "did you mean replicas?"},
		{"an unknown field of a container", pod("[{name: a, imag: b}]"), at + "[0].imag: Deployment manager: no such field", "did you mean image?"},
		{"$retainKeys", "spec:\n  $retainKeys: [replicas]", "patch:2: spec.$retainKeys: no such directive", "$patch: delete, replace or merge"},
		{"$setElementOrder", "spec: {template: {spec: {$setElementOrder/containers: [{name: a}]}}}", "patch:1: spec.template.spec.$setElementOrder/containers: no such directive", ""},
		{"$deleteFromPrimitiveList", pod("[{name: a, $deleteFromPrimitiveList/args: [a]}]"), at + "[0].$deleteFromPrimitiveList/args: no such directive", ""},
		{"an unknown $patch", "spec: {template: {$patch: purge}}", "patch:1: spec.template.$patch: no such directive: purge", "$patch: delete, replace or merge"},
		{"JSON: text for a number", "[{op: add, path: /spec/replicas, value: many}]", "patch: Deployment manager: spec.replicas: has the wrong type: text, want a whole number", ""},
		{"JSON: an unknown field", "[{op: add, path: /spec/replica, value: 1}]", "patch: Deployment manager: spec.replica: no such field", "did you mean replicas?"},
		{"JSON: a directive", "[{op: add, path: /spec/$patch, value: replace}]", "patch: Deployment manager: spec.$patch: the patch leaves a directive in the object", ""},
		{"JSON: a container that is text", "[{op: add, path: /spec/template/spec/containers/-, value: a}]", "patch: Deployment manager: spec.template.spec.containers[2]: has the wrong type", ""},
	} {
		got, err := apply(c.patch)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %s\n%s", c.name, err, c.want, got)
			continue
		}
		var hinted interface{ Hint() string }
		if c.hint != "" && (!errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), c.hint)) {
			t.Errorf("%s: no hint %q: %v", c.name, c.hint, err)
		}
	}
}

// What fits is applied as before, and what the bundle itself has wrong is not the patch's fault.
func TestPatchesThatFit(t *testing.T) {
	for _, c := range []struct{ name, patch, with, without string }{
		{"a field", "spec: {replicas: 2}", "replicas: 2\n", "replicas: 1"},
		{"one container", "spec: {template: {spec: {containers: [{name: b, image: c}]}}}", "image: c\n        name: b\n", "registry/b"},
		{"a container that goes", "spec: {template: {spec: {containers: [{name: b, $patch: delete}]}}}", "name: a\n", "name: b\n"},
		{"other containers", "spec: {template: {spec: {containers: [{$patch: replace}, {name: z, image: c}]}}}", "name: z\n", "name: a\n"},
		{"a field that goes", "spec: {replicas: null}", "selector:", "replicas:"},
		{"an unknown field of the bundle goes", "spec: {template: {spec: {containers: [{name: a, imagePullPolice: null, imagePullPolicy: Always}]}}}", "imagePullPolicy: Always", "Police"},
		{"a container before one with an unknown field", "[{op: add, path: /spec/template/spec/containers/0, value: {name: z}}]", "imagePullPolice: Always", "\x00"},
		{"JSON", "[{op: replace, path: /spec/replicas, value: 3}]", "replicas: 3\n", "replicas: 1"},
		{"text that looks like no text", `spec: {template: {spec: {containers: [{name: b, image: "y", args: ["n", "1", "null", "0x1f", "1e3", "off"]}]}}}`,
			"- args:\n        - \"n\"\n        - \"1\"\n        - \"null\"\n        - \"0x1f\"\n        - \"1e3\"\n        - \"off\"\n        image: \"y\"\n", "registry/b"},
	} {
		got, err := apply(c.patch)
		if err != nil || !strings.Contains(got, c.with) || strings.Contains(got, c.without) {
			t.Errorf("%s: error %v\n%s", c.name, err, got)
		}
	}
}

// Of a kind whose type is not known, only directives are refused; and not those that the object had.
func TestPatchesOfUnknownKinds(t *testing.T) {
	const data = "apiVersion: example.com/v1\nkind: Cache\nmetadata:\n  name: manager\n  namespace: operators\nspec:\n  $patch: mine\n"
	own := patchable("example.com/v1", "Cache", data)
	for patch, want := range map[string]string{
		"spec: {size: large, list: [a]}":                      "",
		"spec: {$retainKeys: [a]}":                            "patch:1: spec.$retainKeys: no such directive",
		"[{op: add, path: /spec/a, value: {$patch: delete}}]": "patch: Cache manager: spec.a.$patch: the patch leaves a directive in the object",
		"[{op: add, path: /spec/a, value: [1]}]":              "",
	} {
		_, err := Apply(own, "patch", Patch{Patch: patch, Target: &Target{Kind: "Cache"}}, nil)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", patch, err, want)
		}
	}
}

// Every type that is known is that of its kind.
func TestKinds(t *testing.T) {
	for name, typ := range kinds {
		_, kind, _ := strings.Cut(name, " ")
		if typ.Name() != kind {
			t.Errorf("%s is a %s", name, typ.Name())
		}
		if known := manifest.FieldsAt(typ, "metadata"); len(known) == 0 {
			t.Errorf("%s has no metadata", name)
		}
	}
}
