package policy

import (
	"fmt"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

type exception struct {
	Rule      string `json:"rule"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Path      string `json:"path"`
	Reason    string `json:"reason"`

	file, field string
	line        int
	globs       map[string]glob // the non-empty fields
}

// matches reports whether the exception covers a finding. A finding without an object matches by rule and path only.
func (e *exception) matches(f located, rel, namespace string) bool {
	for field, g := range e.globs {
		var ok bool
		switch {
		case field == "rule":
			ok = g.match(f.Rule)
		case field == "path":
			ok = g.match(f.File) || g.match(rel)
		case f.object == nil:
		case field == "kind":
			ok = g.match(f.object.Kind)
		case field == "namespace":
			ok = g.match(namespace)
		case field == "name":
			ok = g.match(f.object.Name)
		}
		if !ok {
			return false
		}
	}
	return true
}

// except removes the findings that the exceptions cover, and adds a note for each exception that covers nothing.
func except(exceptions []exception, found []located, v *view) (list []findings.Finding) {
	rels, namespaces := map[string]string{}, map[*manifest.Object]string{}
	for _, o := range v.objects {
		rels[o.File], namespaces[o.Object] = o.rel, o.Namespace
	}
	used := make([]bool, len(exceptions))
	for _, f := range found {
		excepted := false
		for i := range exceptions {
			if exceptions[i].matches(f, rels[f.File], namespaces[f.object]) {
				used[i], excepted = true, true
			}
		}
		if !excepted {
			list = append(list, f.Finding)
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			list = append(list, findings.Finding{
				Rule: ruleUnusedException, Level: findings.Note, File: e.file, Line: e.line,
				Field:   withoutIndexes(e.field),
				Message: fmt.Sprintf("the exception from %s matches nothing: %s", e.Rule, text.OneLine(e.Reason)),
				Hint:    "remove it",
			})
		}
	}
	return list
}
