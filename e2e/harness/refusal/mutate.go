package refusal

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Mutant is an object with one or two wrong fields, or with fields that only look wrong.
type Mutant struct {
	Name   string
	Object map[string]any
}

// server are the fields of metadata that the API server sets, and those that say where the object is.
var server = []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
	"generation", "managedFields", "namespace"}

// Mutants breaks each field of an object, and then as many pairs of fields as pairs says. Two errors of one object are
// not always both said. Fields of skip are left alone.
func Mutants(o map[string]any, pairs int, skip ...string) (all []Mutant) {
	edits := editsOf(o, skip)
	for _, e := range edits {
		c := runtime.DeepCopyJSON(o)
		e.apply(c)
		all = append(all, Mutant{e.String(), c})
	}
	random := rand.New(rand.NewPCG(63, uint64(len(edits))))
	for range pairs {
		c := runtime.DeepCopyJSON(o)
		one, two := edits[random.IntN(len(edits))], edits[random.IntN(len(edits))]
		// The first may take away where the second is.
		one.apply(c)
		two.apply(c)
		all = append(all, Mutant{one.String() + ", " + two.String(), c})
	}
	return all
}

// edit gives a field a value, or takes it away.
type edit struct {
	path  []any // keys and indices
	to    any
	gone  bool
	named string // what it is, where its value says too much
}

func (e edit) String() string {
	var b strings.Builder
	for _, p := range e.path {
		if i, ok := p.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprintf(&b, ".%s", p)
		}
	}
	switch path := strings.TrimPrefix(b.String(), "."); {
	case e.gone:
		return "no " + path
	case e.named != "":
		return path + " " + e.named
	default:
		return fmt.Sprintf("%s=%#v", path, e.to)
	}
}

// apply changes an object, if it has the place.
func (e edit) apply(o map[string]any) {
	var at any = o
	var put func(any) // puts a value in the place of at
	for _, p := range e.path[:len(e.path)-1] {
		switch key := p.(type) {
		case string:
			m, ok := at.(map[string]any)
			if !ok {
				return
			}
			at, put = m[key], func(v any) { m[key] = v }
		case int:
			l, ok := at.([]any)
			if !ok || key >= len(l) {
				return
			}
			at, put = l[key], func(v any) { l[key] = v }
		}
	}
	switch key := e.path[len(e.path)-1].(type) {
	case string:
		if m, ok := at.(map[string]any); ok {
			m[key] = runtime.DeepCopyJSONValue(e.to)
			if e.gone {
				delete(m, key)
			}
		}
	case int:
		if l, ok := at.([]any); ok && key < len(l) {
			l[key] = runtime.DeepCopyJSONValue(e.to)
			if e.gone {
				put(slices.Delete(slices.Clone(l), key, key+1))
			}
		}
	}
}

func editsOf(o map[string]any, skip []string) (edits []edit) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if key == "apiVersion" || key == "kind" || key == "status" {
			continue
		}
		if m, ok := o[key].(map[string]any); ok && key == "metadata" {
			for _, key := range slices.Sorted(maps.Keys(m)) {
				if !slices.Contains(server, key) && !slices.Contains(skip, key) {
					edits = append(edits, edited([]any{"metadata", key}, m[key])...)
				}
			}
			continue
		}
		edits = append(edits, edited([]any{key}, o[key])...)
	}
	return edits
}

// edited are the edits of a field and of what is in it.
func edited(path []any, value any) []edit {
	edits := []edit{{path: path, gone: true}}
	set := func(values ...any) {
		for _, v := range values {
			edits = append(edits, edit{path: path, to: v})
		}
	}
	switch v := value.(type) {
	case string:
		set("", "Bad_Name/", int64(7))
		edits = append(edits, edit{path, strings.Repeat("a", 64), false, "of 64 letters"},
			edit{path, strings.Repeat("a", 254), false, "of 254 letters"})
	case int64, float64:
		set(int64(-1), int64(0), int64(70000), int64(1)<<40, "seven", 1.5)
	case bool:
		set(!v, "yes")
	case []any:
		set([]any{}, map[string]any{})
		if len(v) > 0 {
			edits = append(edits, edit{path, append(slices.Clone(v), v[0]), false, "with its first element twice"})
		}
		for i := range v {
			edits = append(edits, edited(slices.Concat(path, []any{i}), v[i])...)
		}
	case map[string]any:
		set(map[string]any{}, []any{})
		for _, key := range slices.Sorted(maps.Keys(v)) {
			edits = append(edits, edited(slices.Concat(path, []any{key}), v[key])...)
		}
		edits = append(edits, renamed(path, v)...)
	}
	return edits
}

// renamed writes the first key of a map otherwise: types are case-sensitive, and keys of free maps have rules.
func renamed(path []any, m map[string]any) (edits []edit) {
	if len(m) == 0 {
		return nil
	}
	first := slices.Sorted(maps.Keys(m))[0]
	for _, name := range []string{strings.ToUpper(first), "a b", "unknownField"} {
		c := maps.Clone(m)
		delete(c, first)
		c[name] = m[first]
		edits = append(edits, edit{path, c, false, fmt.Sprintf("with %q in place of %q", name, first)})
	}
	return edits
}
