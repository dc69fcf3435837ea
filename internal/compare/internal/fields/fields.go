// Package fields lists the fields of objects in which two releases can differ.
package fields

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// Value is a field as text. An item of a list is a field without a text, besides those below it.
type Value struct {
	Text   string
	Number bool   // or true or false: no text in the YAML
	At     string // its path with the indexes of items, by which manifest.Object finds its line
	// Default says that the value means the same as a missing field. It is shown where the other side has another one.
	Default bool
}

func (v Value) equal(o Value) bool { return v.Text == o.Text && v.Number == o.Number }

// Values are the fields of an object by their path, without noise. An item of a list is called by its name where it
// has one, so that a list that is only reordered has the same fields.
type Values map[string]Value

// OrderOf ends the path of a field that is the order of a list, where that has a meaning.
const OrderOf = " order"

// WithoutNoise returns the fields of a decoded object that are neither its identity nor noise.
func WithoutNoise(o *manifest.Object, value map[string]any) Values {
	w := walker{out: Values{}, noise: noiseOf(o), ordered: !builtin(o.Group())}
	if !w.ordered {
		w.filled, w.given = normalize.Filled(value)
		for _, at := range ofOLM(o, value) {
			w.filled[at] = true
		}
	}
	for key, item := range value {
		if key != "kind" && (key != "stringData" || o.Kind != "Secret") {
			w.field(spot{}.key(key), item)
		}
	}
	if o.Kind == "Secret" {
		w.texts(value["stringData"])
	}
	delete(w.out, "metadata.name")
	delete(w.out, "metadata.namespace")
	return w.out
}

// texts adds stringData of a Secret as the API server does: it goes over data (Kubernetes:
// pkg/apis/core/v1/conversion.go).
func (w *walker) texts(stringData any) {
	m, _ := stringData.(map[string]any)
	for key, text := range m {
		s := spot{path: "data", at: "stringData"}.key(key)
		w.leaf(s, Value{Text: base64.StdEncoding.EncodeToString([]byte(Text(text)))})
	}
}

// builtin reports whether Kubernetes itself has the kinds of a group: the types say what an empty list means.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || group == olm.Group
}

// walker lists the fields of one object.
type walker struct {
	out     Values
	noise   map[string][]Noise // by generic path: list items are all []
	ordered bool               // every list has an order
	filled  map[string]bool    // with values that the API server fills in, by path with indexes
	given   map[string]any     // the object without these
}

// noiseOf returns the noise of the kind of an object by path.
func noiseOf(o *manifest.Object) map[string][]Noise {
	podPath, hasPods := PodPath(o.Group(), o.Kind)
	out := map[string][]Noise{}
	for _, n := range Ignored {
		if n.Owned || len(n.Kinds) > 0 && !slices.Contains(n.Kinds, o.Kind) {
			continue
		}
		for _, path := range n.expand(podPath, hasPods) {
			out[path] = append(out[path], n)
		}
	}
	return out
}

// ofOLM returns the paths of what OLM writes to the pods of an object that it owns.
func ofOLM(o *manifest.Object, value map[string]any) (out []string) {
	podPath, hasPods := PodPath(o.Group(), o.Kind)
	if hasPods && olm.Mapping(olm.Mapping(value["metadata"])["labels"])[olm.LabelOwner] != nil {
		for _, n := range lists.Filter(Ignored, func(n Noise) bool { return n.Owned }) {
			for _, path := range n.expand(podPath, true) {
				out = append(out, lists.Map(n.Keys, func(key string) string { return join(path, key) })...)
			}
		}
	}
	return out
}

// PodPath returns what stands before the fields of the pods of a workload: "spec.template." for a Deployment.
func PodPath(group, kind string) (string, bool) {
	return strings.CutSuffix(images.PodPath(group, kind), "spec")
}

// spot is where the walker is: the path for people, the generic one with [] for items, and the one with indexes.
type spot struct{ path, generic, at, parent, name string }

func (s spot) key(name string) spot {
	return spot{join(s.path, name), join(s.generic, name), join(s.at, name), s.generic, name}
}

func (s spot) item(name string, i int) spot {
	return spot{path: s.path + "[" + name + "]", generic: s.generic + "[]", at: s.at + "[" + strconv.Itoa(i) + "]"}
}

// dropped reports whether a field is noise. The text is empty for what has fields below it.
func (w *walker) dropped(s spot, text string) bool {
	of := func(n Noise) bool { return n.Value == "" || n.Value == text }
	named := func(key string) bool {
		prefix, wild := strings.CutSuffix(key, "*")
		return key == s.name || wild && strings.HasPrefix(s.name, prefix)
	}
	return slices.ContainsFunc(w.noise[s.generic], func(n Noise) bool { return len(n.Keys) == 0 && of(n) }) ||
		s.name != "" && slices.ContainsFunc(w.noise[s.parent], func(n Noise) bool {
			return of(n) && slices.ContainsFunc(n.Keys, named)
		})
}

// field adds a field and those below it. It reports whether it added any.
func (w *walker) field(s spot, value any) bool {
	if value == nil || w.dropped(s, "") {
		return false
	}
	switch x := value.(type) {
	case map[string]any:
		return w.mapping(s, x) || w.leaf(s, Value{Text: "{}", Number: true})
	case []any:
		switch {
		case len(x) > 0:
			w.list(s, x)
			return true
		case !w.ordered:
			return false // the types leave out empty lists (Kubernetes: staging/src/k8s.io/api, omitempty)
		}
		return w.leaf(s, Value{Text: "[]", Number: true})
	}
	return w.leaf(s, scalar(s.path, value))
}

func (w *walker) leaf(s spot, v Value) bool {
	text := cmp.Or(v.Text, `""`)
	v.At = s.at
	if w.filled[s.at] || w.dropped(s, text) {
		if v.Default = v.Text != "" && text != "{}"; v.Default {
			w.out[s.path] = v
		}
		return false
	}
	w.out[s.path] = v
	return true
}

func (w *walker) mapping(s spot, m map[string]any) bool {
	some := false
	for key, item := range m {
		some = w.field(s.key(key), item) || some
	}
	return some
}

// join adds a key to a path. A key that could be taken for several is quoted.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]\" ") || key == "":
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// Last returns the last key of a path; of ["a.b"] that is a.b.
func Last(path string) string {
	if path, quoted := strings.CutSuffix(path, `"]`); quoted {
		return path[strings.LastIndex(path, `["`)+2:]
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}

// scalar returns a value as text. Equal quantities have the same text.
func scalar(path string, value any) Value {
	_, isText := value.(string)
	within := func(field string) bool { return strings.Contains(path, field) }
	if slices.ContainsFunc([]string{"resources.requests", "resources.limits", "spec.overhead", "spec.hard"}, within) ||
		slices.Contains([]string{"sizeLimit", "divisor"}, Last(path)) {
		if q, err := resource.ParseQuantity(Text(value)); err == nil {
			return Value{Text: q.String()}
		}
		isText = true
	}
	return Value{Text: Text(value), Number: !isText}
}

// Text returns a value as text: JSON with sorted keys of what is no scalar.
func Text(value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		return x
	case bool, int, int32, int64, json.Number:
		return fmt.Sprint(x)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Difference is a field that two objects have with different values, or that only one of them has.
type Difference struct {
	Path     string
	Old, New Value
	Had, Has bool
}

// At returns the path of the field with indexes in the newer object, or of the parent of one that is gone.
func (d Difference) At() string {
	if d.Has {
		return d.New.At
	}
	return Parent(d.Old.At)
}

// Parent returns the path of what a field is in.
func Parent(path string) string {
	if strings.HasSuffix(path, `"]`) {
		return path[:max(0, strings.LastIndex(path, `["`))]
	}
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// hasList reports whether the list of an item has items here: then the API server does not fill it in.
func (v Values) hasList(item string) bool {
	at := strings.LastIndexByte(item, '[')
	if at < 0 || !strings.HasSuffix(item, "]") || strings.HasSuffix(item, `"]`) { // a quoted key
		return false
	}
	return lists.Any(maps.Keys(v), func(k string) bool { return strings.HasPrefix(k, item[:at+1]) })
}

// Differences returns the fields that differ, in the order of their paths. An order is no difference of its own where
// the items differ, and neither is a field that is empty on one side and has fields below it on the other.
func Differences(old, now Values) []Difference {
	var out []Difference
	for _, k := range lists.Keys(old, now) {
		d := Difference{Path: k}
		d.Old, d.Had = old[k]
		d.New, d.Has = now[k]
		silent := (!d.Had || d.Old.Default && !now.hasList(k)) && (!d.Has || d.New.Default && !old.hasList(k))
		if d.Had && d.Has && d.Old.equal(d.New) || silent {
			continue
		}
		out = append(out, d)
	}
	return slices.DeleteFunc(out, func(d Difference) bool {
		if list, ok := strings.CutSuffix(d.Path, OrderOf); ok {
			return slices.ContainsFunc(out, func(o Difference) bool { return strings.HasPrefix(o.Path, list+"[") })
		}
		empty := d.Had != d.Has && (d.Old.Text+d.New.Text == "{}" || d.Old.Text+d.New.Text == "[]")
		return empty && slices.ContainsFunc(out, func(o Difference) bool {
			return o.Path != d.Path && Within(o.Path, d.Path)
		})
	})
}

// Within reports whether a path is at or below another one.
func Within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+".") || strings.HasPrefix(path, parent+"[")
}

// Without removes what is at or below some paths.
func (v Values) Without(paths ...string) {
	for key := range v {
		if slices.ContainsFunc(paths, func(p string) bool { return Within(key, p) }) {
			delete(v, key)
		}
	}
}
