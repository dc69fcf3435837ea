package review

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
)

// A comparison plays OLD, NEW on what OLD leaves, and a control only where something speaks against NEW or OLM updates
// an operator.
func TestPlaysOfAComparison(t *testing.T) {
	o := onExamples(t)
	plays := 0
	playTree = func(ctx context.Context, t *tree.Tree, o predict.Options) (*predict.Report, error) {
		plays++
		return predict.Check(ctx, t, o)
	}
	t.Cleanup(func() { playTree = predict.Check })
	const old = `apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: backup, namespace: backup}
spec: {targetNamespaces: [backup]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: backup-operator, namespace: backup}
spec: {name: backup-operator, channel: stable-v1, source: community, sourceNamespace: olm}
`
	for _, c := range []struct {
		what, now string
		plays     int
		said      string // of the worst consequence; "" for none
	}{
		{"nothing changes", old, 2, ""},
		{"a ConfigMap is new", old + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: backup}\n", 2, ""},
		{"another channel", strings.Replace(old, "stable-v1", "stable-v2", 1), 3, ""},
		{"another group", old + "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: two, namespace: backup}\n", 3,
			"csv created in namespace with multiple operatorgroups"},
		{"no Subscription", old[:strings.Index(old, "---")], 3, "it is deleted, and nothing else"},
		{"nothing is left", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: backup}\n", 3, "csv in namespace with no operatorgroups"},
	} {
		t.Run(c.what, func(t *testing.T) {
			plays = 0
			r := comparedTrees(t, o, old, c.now)
			if plays != c.plays {
				t.Errorf("%d plays, want %d", plays, c.plays)
			}
			said := ""
			for _, x := range r.OLM {
				said += x.Message + "\n"
			}
			if c.what == "no Subscription" && len(r.Permissions)+len(r.CRDs) > 0 {
				t.Errorf("the operator stays, and %v, %v differ", r.Permissions, r.CRDs)
			}
			if c.said == "" && said != "" || !strings.Contains(said, c.said) {
				t.Errorf("OLM: %q, want %q", said, c.said)
			}
		})
	}
}

// onExamples returns the options with the catalog of examples/subscriptions.
func onExamples(t *testing.T) TreeOptions {
	t.Helper()
	content, err := catalog.Read(t.Context(), filepath.Join("..", "..", "..", "examples", "subscriptions", "catalog"), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return TreeOptions{Catalogs: predict.Catalogs{Others: content}}
}

// comparedTrees compares two trees, the newer one on what the older one leaves.
func comparedTrees(t *testing.T, o TreeOptions, old, now string) *compare.Report {
	t.Helper()
	var sides [2]*Subject
	for i, text := range []string{old, now} {
		o.Next = nil
		if i == 0 {
			o.Next = reviewtest.Objects(t, "all.yaml", now)
		}
		side, err := FromTree(t.Context(), &tree.Tree{Objects: reviewtest.Objects(t, "all.yaml", text)}, o)
		if err != nil {
			t.Fatal(err)
		}
		sides[i], o.Over = side, side
	}
	r, err := Compare(t.Context(), sides[0], sides[1], [2]string{"old", "new"}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
