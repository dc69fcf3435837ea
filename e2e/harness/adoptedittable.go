package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// handEdit is an edit by hand of one object; e2e/scripts/adopt/hand-edits.yaml explains its fields.
type handEdit struct {
	Edit, Of                string
	Repeat, Reverse, Remove []string
	Set, Append             map[string]any
	Does, Says              string
}

// handEdits are tried one by one.
func (o options) handEdits() (all []handEdit, err error) {
	data, err := os.ReadFile(filepath.Join(o.root, "e2e", "scripts", "adopt", "hand-edits.yaml"))
	if err != nil {
		return nil, err
	}
	return all, yaml.UnmarshalStrict(data, &all)
}

// is reports whether an object is the one to edit: not a copy of OLM's.
func (e handEdit) is(o map[string]any) bool {
	u := unstructured.Unstructured{Object: o}
	kind, name, _ := strings.Cut(e.Of, " ")
	ns := u.GetNamespace()
	return u.GetKind() == kind && strings.HasPrefix(u.GetName(), name) && (ns == "" || ns == "operator-ns")
}

// apply edits an object.
func (e handEdit) apply(o map[string]any) {
	at := func(place string, do func(any) any) { change(o, strings.Split(place, "/")[1:], do) }
	list := func(v any) []any { l, _ := v.([]any); return slices.Clone(l) }
	for _, place := range e.Repeat {
		at(place, func(v any) any { return append(list(v), runtime.DeepCopyJSONValue(list(v)[0])) })
	}
	for _, place := range e.Reverse {
		at(place, func(v any) any { l := list(v); slices.Reverse(l); return l })
	}
	for _, place := range e.Remove {
		at(place, func(any) any { return nil })
	}
	for place, value := range e.Set {
		at(place, func(any) any { return value })
	}
	for place, item := range e.Append {
		at(place, func(v any) any { return append(list(v), item) })
	}
}

// change does something with the value at a place, and returns the value with that. What is not there is made, and what
// becomes nil is removed.
func change(v any, place []string, do func(any) any) any {
	if len(place) == 0 {
		return do(v)
	}
	key := strings.ReplaceAll(place[0], "~1", "/")
	if list, ok := v.([]any); ok {
		i := item(list, key)
		list[i] = change(list[i], place[1:], do)
		return list
	}
	m, ok := v.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	if m[key] = change(m[key], place[1:], do); m[key] == nil {
		delete(m, key)
	}
	return m
}

// item returns where the item of a list is: by number, by name, or the last one.
func item(list []any, key string) int {
	if key == "-" {
		return len(list) - 1
	}
	if name, ok := strings.CutPrefix(key, "name="); ok {
		return slices.IndexFunc(list, func(x any) bool { m, _ := x.(map[string]any); return m["name"] == name })
	}
	i, err := strconv.Atoi(key)
	if err != nil {
		return -1
	}
	return i
}
