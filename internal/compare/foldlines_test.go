package compare_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/print"
)

func printed(t *testing.T, r *compare.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := print.Report(&out, r, findings.Text); err != nil {
		t.Fatal(err)
	}
	return unfolded(out.String())
}

// unfolded joins the lines that are too long for the page.
func unfolded(text string) string { return strings.ReplaceAll(text, "\n      ", " ") }

// An operator with 200 images, of which each release has other digests, has one line for them. The two that are new
// have one, and so have those that are gone.
func TestDigestsShareALine(t *testing.T) {
	images := func(digit string, names ...string) string {
		var env strings.Builder
		for i := range 200 {
			fmt.Fprintf(&env, "{name: RELATED_IMAGE_%d, value: quay.io/m/agent-%d@sha256:%s%03d}, ", i, i%2, strings.Repeat(digit, 61), i)
		}
		for i, name := range names {
			fmt.Fprintf(&env, "{name: RELATED_IMAGE_%s, value: quay.io/m/server@sha256:%s%d}, ", name, strings.Repeat(digit, 63), i)
		}
		return deployment("d", "image: a.io/b:1, env: ["+env.String()+"]", "")
	}
	got := printed(t, compared(t, tree(t, images("a", "OLD_1", "OLD_2")), tree(t, images("b", "NEW_1", "NEW_2", "NEW_3"))))
	for _, want := range []string{
		"~ info     200 image digests changed, same repositories: quay.io/m/agent-0, quay.io/m/agent-1  [",
		"+ info     containers[c].env[]: 3 images added: quay.io/m/server\n",
		"- info     containers[c].env[]: 2 images removed: quay.io/m/server\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n > 12 {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

// The same change of several fields, versions and objects is one line, and no line repeats the place of the one above.
func TestEqualChangesShareALine(t *testing.T) {
	object := func(name, label, value string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: op, labels: {v: %q}}\ndata: {a: %q, b: %q}\n---\n", name, label, value, value)
	}
	old := object("x", "1", "p") + object("w", "1", "p") + object("z", "1", "q")
	now := object("x", "2", "r") + object("w", "2", "r") + object("z", "2", "q")
	got := printed(t, compared(t, tree(t, old), tree(t, now)))
	for _, want := range []string{
		"  2 ConfigMaps: op/w, op/x\n  ~ info     data.a, data.b: p -> r  [tree.yaml:9]\n",
		"  3 ConfigMaps: op/w, op/x, op/z\n  ~ info     metadata.labels.v: 1 -> 2  [tree.yaml:8]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	webhook := func(name, version string) string {
		return fmt.Sprintf("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: op.%[1]s.x.io}\n"+
			"webhooks: [{name: %[1]s.x.io, admissionReviewVersions: [%[2]s]}]\n---\n", name, version)
	}
	r := compared(t, tree(t, webhook("v", "v1beta1")+webhook("w", "v1beta1")), tree(t, webhook("v", "v1")+webhook("w", "v1")))
	const refused = "changes spec.scope of CustomResourceDefinition %s, which the API server refuses"
	for _, name := range []string{"as.x.io", "bs.x.io", "cs.x.io"} {
		r.OLM = append(r.OLM, compare.Consequence{Operator: "a.v1", Severity: findings.Error, Rule: "immutable-field", Message: fmt.Sprintf(refused, name)})
	}
	r.OLM = append(r.OLM, compare.Consequence{Operator: "a.v1", Severity: findings.Error, Rule: "x", Message: "a.b waits for c.d"},
		compare.Consequence{Operator: "a.v1", Severity: findings.Error, Rule: "x", Message: "e.f waits for g.h"})
	got = printed(t, r)
	for _, want := range []string{
		"  2 ValidatingWebhookConfigurations: op.v.x.io, op.w.x.io\n  + info     webhooks[].admissionReviewVersions[v1] added",
		"  ~ error    " + fmt.Sprintf(refused, "as.x.io, bs.x.io, cs.x.io") + " [immutable-field]\n",
		"a.b waits for c.d  [x]\n", "e.f waits for g.h  [x]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	crd := func(kind string) string {
		return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.x.io}
spec:
  group: x.io
  names: {kind: A, plural: as}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {p: {type: ` + kind + `}, q: {type: ` + kind + `}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {p: {type: ` + kind + `}, q: {type: ` + kind + `}}}}}
`
	}
	got = printed(t, compared(t, tree(t, crd("string")), tree(t, crd("integer"))))
	if want := "~ error    v1, v2: p, q: type changed from string to integer: \"x\" was taken, is refused: must be of type integer: \"string\"  [tree.yaml:9,10: type]\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// The verdict says what a person decides, from the findings of the worst severity.
func TestVerdict(t *testing.T) {
	plain := deployment("d", "image: a.io/b:1", "")
	for name, c := range map[string]struct{ old, now, want string }{
		"nothing":  {plain, plain, ""},
		"a note":   {plain, deployment("d", "image: a.io/b:2", ""), "nothing speaks against it: no error, no warning"},
		"warnings": {plain, deployment("d", "image: a.io/c:1", ""), "accept after a look at images that moved"},
		"errors": {plain + account("a", "delete"), deployment("d", "image: a.io/c:1, securityContext: {privileged: true}", "") + account("a", "delete, get"),
			"accept only if the operator may read every Secret, and its pods may have rights on the node; look also at images that moved"},
		"a warning of the CSV": {csv("a", "1.0.0", "op", ""), csv("a", "1.0.0", "op", ", cleanup: {enabled: true}"), "accept after a look at the warnings"},
		"an upgrade":           {csv("a", "1.0.0", "op", ""), csv("a", "1.1.0", "op", ", replaces: a.v1.0.0"), "nothing speaks against it: no error, no warning; OLM would upgrade"},
		"no upgrade":           {csv("a", "1.0.0", "op", ""), csv("a", "1.1.0", "op", ", replaces: a.v0.9.0"), "OLM would not upgrade in one step"},
		"refused": {csv("a", "1.0.0", "op", ", customresourcedefinitions: {owned: [{name: as.x.io, version: v1, kind: A}]}") + csv("b", "1.0.0", "op", ", customresourcedefinitions: {required: [{name: as.x.io, version: v1, kind: A}]}"),
			csv("a", "1.1.0", "op", ", replaces: a.v1.0.0") + csv("b", "1.0.0", "op", ", customresourcedefinitions: {required: [{name: as.x.io, version: v1, kind: A}]}"),
			"not as it is: OLM or the API server would refuse it, or an operator would fail; once that is mended, accept after a look at removed APIs"},
		"an installation": {"# nothing\n", csv("a", "1.0.0", "op", ""), "nothing speaks against it: no error, no warning; OLM would install it"},
	} {
		r := compared(t, tree(t, c.old), tree(t, c.now))
		if r.Verdict != c.want {
			t.Errorf("%s: %q, want %q", name, r.Verdict, c.want)
		}
		for _, format := range []findings.Format{findings.Text, findings.Markdown, findings.HTML, findings.JSON} {
			var out bytes.Buffer
			if err := print.Report(&out, r, format); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.ToLower(unfolded(out.String())), strings.ToLower(c.want)) {
				t.Errorf("%s: %s has no verdict", name, format)
			}
		}
	}
}
