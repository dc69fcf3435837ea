package access

import (
	"os"
	"slices"
	"testing"

	"github.com/olmgen/olmgen/bundle"
)

// The questions are the same each time, none twice, and there are some about each kind of rule.
func TestQuestions(t *testing.T) {
	b, err := bundle.Read(os.DirFS("../../../golden/live-bundles/regatta"), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Rules(b)
	if err != nil {
		t.Fatal(err)
	}
	namespaces := []string{"operator-ns", "target-a"}
	questions := Questions(rules, namespaces)
	for range 3 {
		if !slices.Equal(questions, Questions(rules, namespaces)) {
			t.Fatal("other questions the second time")
		}
	}
	has := map[Question]bool{}
	for _, q := range questions {
		if has[q] {
			t.Errorf("asked twice: %s", q)
		}
		has[q] = true
	}
	for _, q := range []Question{
		{Verb: "get", Path: "/healthz"},
		{Verb: "get", Path: "/debug/x"},
		{Verb: "post", Path: "/other"},
		{Verb: "update", Resource: "configmaps", Name: "course", Namespace: "target-a"},
		{Verb: "update", Resource: "configmaps", Name: "other", Namespace: "target-a"},
		{Verb: "list", Group: "apps", Resource: "unknowns"},
		{Verb: "create", Group: "unknown.example.com", Resource: "pods", Subresource: "exec", Namespace: "operator-ns"},
		{Verb: "get", Resource: "secrets", Name: "regatta-operator-service-cert", Namespace: "operator-ns"},
		{Verb: "deletecollection", Group: "weather.regatta.example.com", Resource: "winds", Namespace: "target-a"},
		{Verb: "get", Group: "scores.regatta.example.com", Resource: "scores"},
		{Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: "operator-ns"},
	} {
		if !has[q] {
			t.Errorf("not asked: %s", q)
		}
	}
	subjects, err := Subjects(b, "operator-ns", namespaces)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anybody", "ServiceAccount default", "ServiceAccount starter",
		"ServiceAccount umpire", "User reporter", "Group audience",
		"a user with the role view", "a user with the role group's admin"} {
		if !slices.ContainsFunc(subjects, func(s Subject) bool { return s.Name == name }) {
			t.Errorf("not asked about: %s", name)
		}
	}
	t.Logf("%d questions about %d subjects", len(questions), len(subjects))
}

// A lost right, a new one, a question or a subject that is missing are differences.
func TestDifferences(t *testing.T) {
	q, other := Question{Verb: "get", Resource: "pods"}, Question{Verb: "list", Resource: "pods"}
	olm := Answers{"a": {q: true, other: false}}
	for _, c := range []struct {
		what  string
		got   Answers
		equal bool
	}{
		{"the same", Answers{"a": {q: true, other: false}}, true},
		{"a lost right", Answers{"a": {q: false, other: false}}, false},
		{"a new right", Answers{"a": {q: true, other: true}}, false},
		{"a question that nobody asked", Answers{"a": {q: true}}, false},
		{"one question more", Answers{"a": {q: true, other: false, {Verb: "watch"}: false}}, false},
		{"nobody", Answers{}, false},
		{"one subject more", Answers{"a": {q: true, other: false}, "b": {}}, false},
	} {
		if d := Differences(olm, c.got); (len(d) == 0) != c.equal {
			t.Errorf("%s: %q", c.what, d)
		}
	}
}
