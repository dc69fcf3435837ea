package compare_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/change"
)

const placed = `apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ns}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: c
        image: example.com/c:1
        env:
        - {name: A, value: a}
        - {name: B, value: b}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
webhooks:
- name: a.example.com
- name: b.example.com
  failurePolicy: Fail
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: as.x.io
  labels: {l: "1"}
spec:
  group: x.io
  names: {kind: A, plural: as}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: array
            items:
              type: object
              properties:
                count: {type: integer}
                name:
                  type: string
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: o.v1.0.0
  namespace: ns
  annotations:
    olm.skipRange: <1.0.0
spec:
  version: 1.0.0
  provider:
    name: p
  nativeAPIs:
  - {group: apps, version: v1, kind: Deployment}
  installModes:
  - {type: AllNamespaces, supported: true}
  - {type: OwnNamespace, supported: true}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: e
        spec:
          replicas: 1
          selector: {matchLabels: {e: e}}
          template:
            metadata: {labels: {e: e}}
            spec:
              containers:
              - name: c
                image: example.com/e:1
`

// Each line points at the field that changed. A field that is gone has the line of what it was in.
func TestLineOfTheChange(t *testing.T) {
	old := tree(t, placed)
	for _, c := range []struct{ from, to, line string }{
		{"value: b}", "value: z}", "- {name: B, value: z}"},
		{"        - {name: B, value: b}\n", "        - {name: C, value: c}\n", "- {name: C, value: c}"},
		{"        - {name: A, value: a}\n", "", "env:"},
		{"failurePolicy: Fail", "failurePolicy: Ignore", "failurePolicy: Ignore"},
		{"  failurePolicy: Fail\n", "  failurePolicy: Fail\n  timeoutSeconds: 1\n", "timeoutSeconds: 1"},
		{`l: "1"`, `l: "2"`, `labels: {l: "2"}`},
		{"count: {type: integer}", "count: {type: string}", "count: {type: string}"},
		{"type: string\n", "type: string\n                  maxLength: 1000000\n", "maxLength: 1000000"},
		{"                name:\n                  type: string\n", "", "properties:"},
		{"<1.0.0", "<2.0.0", "olm.skipRange: <2.0.0"},
		{"name: p", "name: q", "name: q"},
		{"group: apps, version: v1, kind: Deployment}", "group: batch, version: v1, kind: Job}", "- {group: batch, version: v1, kind: Job}"},
		{"OwnNamespace, supported: true", "OwnNamespace, supported: false", "installModes:"},
		{"replicas: 1", "replicas: 2", "replicas: 2"},
		{"example.com/e:1", "example.com/e:2", "image: example.com/e:2"},
	} {
		text := strings.Replace(placed, c.from, c.to, 1)
		r := compared(t, old, tree(t, text))
		lines := strings.Split(text, "\n")
		var got []string
		add := func(file string, line int) {
			if file != "tree.yaml" || line == 0 {
				t.Errorf("%q -> %q: no place", c.from, c.to)
				return
			}
			got = append(got, strings.TrimSpace(lines[line-1]))
		}
		for _, x := range append(r.Workloads, r.Identity...) {
			add(x.File, x.Line)
		}
		for _, x := range r.CRDs {
			add(x.File, x.Line)
		}
		if len(got) == 0 || got[0] != c.line && got[len(got)-1] != c.line {
			t.Errorf("%q -> %q: the lines are %q, want %q", c.from, c.to, got, c.line)
		}
	}
}

// A version that only the CRD names has its line there, and one that the CSV names has its line in the CSV.
func TestLineOfAServedVersion(t *testing.T) {
	owning := strings.Replace(placed, "  nativeAPIs:", "  customresourcedefinitions:\n    owned:\n    - {name: as.x.io, kind: A, version: v1}\n  nativeAPIs:", 1)
	served := strings.Replace(owning, "  versions:\n", "  versions:\n  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", 1)
	named := strings.Replace(served, "kind: A, version: v1}\n", "kind: A, version: v1}\n    - {name: as.x.io, kind: A, version: v2}\n", 1)
	for text, want := range map[string]string{served: "- {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}",
		named: "- {name: as.x.io, kind: A, version: v2}"} {
		r := compared(t, tree(t, owning), tree(t, text))
		if len(r.Identity) != 1 || strings.TrimSpace(strings.Split(text, "\n")[r.Identity[0].Line-1]) != want {
			t.Errorf("got %v, want one change at %q", r.Identity, want)
		}
	}
}

// What is written says what it is: no JSON escapes, no exponents, no level of pods that were not there as a change of
// it, and no API of Kubernetes that OLM would install.
func TestPlainWords(t *testing.T) {
	old := tree(t, placed)
	now := tree(t, strings.NewReplacer("type: string", "type: string\n                  maxLength: 1000000",
		"group: apps,", "group: batch,", "{name: d, namespace: ns}", "{name: other, namespace: other}").Replace(placed))
	r := compared(t, old, now)
	all := lines(r)
	for _, want := range []string{"maxLength added: 1000000", "Pod Security: baseline",
		"OLM starts the operator only where the cluster serves this API"} {
		if !strings.Contains(all+messages(r), want) {
			t.Errorf("no %q in\n%s", want, all+messages(r))
		}
	}
}

// The template of a workload is that of pods, and that of another kind is not.
func TestTemplateOfPods(t *testing.T) {
	for object, want := range map[string]string{"apps/v1, kind: Deployment": "pod labels.a",
		"argoproj.io/v1alpha1, kind: ApplicationSet": "spec.template.metadata.labels.a"} {
		of := func(label string) compare.State {
			return tree(t, "{apiVersion: "+object+", metadata: {name: a}, spec: {template: {metadata: {labels: {a: "+label+"}}}}}")
		}
		if got := messages(compared(t, of("b"), of("c"))); !strings.HasPrefix(got, want+": b -> c") {
			t.Errorf("%s: %s", object, got)
		}
	}
}

func messages(r *compare.Report) string {
	var b strings.Builder
	for _, c := range r.CRDs {
		b.WriteString(c.Message + "\n")
	}
	for _, list := range [][]change.Change{r.Workloads, r.Identity} {
		for _, c := range list {
			b.WriteString(compare.ChangeText(c) + ": " + c.Message + "\n")
		}
	}
	return b.String()
}

// The title names the two releases of one operator, and both sides if one of them has several.
func TestTitle(t *testing.T) {
	for _, c := range []struct {
		old, now []string
		want     string
	}{
		{[]string{"a.v1"}, []string{"a.v2"}, "a.v1 -> a.v2"},
		{[]string{"a.v1"}, []string{"a.v1"}, "OLD -> NEW"},
		{nil, []string{"a.v1"}, "OLD -> a.v1"},
		{[]string{"a.v1"}, nil, "a.v1 -> NEW"},
		{[]string{"a.v1"}, []string{"a.v1", "b.v1"}, "OLD -> NEW"},
		{[]string{"a.v1", "b.v1"}, []string{"a.v2"}, "OLD -> NEW"},
	} {
		if got := compare.TitleOf(compare.Side{Name: "OLD", Operators: c.old}, compare.Side{Name: "NEW", Operators: c.now}); got != c.want {
			t.Errorf("%v, %v: %s, want %s", c.old, c.now, got, c.want)
		}
	}
}
