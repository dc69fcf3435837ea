package adopt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/golden/fuzztest"
)

// TestGrowth compares roles of n rules, and bindings of n subjects.
func TestGrowth(t *testing.T) {
	object := func(head, unit string, n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			b.WriteString(strings.ReplaceAll(unit, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules:\n"
	binding := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: r}\nsubjects:\n"
	for _, c := range []struct{ name, head, live, rendered string }{
		{"rules", role, "- {apiGroups: [a#], resources: [r], verbs: [get]}\n", "- {apiGroups: [b#], resources: [r], verbs: [get]}\n"},
		{"equal rules", role, "- {apiGroups: [a], resources: [r#, s], verbs: [get]}\n", "- {apiGroups: [a], resources: [s, r#], verbs: [get]}\n"},
		{"subjects", binding, "- {kind: User, name: a#}\n", "- {kind: User, name: b#}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fuzztest.Growth(t, fuzztest.Linear, 64, 1<<14, func(n int) func() {
				live, rendered := object(strings.Replace(c.head, "{name: r}", "{name: r, uid: u}", 1), c.live, n), object(c.head, c.rendered, n)
				d, err := dump.Read(t.Context(), []string{"-"}, strings.NewReader(live))
				if err != nil {
					t.Fatal(err)
				}
				v, role := &verifier{State: &State{Dump: d}}, d.OfKind(fromYAML(live)["kind"].(string))[0]
				return func() { v.pair(role, fromYAML(rendered)) }
			})
		})
	}
}
