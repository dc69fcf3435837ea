package generate

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle"
)

// A binding with many accounts of another namespace is one warning, at the first of them.
func TestForeignSubjects(t *testing.T) {
	b := testBundle(t, allModes, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: many}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: User, name: u, apiGroup: rbac.authorization.k8s.io}
- {kind: ServiceAccount, name: a, namespace: agents}
- {kind: ServiceAccount, name: b, namespace: agents}
- {kind: ServiceAccount, name: c, namespace: other}
`)
	result, err := Render(b, Options{Namespace: "ops"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range result.Warnings {
		if w.Class == bundle.WarnForeignSubject {
			got = append(got, w.Field+": "+w.Msg)
		}
	}
	want := []string{
		`subjects[1].namespace: 2 subjects are in namespace "agents", the operator is in "ops": they are left as they are, as OLM does`,
		`subjects[3].namespace: the subject is in namespace "other", the operator is in "ops": it is left as it is, as OLM does`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("warnings\n%s", strings.Join(got, "\n"))
	}
}

// OLM v1 has no default for the targets of an operator that cannot watch all namespaces. The hint names what it supports.
func TestOLMv1Targets(t *testing.T) {
	for modes, hint := range map[string]string{
		"installModes: [{type: OwnNamespace, supported: true}]":    "choose OwnNamespace, or name a namespace",
		"installModes: [{type: SingleNamespace, supported: true}]": "name a namespace",
	} {
		_, err := Render(testBundle(t, modes+"\n"), Options{Namespace: "ops", Profile: ProfileOLMv1})
		hinted, ok := err.(*Error)
		if !ok || !strings.Contains(hinted.Msg, "exactly one target namespace must be specified") || hinted.Tip != hint {
			t.Errorf("%s: %v", modes, err)
		}
	}
}
