package compare_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/print"
)

// operatorIn is an operator with an account, a CRD and a Deployment.
func operatorIn(namespace, name, version, field, image string) string {
	return strings.NewReplacer("NS", namespace, "NAME", name, "VERSION", version, "FIELD", field, "IMAGE", image).Replace(`
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: NAME.vVERSION, namespace: NS}
spec:
  version: VERSION
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: NAMEs.NAME.io, kind: Kind, version: v1}]}
  install:
    strategy: deployment
    spec:
      clusterPermissions: [{serviceAccountName: NAME, rules: [{apiGroups: [""], resources: [FIELD], verbs: [get]}]}]
      deployments:
      - name: NAME
        spec: {selector: {matchLabels: {a: NAME}}, template: {metadata: {labels: {a: NAME}}, spec: {serviceAccountName: NAME, containers: [{name: a, image: IMAGE}]}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAMEs.NAME.io}
spec:
  group: NAME.io
  scope: Namespaced
  names: {kind: Kind, plural: NAMEs}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {FIELD: {type: string}}}}}]
`)
}

// TestOperatorAnswers sums up each of several operators, the worst first, and what belongs to none.
func TestOperatorAnswers(t *testing.T) {
	old := operatorIn("one", "abel", "1.0.0", "pods", "x/a@sha256:"+strings.Repeat("1", 64)) + operatorIn("two", "boat", "1.0.0", "pods", "x/b:1") +
		operatorIn("two", "cart", "1.0.0", "pods", "x/c:1") + operatorIn("three", "deer", "1.0.0", "pods", "x/d:1")
	now := operatorIn("one", "abel", "1.1.0", "secrets", "x/a@sha256:"+strings.Repeat("2", 64)) + operatorIn("two", "boat", "1.1.0", "pods", "x/b:1") +
		operatorIn("two", "cart", "1.0.0", "pods", "x/c:1") + operatorIn("four", "elk", "1.0.0", "pods", "x/e:1") + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: two}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: one}
data: {a: b}
`
	r := compared(t, tree(t, old), tree(t, now))
	var got []string
	for _, o := range r.Operators {
		got = append(got, fmt.Sprintf("%s %s %s -> %s: %s", o.Severity, o.Operator, o.Old, o.New, o.Verdict))
	}
	want := []string{
		"error abel 1.0.0 -> 1.1.0: accept only if 1 breaking change of 1 CRD hurts none of your objects; look also at accounts; OLM would upgrade if its catalog says so",
		"error deer 1.0.0 -> : accept only if 1 breaking change of 1 CRD hurts none of your objects; look also at other warnings and the operators",
		"warning elk  -> 1.0.0: accept after a look at pods that are less restricted; OLM would install it",
		"info boat 1.0.0 -> 1.1.0: nothing speaks against it: no error, no warning; OLM would upgrade if its catalog says so",
		"info   -> : nothing speaks against it: no error, no warning",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := compared(t, tree(t, operatorIn("one", "abel", "1.0.0", "pods", "x:1")), tree(t, operatorIn("one", "abel", "1.1.0", "pods", "x:1"))); len(r.Operators) > 0 {
		t.Errorf("one operator: %v", r.Operators)
	}
}

// TestOperatorOfResource gives a custom resource to the operator of its kind, wherever it is; of a kind that two have, to none.
func TestOperatorOfResource(t *testing.T) {
	for want, kind := range map[string]string{"abel": "Abel", "": "Cart"} {
		both := operatorIn("two", "boat", "1.0.0", "pods", "x:1") + strings.ReplaceAll(operatorIn("one", "abel", "1.0.0", "pods", "x:1"), "Kind", kind) +
			strings.ReplaceAll(operatorIn("three", "cart", "1.0.0", "pods", "x:1"), "Kind", "Cart") + "\n---\n{apiVersion: abel.io/v1, kind: " + kind +
			", metadata: {name: x, namespace: two}, spec: {field: "
		if list := compared(t, tree(t, both+"a}}"), tree(t, both+"b}}")).Operators; len(list) != 1 || list[0].Operator != want {
			t.Errorf("%s: %v, want one of %q", kind, list, want)
		}
	}
}

// TestRemovedResource warns of a custom resource that is gone, if the operator that deletes what it made for it is there; of another object it does not.
func TestRemovedResource(t *testing.T) {
	operator := operatorIn("one", "abel", "1.0.0", "pods", "x:1")
	for object, want := range map[string]string{
		"{apiVersion: abel.io/v1, kind: Kind, metadata: {name: x, namespace: two}}":  "- warning  removed  [tree.yaml:27: where it is pruned, its operator deletes what it made for it]",
		"{apiVersion: other.io/v1, kind: Kind, metadata: {name: x, namespace: two}}": "- info     removed  [tree.yaml:27]",
	} {
		if out := printed(t, compared(t, tree(t, operator+"---\n"+object), tree(t, operator))); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestOneOfSeveral names the operator that differs, and not how many a cluster has.
func TestOneOfSeveral(t *testing.T) {
	other := operatorIn("two", "boat", "1.0.0", "pods", "x:1")
	clusters := compare.Reports{Old: "old", New: "new"}
	for _, version := range []string{"1.1.0", "1.2.0"} {
		clusters.Add("c"+version, compared(t, tree(t, operatorIn("one", "abel", "1.0.0", "pods", "x:1")+other),
			tree(t, operatorIn("one", "abel", version, "pods", "x:1")+other)))
	}
	var out bytes.Buffer
	if err := print.Report(&out, &clusters, findings.Text); err != nil {
		t.Fatal(err)
	}
	if want := "info     abel 1.0.0 -> 1.1.0: "; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, out.String())
	}
}

// TestScreenOfMany prints many operators, and many clusters, of which the first screen has ten lines of 100 columns: the worst, those that are
// alike in one line, and a count of the rest. Nothing is lost: each has its line or its section below.
func TestScreenOfMany(t *testing.T) {
	old, now, clusters := "", "", compare.Reports{Old: "old", New: "new"}
	for i := range 16 {
		name := fmt.Sprintf("operator%d", i)
		field := []string{"pods", "secrets", "nodes"}[min(i%4, 2)]
		images := []string{"quay.io/" + name + "/a:2", fmt.Sprintf("%d.io/%s/a:1", i, name)}
		before, after := operatorIn(name, name, "1.0.0", "pods", "quay.io/"+name+"/a:1"), operatorIn(name, name, "1.1.0", field, images[i%2])
		old, now = old+before, now+after
		clusters.Add("cluster-"+name, compared(t, tree(t, before), tree(t, after)))
	}
	r := compared(t, tree(t, old), tree(t, now))
	for name, c := range map[string]struct {
		report any
		want   string
	}{"operators": {r, "operator1, operator3 and 6 more +error +8 operators"}, "clusters": {&clusters, "and 8 more +error +their worst: 4 error, 4 info"}} {
		var out bytes.Buffer
		if err := print.Report(&out, c.report, findings.Text); err != nil {
			t.Fatal(err)
		}
		screen, below, _ := strings.Cut(out.String(), "\n\n")
		lines := strings.Split(screen, "\n")
		if len(lines) > 10 || slices.ContainsFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) > 100 }) {
			t.Errorf("%s: the first screen has %d lines:\n%s", name, len(lines), screen)
		}
		if !regexp.MustCompile(c.want).MatchString(screen) {
			t.Errorf("%s: the rest is not counted:\n%s", name, screen)
		}
		for i := range 16 {
			if operator := fmt.Sprintf("operator%d ", i); !strings.Contains(below, operator) && !strings.Contains(below, strings.TrimSpace(operator)+".v") {
				t.Errorf("%s: %s is lost", name, operator)
			}
		}
	}
}

// TestOperatorOfWebhook gives what OLM makes of a webhook to the operator that defines it, with its place.
func TestOperatorOfWebhook(t *testing.T) {
	hook := func(operator string) string {
		return strings.Replace(operatorIn("in-"+operator, operator, "1.0.0", "pods", "x:1"), "spec:\n",
			"spec:\n  webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: hook."+operator+".io, deploymentName: "+operator+"}]\n", 1)
	}
	kept, gone := hook("abel"), hook("boat")
	for _, name := range []string{"hook.boat.io", "in-boat.hook.boat.io"} {
		made := "\n---\n{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: " + name + "}, webhooks: [{name: hook.boat.io}]}\n"
		old := tree(t, kept+gone+made)
		old.Objects[len(old.Objects)-1].File = "" // OLM makes it
		r := compared(t, old, tree(t, kept+gone))
		if len(r.Workloads) != 1 || r.Workloads[0].Line != old.Operators[1].Object.LineOf("spec.webhookdefinitions") {
			t.Errorf("%s: %v", name, r.Workloads)
		}
		if len(r.Operators) != 1 || r.Operators[0].Operator != "boat" {
			t.Errorf("%s: %v", name, r.Operators)
		}
	}
}
