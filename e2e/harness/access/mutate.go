package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Mutation is an object of RBAC and the same with less in it; Mutant is nil if all of it is lost.
type Mutation struct {
	Lost           string
	Object, Mutant *unstructured.Unstructured
}

// Mutations are all ways to lose one rule, one binding or the labels by which a ClusterRole is aggregated.
func Mutations(objects []*unstructured.Unstructured) (out []Mutation) {
	for _, o := range objects {
		name := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
		switch o.GetKind() {
		case "RoleBinding", "ClusterRoleBinding":
			out = append(out, Mutation{name, o, nil})
		case "Role", "ClusterRole":
			rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
			for n := range rules {
				less := o.DeepCopy()
				less.Object["rules"] = slices.Delete(slices.Clone(rules), n, n+1)
				out = append(out, Mutation{fmt.Sprintf("rule %d of %s", n+1, name), o, less})
			}
			if slices.ContainsFunc(slices.Collect(maps.Keys(o.GetLabels())),
				func(k string) bool { return strings.Contains(k, "/aggregate-to-") }) {
				less := o.DeepCopy()
				less.SetLabels(nil)
				out = append(out, Mutation{"labels of " + name, o, less})
			}
		}
	}
	return out
}

// Yes are the answers that are yes.
func (a Answers) Yes() Answers {
	return a.filter(func(_ Question, allowed bool) bool { return allowed })
}

// Without are the answers to other questions.
func (a Answers) Without(these func(Question) bool) Answers {
	return a.filter(func(q Question, _ bool) bool { return !these(q) })
}

func (a Answers) filter(keep func(Question, bool) bool) Answers {
	out := Answers{}
	for subject, answers := range a {
		out[subject] = map[Question]bool{}
		for q, allowed := range answers {
			if keep(q, allowed) {
				out[subject][q] = allowed
			}
		}
	}
	return out
}
