package transform

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

const patchDirective = "$patch"

// directives are what kubectl takes in a strategic merge patch. kustomize knows the first only and leaves the others in the object.
var directives = []string{patchDirective, "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"}

func isDirective(key string) bool {
	return slices.ContainsFunc(directives, func(d string) bool { return strings.HasPrefix(key, d) })
}

// directivesIn gives the places of directives, sorted.
func directivesIn(v any, path string) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			if isDirective(key) {
				found = append(found, at)
			}
			found = append(found, directivesIn(v[key], at)...)
		}
	case []any:
		for i, x := range v {
			found = append(found, directivesIn(x, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return found
}

// checkDirectives refuses those in a patch that nothing is done with.
func checkDirectives(d *manifest.Document, v any) error {
	for _, at := range directivesIn(v, "") {
		if key := at[strings.LastIndexByte(at, '.')+1:]; key != patchDirective {
			e := d.Errorf(at, "no such directive: it would stay in the object")
			e.Tip = "a patch takes $patch: delete, replace or merge"
			return e
		}
	}
	return nil
}

// fits refuses a strategic merge patch that has a value of the wrong type for an object, or an element of a list that is merged without
// what tells it from the others: the library that merges would empty the list. It gives the fields that the object's type does not have.
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
		err = checkKeys(d, patch, t, "", "")
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

// checkKeys refuses elements of merged lists without the key of their list, which v has if it is one.
func checkKeys(d *manifest.Document, v any, t reflect.Type, path, key string) error {
	t = manifest.Pointed(t)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			field, mergeKey := reflect.Type(nil), ""
			switch t.Kind() {
			case reflect.Map:
				field = t.Elem()
			case reflect.Struct:
				field, mergeKey = fieldOf(t, name)
			}
			if field == nil {
				continue
			}
			if err := checkKeys(d, v[name], field, strings.TrimPrefix(path+"."+name, "."), mergeKey); err != nil {
				return err
			}
		}
	case []any:
		if t.Kind() != reflect.Slice {
			return nil
		}
		if slices.ContainsFunc(v, func(x any) bool { m, _ := x.(map[string]any); return m[patchDirective] == "replace" }) {
			key = "" // the list is given as a whole
		}
		for i, x := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			if m, _ := x.(map[string]any); key != "" && m[key] == nil {
				e := d.Errorf(at, "has no %s, by which the elements of the list are told apart", key)
				e.Tip = "give it, or replace the whole list with an element $patch: replace"
				return e
			}
			if err := checkKeys(d, x, t.Elem(), at, ""); err != nil {
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

// verify refuses what a patch has brought into an object: directives, values of a wrong type and fields that its type does not have. v
// is the value of the patched object.
func verify(before generate.Object, after *manifest.Object, v map[string]any) error {
	left := directivesIn(v, "")
	t := typeOf(before)
	var unknown []string
	var wrong error
	if t != nil {
		unknown, wrong = after.Decode(v, reflect.New(t).Interface())
	}
	if wrong == nil && len(left)+len(unknown) == 0 {
		return nil
	}
	x, err := parse(before)
	if err != nil {
		return err
	}
	was, err := x.Value()
	if err != nil {
		return err
	}
	if at := added(left, directivesIn(was, "")); at != "" {
		e := &manifest.Error{Field: at, Msg: "the patch leaves a directive in the object", Tip: "a strategic merge patch takes $patch: delete, replace or merge"}
		if strings.HasSuffix(at, "]."+patchDirective) {
			e.Tip = "nothing tells the elements of this list apart, so a patch gives the whole list, without directives"
		}
		return e
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
		return &manifest.Error{Field: e.Field, Msg: e.Msg, Tip: e.Tip} // its line is that of the patched object
	case wrong != nil:
		return wrong
	}
	if at := added(unknown, had); at != "" {
		return &unknownField{noSuchField(t, at)}
	}
	return nil
}

func noSuchField(t reflect.Type, field string) *manifest.Error {
	return &manifest.Error{Field: field, Msg: "no such field", Tip: manifest.Suggestion(t, field)}
}

var index = regexp.MustCompile(`\[\d+\]`)

// added gives the first path that was not there before, wherever in a list.
func added(now, before []string) string {
	plain := func(path string) string { return index.ReplaceAllString(path, "[]") }
	had := map[string]bool{}
	for _, path := range before {
		had[plain(path)] = true
	}
	for _, path := range now {
		if !had[plain(path)] {
			return path
		}
	}
	return ""
}
