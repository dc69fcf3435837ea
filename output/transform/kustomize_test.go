package transform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/manifest"
)

const wide = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
  namespace: operators
  labels:
    app: a
    tier: b
  finalizers:
  - one/a
  - one/b
spec:
  replicas: 1
  selector:
    matchLabels:
      app: a
  template:
    spec:
      containers:
      - args:
        - a
        env:
        - name: A
          value: "1"
        - name: B
          value: $(A)
        image: registry/a
        name: a
        ports:
        - containerPort: 80
          name: web
        resources:
          limits:
            cpu: "1"
            memory: 1Gi
      - image: registry/b
        name: b
      - image: registry/c
        name: c
      initContainers:
      - image: registry/i
        name: i
      tolerations:
      - key: a
        operator: Exists
      volumes:
      - configMap:
          name: x
        name: v
`

// A strategic merge patch does what it does in kustomize.
func TestLikeKustomize(t *testing.T) {
	pod := func(text string) string { return "spec: {template: {spec: " + text + "}}" }
	for name, patch := range map[string]string{
		"a field":                   "spec: {replicas: 2, paused: true}",
		"a field goes":              "spec: {replicas: null}",
		"a field goes that is not":  "spec: {paused: null}",
		"labels":                    "metadata: {labels: {app: null, tier: c, x: z}}",
		"all labels":                "metadata: {labels: {$patch: replace, x: z}}",
		"no labels":                 "metadata: {labels: {$patch: delete}}",
		"labels merged":             "metadata: {labels: {$patch: merge, x: z}}",
		"annotations":               "metadata: {annotations: {x: z, y: null}}",
		"finalizers":                "metadata: {finalizers: [one/c, one/b]}",
		"a container":               pod("{containers: [{name: b, image: c}]}"),
		"two containers":            pod("{containers: [{name: c, image: c}, {name: a, image: c}]}"),
		"new containers":            pod("{containers: [{name: x, image: c}, {name: z, image: c}]}"),
		"new and old":               pod("{containers: [{name: z, image: c}, {name: b, image: z}]}"),
		"a container goes":          pod("{containers: [{name: b, $patch: delete}]}"),
		"a container merged":        pod("{containers: [{name: a, $patch: merge, image: z}]}"),
		"containers replaced":       pod("{containers: [{$patch: replace}, {name: z, image: c}, {name: a, image: z}]}"),
		"containers merged":         pod("{containers: [{$patch: merge}, {name: z, image: c}]}"),
		"the only init container":   pod("{initContainers: [{name: i, $patch: delete}]}"),
		"all init containers":       pod("{initContainers: [{$patch: delete}]}"),
		"no init containers":        pod("{initContainers: null}"),
		"env":                       pod("{containers: [{name: a, env: [{name: C, value: x}, {name: B, value: z}]}]}"),
		"env goes":                  pod("{containers: [{name: a, env: [{name: A, $patch: delete}]}]}"),
		"args":                      pod("{containers: [{name: a, args: [b, c]}]}"),
		"limits":                    pod("{containers: [{name: a, resources: {limits: {cpu: null, memory: 2Gi}, requests: {cpu: 1m}}}]}"),
		"limits replaced":           pod("{containers: [{name: a, resources: {$patch: replace, limits: {cpu: 2}}}]}"),
		"limits go":                 pod("{containers: [{name: a, resources: {limits: {$patch: delete}}}]}"),
		"a port":                    pod("{containers: [{name: a, ports: [{containerPort: 80, name: http}, {containerPort: 443}]}]}"),
		"tolerations":               pod("{tolerations: [{key: z, operator: Exists}]}"),
		"a volume":                  pod("{volumes: [{name: v, configMap: null, secret: {secretName: s}}, {name: w, emptyDir: {}}]}"),
		"a volume's fields":         pod("{volumes: [{name: v, configMap: {optional: true}}]}"),
		"a selector":                pod("{nodeSelector: {a: b}, affinity: {nodeAffinity: {}}}"),
		"host aliases":              pod("{hostAliases: [{ip: 1.2.3.4, hostnames: [a]}]}"),
		"new list with a deletion":  pod("{imagePullSecrets: [{name: a}, {name: b, $patch: delete}]}"),
		"nothing":                   "spec: {}",
		"the whole":                 "{$patch: replace, apiVersion: apps/v1, kind: Deployment, metadata: {name: manager, namespace: operators}, spec: {replicas: 3}}",
		"of another name and kind":  "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: z}, spec: {replicas: 3}}",
		"numbers and texts as such": pod(`{containers: [{name: a, args: ["1", "y", "1e3"], image: "null"}], terminationGracePeriodSeconds: 10}`),
	} {
		for _, kind := range []string{"apps/v1 Deployment", "example.com/v1 Cache"} {
			if kind != "apps/v1 Deployment" && (name == "the whole" || name == "of another name and kind") {
				continue
			}
			compareWithKustomize(t, name+" of "+kind, kind, patch)
		}
	}
}

func compareWithKustomize(t *testing.T, name, kind, patch string) {
	t.Helper()
	objects := patchable("apps/v1", "Deployment", wide)
	if kind != "apps/v1 Deployment" {
		objects = patchable("example.com/v1", "Cache", "apiVersion: example.com/v1\nkind: Cache\n"+wide[len("apiVersion: apps/v1\nkind: Deployment\n"):])
	}
	want, left := kustomized(t, string(objects[0].Data), patch)
	out, err := Apply(objects, "patch", Patch{Patch: patch, Target: &Target{Name: "manager"}}, nil)
	if left {
		if err == nil {
			t.Errorf("%s: kustomize leaves a directive in the object, olmgen applies the patch", name)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if d := cmp.Diff(want, string(out[0].Data)); d != "" {
		t.Errorf("%s (-kustomize +olmgen):\n%s", name, d)
	}
}

// kustomized applies a patch with kustomize's library, and tells whether a directive is left in the object.
func kustomized(t *testing.T, object, patch string) (text string, left bool) {
	t.Helper()
	p, err := kyaml.Parse(patch)
	if err != nil {
		t.Fatal(err)
	}
	o, err := kyaml.Parse(object)
	if err != nil {
		t.Fatal(err)
	}
	if p.Field("kind") != nil { // what kustomize does with a patch that has a target
		p.SetKind(o.GetKind())
		p.SetApiVersion(o.GetApiVersion())
		if err := p.SetName(o.GetName()); err != nil {
			t.Fatal(err)
		}
		if err := p.SetNamespace(o.GetNamespace()); err != nil {
			t.Fatal(err)
		}
	}
	nodes, err := patchstrategicmerge.Filter{Patch: p}.Filter([]*kyaml.RNode{o})
	if err != nil || len(nodes) != 1 {
		t.Fatal(patch, err)
	}
	m, err := manifest.ReadOne("kustomize", []byte(nodes[0].MustString()))
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.Value()
	if err != nil {
		t.Fatal(err)
	}
	return string(manifest.Encode(v)), len(directivesIn(v)) > 0
}

// These differ from kustomize, which leaves such an object as it is, or changes the wrong element.
func TestUnlikeKustomize(t *testing.T) {
	out, err := Apply(patchable("apps/v1", "Deployment", wide), "patch", Patch{Target: &Target{Name: "manager"},
		Patch: "spec: {template: {spec: {containers: [{name: b, $patch: replace, command: [x]}]}}}"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := out[0].Manifest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Get("spec", "template", "spec", "containers", "0")
	if d := cmp.Diff(map[string]any{"name": "b", "command": []any{"x"}}, got); d != "" || err != nil {
		t.Errorf("an element replaced: %v\n%s", err, d)
	}
	twice := strings.Replace(wide, "        - containerPort: 80\n", "        - containerPort: 80\n          protocol: UDP\n        - containerPort: 80\n", 1)
	_, err = Apply(patchable("apps/v1", "Deployment", twice), "patch", Patch{Target: &Target{Name: "manager"},
		Patch: "spec: {template: {spec: {containers: [{name: a, ports: [{containerPort: 80, name: x}]}]}}}"}, nil)
	if err == nil || !strings.Contains(err.Error(), "spec.template.spec.containers[].ports: the object has 2 elements with containerPort 80") {
		t.Errorf("two elements of one key: %v", err)
	}
}

// An object that is not of its type is refused without a panic.
func TestObjectsThatDoNotMerge(t *testing.T) {
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: manager\n  namespace: operators\n"
	for _, c := range []struct{ object, patch string }{
		{"spec: {template: {spec: {containers: [null]}}}\n", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"},
		{"spec: {template: {spec: {containers: [a]}}}\n", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"},
		{"spec: {template: {spec: {containers: [{name: [a]}]}}}\n", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"},
		{"spec: {template: {spec: {containers: [[{name: a}]]}}}\n", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"},
		{"spec: {template: {spec: {containers: {name: a}}}}\n", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"},
		{"spec: [a]\n", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"},
		{"spec: null\n", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"},
		{"spec: {}\n", "metadata: {finalizers: [a, a]}"},
	} {
		for _, patch := range []string{c.patch, "spec: {template: {spec: {containers: [{name: a, $patch: delete}, {$patch: replace}]}}}", "spec: {$patch: replace}"} {
			out, err := Apply(patchable("apps/v1", "Deployment", head+c.object), "patch", Patch{Patch: patch, Target: &Target{Name: "manager"}}, nil)
			if err == nil && len(out) != 1 {
				t.Errorf("%s with %s: %d objects", c.object, patch, len(out))
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s with %s: %v", c.object, patch, err)
			}
		}
	}
}

// FuzzPatch looks for patches and objects that end in a panic.
func FuzzPatch(f *testing.F) {
	for _, patch := range []string{"spec: {replicas: 2}", "spec: {template: {spec: {containers: [{name: b, $patch: delete}, {$patch: replace}]}}}", "{$patch: delete}",
		"metadata: {finalizers: [a, null]}", "spec: {template: {spec: {containers: [{name: a, env: [{name: A, $patch: replace, value: x}], ports: [{containerPort: 80.5}]}]}}}",
		"[{op: remove, path: /spec}]", "[{op: replace, path: '', value: null}]", "[{op: test, path: /spec/replicas, value: 1}]"} {
		f.Add(patch, wide)
		f.Add(patch, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager, namespace: operators}\nspec: {template: {spec: {containers: [a, {name: {}}]}}}\n")
		f.Add(patch, "apiVersion: v1\nkind: X\nmetadata: {name: manager, namespace: operators}\nspec: [1]\n")
	}
	f.Fuzz(func(t *testing.T, patch, object string) {
		fuzztest.Limit(t, len(patch)+len(object))
		m, err := manifest.ReadOne("object", []byte(object))
		if err != nil {
			return
		}
		objects := patchable(m.APIVersion, m.Kind, object)
		objects[0].Namespace, objects[0].Name = m.Namespace, m.Name
		_, _ = Apply(objects, "patch", Patch{Patch: patch, Target: &Target{Kind: ".*"}}, nil)
	})
}
