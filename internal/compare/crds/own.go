package crds

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
)

// ownIssues returns what crdify does not look at in one schema: rules of CEL, and fields that are no longer required.
func ownIssues(old, now *props) []issue {
	var out []issue
	add := func(rule, message string) {
		if message != "" {
			out = append(out, issue{rule: rule, message: message, key: message})
		}
	}
	if optional := lacking(old.Required, now.Required); len(optional) > 0 {
		add(ruleRequiredRemoved, "no longer required: "+text.FirstOf(mostItems, optional))
	}
	if equality.Semantic.DeepEqual(old.XValidations, now.XValidations) {
		return out
	}
	added, removed := newRules(old, now), newRules(now, old)
	add(ruleValidation, rulesMessage("added", added))
	add(ruleValidationChanged, rulesMessage("removed", removed))
	if len(added)+len(removed) == 0 {
		add(ruleValidationChanged, "x-kubernetes-validations: messages or order changed")
	}
	return out
}

// lacking returns the texts of a list that another one lacks, each once and sorted.
func lacking(list, other []string) []string { return sets.List(sets.New(list...).Delete(other...)) }

// newRules returns the CEL rules that only one of two schemas has. White space is no difference.
func newRules(without, with *props) apiextensionsv1.ValidationRules {
	text := func(r apiextensionsv1.ValidationRule) string { return apiserver.ReadRule(r.Rule).Text }
	has := lists.Set(without.XValidations, text)
	return lists.Filter(with.XValidations, func(r apiextensionsv1.ValidationRule) bool { return !has[text(r)] })
}

func rulesMessage(verb string, rules apiextensionsv1.ValidationRules) string {
	const name = "x-kubernetes-validations: "
	switch len(rules) {
	case 0:
		return ""
	case 1:
		return name + "rule " + verb + ": " + clip(rules[0].Rule)
	}
	return name + text.Count(len(rules), "rule") + " " + verb + ", such as " + clip(rules[0].Rule)
}

// compatible returns a message about the field that a check of crdify is about, where the check finds nothing bad: a
// bound that is relaxed. Another order of an enum, or of required fields, is no difference.
func compatible(check string, old, now *props) string {
	v, w, ok := fieldOf(check, old, now)
	if !ok || equality.Semantic.DeepEqual(v, w) || check == ruleRequired || check == ruleEnum {
		return ""
	}
	return fieldMessage(check, v, w)
}

// fieldOf returns the values of a field of two schemas by its name in JSON.
func fieldOf(name string, old, now *props) (v, w any, ok bool) {
	n, ok := fieldNumbers()[name]
	if !ok {
		return nil, nil, false
	}
	return reflect.ValueOf(old).Elem().Field(n).Interface(), reflect.ValueOf(now).Elem().Field(n).Interface(), true
}

// fieldNumbers has the number of each field of a schema by its name in JSON.
var fieldNumbers = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	t := reflect.TypeFor[props]()
	for n := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(n).Tag.Get("json"), ",")
		out[key] = n
	}
	return out
})

// together are fields of a schema that mean something with each other only.
var together = [][]string{{"type", "x-kubernetes-int-or-string"},
	{"x-kubernetes-list-type", "x-kubernetes-list-map-keys"}}

// alone returns the older schema with nothing but what an issue is about: its rule, and some fields.
func alone(rule string, old, now *props, fields []string) *props {
	for _, group := range together {
		if slices.ContainsFunc(group, func(f string) bool { return slices.Contains(fields, f) }) {
			fields = append(slices.Clip(fields), group...)
		}
	}
	out := with(old, now, fields...)
	switch rule {
	case ruleRequired:
		plain, _ := newlyRequired(old, now)
		out.Required = append(slices.Clip(old.Required), plain...)
	case ruleRequiredRemoved:
		out.Required = lacking(old.Required, lacking(old.Required, now.Required))
	case ruleValidation:
		out.XValidations = append(slices.Clip(old.XValidations), newRules(old, now)...)
	case ruleValidationChanged:
		out.XValidations = newRules(&props{XValidations: newRules(now, old)}, old)
	}
	return out
}

// with returns a schema with some fields of another one, by their names in JSON.
func with(s, other *props, fields ...string) *props {
	out := *s
	for _, name := range fields {
		n := fieldNumbers()[name]
		reflect.ValueOf(&out).Elem().Field(n).Set(reflect.ValueOf(other).Elem().Field(n))
	}
	return &out
}
