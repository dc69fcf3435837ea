package transform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/jsontype"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// checkMerge refuses what no object has: apiVersion, kind, name, labels and such that are not text.
func checkMerge(d *manifest.Document, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return d.Errorf("", "a patch is a mapping, or a list of JSON patch operations")
	}
	meta, isMapping := m["metadata"].(map[string]any)
	for _, c := range []struct {
		field string
		value any
	}{{"apiVersion", m["apiVersion"]}, {"kind", m["kind"]}, {"metadata.name", meta["name"]},
		{"metadata.namespace", meta["namespace"]}} {
		if _, text := c.value.(string); c.value != nil && !text {
			return d.Errorf(c.field, "must be text")
		}
	}
	if m["metadata"] != nil && !isMapping {
		return d.Errorf("metadata", "must be a mapping")
	}
	for _, field := range []string{"labels", "annotations"} {
		values, ok := meta[field].(map[string]any)
		if meta[field] != nil && !ok {
			return d.Errorf("metadata."+field, "must be a mapping")
		}
		for key, x := range values {
			if _, text := x.(string); x != nil && !text {
				return d.Errorf("metadata."+field, "%s must be text: quote it", key)
			}
		}
	}
	return nil
}

// mergePatch applies a strategic merge patch with kustomize's library. What the patch says of apiVersion, kind, name
// and namespace only selects the object, as in kustomize. It returns nil if the patch deletes the object.
func mergePatch(patch map[string]any, o generate.Object) (*manifest.Object, error) {
	before, err := o.Value()
	if err != nil {
		return nil, err
	}
	fields := withIdentity(patch, o)
	if mergesLists(o) {
		if err := replaceElements(before, fields, merging{typeOf(o)}, ""); err != nil {
			return nil, err
		}
	}
	change, err := kyaml.Parse(string(manifest.Encode(fields)))
	if err != nil {
		return nil, err
	}
	object, err := kyaml.Parse(string(manifest.Encode(before)))
	if err != nil {
		return nil, err
	}
	kept, err := patchstrategicmerge.Filter{Patch: change}.Filter([]*kyaml.RNode{object})
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n") // what follows is the node
		return nil, errors.New(strings.TrimSuffix(first, ": node contents:"))
	}
	if len(kept) == 0 {
		return nil, nil
	}
	var after map[string]any
	if err := kept[0].YNode().Decode(&after); err != nil {
		return nil, err
	}
	return checked(o, after)
}

// withIdentity returns a copy of a patch in which the identity, where it is given, is the object's.
func withIdentity(patch map[string]any, o generate.Object) map[string]any {
	fields := decoded.Copy(patch, nil).(map[string]any)
	set := func(m map[string]any, key, value string) {
		if s, ok := m[key].(string); ok && s != "" {
			m[key] = value
		}
	}
	set(fields, "apiVersion", o.APIVersion)
	set(fields, "kind", o.Kind)
	if meta, ok := fields["metadata"].(map[string]any); ok {
		set(meta, "name", o.Name)
		set(meta, "namespace", o.Namespace)
	}
	return fields
}

// replaceElements does what kustomize leaves undone: it empties the elements of lists that the patch replaces one by
// one, and refuses elements that several of the object's could be. It changes before and patch.
func replaceElements(before, patch map[string]any, schema merging, path string) error {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		field, merged, key := schema.field(name)
		at := strings.TrimPrefix(path+"."+name, ".")
		switch p := patch[name].(type) {
		case map[string]any:
			b, _ := before[name].(map[string]any)
			if err := replaceElements(b, p, field, at); err != nil {
				return err
			}
		case []any:
			list, _ := before[name].([]any)
			for _, x := range p {
				element, ok := x.(map[string]any)
				if !ok || !merged || element[key] == nil {
					continue
				}
				old, err := elementOf(list, key, element[key])
				if err != nil {
					return manifest.WithHint(fmt.Errorf("%s: %w", at, err),
						"replace the whole list with an element $patch: replace, or use a JSON patch")
				}
				if element[patchDirective] == directiveReplace {
					maps.DeleteFunc(old, func(k string, _ any) bool { return k != key })
					delete(element, patchDirective)
				}
				if err := replaceElements(old, element, field, at+"[]"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// elementOf returns the element of a list that has this value as its key, nil if there is none.
func elementOf(list []any, key string, value any) (found map[string]any, err error) {
	n := 0
	for _, x := range list {
		if m, ok := x.(map[string]any); ok && reflect.DeepEqual(m[key], value) {
			found, n = m, n+1
		}
	}
	if n > 1 {
		return nil, fmt.Errorf("the object has %d elements with %s %v", n, key, value)
	}
	return found, nil
}

const (
	patchDirective   = "$patch"
	directiveReplace = "replace"
)

// directives are those that kubectl knows. A patch may use $patch only, as in kustomize.
var directives = []string{patchDirective, "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"}

func isDirective(key string) bool {
	return slices.ContainsFunc(directives, func(d string) bool { return strings.HasPrefix(key, d) })
}

func directivesIn(v any) (found []string) {
	eachDirective(v, "", func(at, _ string, _ any) { found = append(found, at) })
	return found
}

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
			slices.Contains([]string{"delete", directiveReplace, "merge"}, text) {
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
		e := &manifest.Error{Field: at, Msg: "the patch leaves a directive in the object",
			Tip: "a strategic merge patch takes $patch: delete, replace or merge"}
		if strings.HasSuffix(at, "]."+patchDirective) {
			e.Tip = "nothing identifies the elements of this list, so a patch replaces the whole list and has no " +
				"directives"
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
		return &manifest.Error{Field: e.Field, Msg: e.Msg, Tip: e.Tip}
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

var index = lazy.Regexp(`\[\d+\]`)

// added returns the first path that was not there before. Indexes of lists do not count.
func added(now, before []string) string {
	plain := func(path string) string { return index().ReplaceAllString(path, "[]") }
	had := lists.Set(before, func(path string) string { return plain(path) })
	return lists.Find(now, func(path string) bool { return !had[plain(path)] })
}

// copied is how much the operations "copy" of one patch may add to an object, in bytes of JSON: each can double it.
const copied = 4 << 20

func init() { jsonpatch.AccumulatedCopySizeLimit = copied }

// newJSONPatch reads a list of operations. They are applied to JSON.
func newJSONPatch(d *manifest.Document, v any, matches func(generate.Object) (bool, error)) (change, error) {
	if matches == nil {
		return change{}, d.Errorf("", "a JSON patch needs a target")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return change{}, d.Errorf("", "%v", err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return change{}, d.Errorf("", "is not a JSON patch: %v", err)
	}
	for i, op := range patch {
		// The library panics without a value where the path is empty.
		if kind := op.Kind(); op["value"] == nil && (kind == "add" || kind == "replace" || kind == "test") {
			return change{}, d.Errorf(fmt.Sprintf("[%d]", i), "%s needs a value", kind)
		}
	}
	return change{matches, func(o generate.Object) (*manifest.Object, error) {
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		before, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		after, err := patch.Apply(before)
		if err != nil {
			return nil, err
		}
		numbers := json.NewDecoder(bytes.NewReader(after))
		numbers.UseNumber() // every number stays as it is written
		var m map[string]any
		if err := numbers.Decode(&m); err != nil || m == nil {
			return nil, errors.New("the patch leaves no object")
		}
		return checked(o, m)
	}}, nil
}

// kinds are the kinds whose Go types are known, beside those that OLM installs from a bundle.
var kinds = map[string]reflect.Type{
	"v1 Namespace":        reflect.TypeFor[corev1.Namespace](),
	"apps/v1 DaemonSet":   reflect.TypeFor[appsv1.DaemonSet](),
	"apps/v1 Deployment":  reflect.TypeFor[appsv1.Deployment](),
	"apps/v1 StatefulSet": reflect.TypeFor[appsv1.StatefulSet](),
	"admissionregistration.k8s.io/v1 " +
		"MutatingWebhookConfiguration": reflect.TypeFor[admissionv1.MutatingWebhookConfiguration](),
	"admissionregistration.k8s.io/v1 " +
		"ValidatingWebhookConfiguration": reflect.TypeFor[admissionv1.ValidatingWebhookConfiguration](),
	"operators.coreos.com/v1 OperatorGroup":               reflect.TypeFor[operatorsv1.OperatorGroup](),
	"operators.coreos.com/v1alpha1 CatalogSource":         reflect.TypeFor[v1alpha1.CatalogSource](),
	"operators.coreos.com/v1alpha1 ClusterServiceVersion": reflect.TypeFor[v1alpha1.ClusterServiceVersion](),
	"operators.coreos.com/v1alpha1 Subscription":          reflect.TypeFor[v1alpha1.Subscription](),
}

// typeOf returns the Go type of an object, which says what can be in it and how its lists are merged; nil if it is not
// known. A patch of a CRD may have what its type does not.
func typeOf(o generate.Object) reflect.Type {
	if olm.IsCRD(o.Group(), o.Kind) {
		return nil
	}
	return cmp.Or(olm.TypeOf(o.APIVersion, o.Kind), kinds[o.APIVersion+" "+o.Kind])
}

// mergesLists reports whether lists in an object are merged by element: only kinds of Kubernetes have merge keys.
func mergesLists(o generate.Object) bool { return o.Group() != olm.Group }

// merging is how the lists in a type are merged, by the tags of its fields (apimachinery:
// pkg/util/strategicpatch/meta.go). Patches replace lists whole in fields that a type does not have, and in a nil type.
type merging struct{ of reflect.Type }

// field returns the type of a field, or of the elements of a list; whether elements are merged; and by which key.
func (l merging) field(name string) (field merging, merged bool, mergeKey string) {
	if l.of == nil {
		return merging{}, false, ""
	}
	t := jsontype.Pointed(l.of)
	switch t.Kind() {
	case reflect.Map:
		return merging{t.Elem()}, false, ""
	case reflect.Struct:
		f, ok := jsontype.Fields(t)[name]
		if !ok {
			return merging{}, false, ""
		}
		field.of = jsontype.Pointed(f.Type)
		if field.of.Kind() == reflect.Slice {
			field.of = field.of.Elem()
			merged = slices.Contains(strings.Split(f.Tag.Get("patchStrategy"), ","), "merge")
		}
		return field, merged, f.Tag.Get("patchMergeKey")
	}
	return merging{}, false, ""
}
