package transform

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

const (
	patchDirective   = "$patch"
	directiveDelete  = "delete"
	directiveReplace = "replace"
	directiveMerge   = "merge"
)

// directives are those that kubectl knows. A patch may use $patch only, as in kustomize.
var directives = []string{patchDirective, "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"}

func isDirective(key string) bool {
	return slices.ContainsFunc(directives, func(d string) bool { return strings.HasPrefix(key, d) })
}

// directivesIn returns the places of directives, sorted.
func directivesIn(v any) (found []string) {
	eachDirective(v, "", func(at, _ string, _ any) { found = append(found, at) })
	return found
}

// eachDirective calls visit for every directive in a value.
func eachDirective(v any, path string, visit func(at, key string, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			if isDirective(key) {
				visit(at, key, v[key])
			}
			eachDirective(v[key], at, visit)
		}
	case []any:
		for i, x := range v {
			eachDirective(x, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// checkDirectives refuses directives other than $patch: delete, replace or merge.
func checkDirectives(d *manifest.Document, v any) error {
	var first *manifest.Error
	eachDirective(v, "", func(at, key string, value any) {
		if text, _ := value.(string); first != nil || key == patchDirective &&
			slices.Contains([]string{directiveDelete, directiveReplace, directiveMerge}, text) {
			return
		}
		first = d.Errorf(at, "no such directive: it would stay in the object")
		if key == patchDirective {
			first.Msg = fmt.Sprintf("no such directive: %v", value)
		}
		first.Tip = "a patch takes $patch: delete, replace or merge"
	})
	if first == nil {
		return nil
	}
	return first
}

// fits refuses a strategic merge patch that has a value of the wrong type for an object, or an element of a merged list
// without the key of the list. It returns the fields that the object's type does not have.
func fits(d *manifest.Document, patch map[string]any, o generate.Object) (unknown []string, err error) {
	t := typeOf(o)
	if t == nil {
		return nil, nil
	}
	x, err := d.Object()
	if err != nil {
		return nil, err
	}
	plain, _ := withoutDirectives(patch).(map[string]any)
	if unknown, err = x.Decode(plain, reflect.New(t).Interface()); err != nil {
		return nil, err
	}
	if mergesLists(o) {
		err = checkKeys(d, patch, merging{t}, "")
	}
	return unknown, err
}

// withoutDirectives leaves out what a patch says of how it is applied: directives, and null, which removes a field.
func withoutDirectives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, x := range v {
			if x != nil && !isDirective(key) {
				out[key] = withoutDirectives(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = withoutDirectives(x)
		}
		return out
	}
	return v
}

// checkKeys refuses elements of merged lists that lack the key of their list.
func checkKeys(d *manifest.Document, v any, schema merging, path string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		field, merged, key := schema.field(name)
		at := strings.TrimPrefix(path+"."+name, ".")
		list, ok := m[name].([]any)
		if !ok {
			if err := checkKeys(d, m[name], field, at); err != nil {
				return err
			}
			continue
		}
		if !merged ||
			slices.ContainsFunc(list,
				func(x any) bool { m, _ := x.(map[string]any); return m[patchDirective] != nil && len(m) == 1 }) {
			key = "" // the list is given as a whole
		}
		for i, x := range list {
			at := fmt.Sprintf("%s[%d]", at, i)
			if m, _ := x.(map[string]any); key != "" && m[key] == nil {
				return d.Errorf(at, "has no %s, which identifies the elements of the list", key).
					With("give it, or replace the whole list with an element $patch: replace")
			}
			if err := checkKeys(d, x, field, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// unknownField is an error of an object that has, after a patch, a field which its type does not have.
type unknownField struct{ at *manifest.Error }

func (u *unknownField) Error() string { return u.at.Error() }
func (u *unknownField) Hint() string  { return u.at.Tip }

// checked returns a patched object in olmgen's form. It must still be the same object. The patch must not have brought
// in directives, values of a wrong type, or fields that the type of the object does not have.
func checked(before generate.Object, v map[string]any) (*manifest.Object, error) {
	after := manifest.New(v)
	if after.APIVersion != before.APIVersion || after.Kind != before.Kind || after.Name != before.Name ||
		after.Namespace != before.Namespace {
		return nil, fmt.Errorf("a patch cannot give it another identity (%s)", after.Identity())
	}
	v, err := after.Value()
	if err != nil {
		return nil, err
	}
	left := directivesIn(v)
	t := typeOf(before)
	var unknown []string
	var wrong error
	if t != nil {
		unknown, wrong = after.Decode(v, reflect.New(t).Interface())
	}
	if wrong == nil && len(left)+len(unknown) == 0 {
		return after, nil
	}
	return after, verify(before, t, left, unknown, wrong)
}

// verify returns an error for what is wrong with a patched object, if it was not wrong before.
func verify(before generate.Object, t reflect.Type, left, unknown []string, wrong error) error {
	x, err := before.Manifest()
	if err != nil {
		return err
	}
	was, err := x.Value()
	if err != nil {
		return err
	}
	if at := added(left, directivesIn(was)); at != "" {
		return leftDirective(at)
	}
	if t == nil {
		return nil
	}
	had, err := x.Decode(was, reflect.New(t).Interface())
	var e *manifest.Error
	switch {
	case err != nil: // the bundle's own fault
		return nil //nolint:nilerr // it is not the patch's
	case errors.As(wrong, &e):
		return &manifest.Error{Field: e.Field, Msg: e.Msg, Tip: e.Tip}
	case wrong != nil:
		return wrong
	}
	if at := added(unknown, had); at != "" {
		return &unknownField{noSuchField(t, at)}
	}
	return nil
}

func leftDirective(at string) error {
	e := &manifest.Error{Field: at, Msg: "the patch leaves a directive in the object",
		Tip: "a strategic merge patch takes $patch: delete, replace or merge"}
	if strings.HasSuffix(at, "]."+patchDirective) {
		e.Tip = "nothing identifies the elements of this list, so a patch replaces the whole list and has no directives"
	}
	return e
}

func noSuchField(t reflect.Type, field string) *manifest.Error {
	return &manifest.Error{Field: field, Msg: "no such field", Tip: manifest.Suggestion(t, field)}
}

var index = lazy.Regexp(`\[\d+\]`)

// added returns the first path that was not there before. Indexes of lists do not count.
func added(now, before []string) string {
	plain := func(path string) string { return index().ReplaceAllString(path, "[]") }
	had := lists.Set(before, func(path string) string { return plain(path) })
	return lists.Find(now, func(path string) bool { return !had[plain(path)] })
}
