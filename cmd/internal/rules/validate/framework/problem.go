package framework

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	verrors "github.com/operator-framework/api/pkg/validation/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
)

// maxMessage limits the length of a message, because some quote whole annotations.
const maxMessage = 600

// problem converts an error of the API to a Problem, with its place in the bundle as far as the error has one.
func (r *run) problem(validator string, object int, e verrors.Error) validate.Problem {
	p := validate.Problem{Validator: validator, Level: findings.Error, Object: object, Field: e.Field}
	if e.Level == verrors.LevelWarn {
		p.Level = findings.Warning
	}
	msg := strings.TrimPrefix(e.Detail, "("+r.bundle.Name+") ")
	switch v := e.BadValue.(type) {
	case schema.GroupVersionKind:
		if !strings.Contains(msg, v.String()) {
			msg += ": " + v.String()
		}
		if i := r.crdOf(v); i >= 0 && validator == "bundle" {
			p.Object = i
		}
	case error:
		msg += ": " + v.Error()
	case string:
		if strings.HasPrefix(v, "spec.") { // some errors have the field as the value
			p.Field = v
		}
		if i := r.accountOf(v); i >= 0 && validator == "bundle" {
			p.Object = i
		}
	}
	switch validator {
	case "csv":
		p.Field = csvField(p.Field)
		if p.Field == "" && strings.Contains(msg, "example") {
			p.Field = r.examples()
		}
	case "crd":
		msg = withoutValue(strings.TrimPrefix(msg, p.Field+": "), e)
	case deprecated:
		msg = inOrder(msg)
	}
	p.Message = oneLine(msg)
	return p
}

// withoutValue removes a value that is more than a word from a message about a CRD: it would hide the rest.
func withoutValue(msg string, e verrors.Error) string {
	switch reflect.Indirect(reflect.ValueOf(e.BadValue)).Kind() {
	case reflect.Struct, reflect.Slice, reflect.Map:
		kind := field.ErrorType(e.Type)
		body := (&field.Error{Type: kind, BadValue: e.BadValue}).ErrorBody()
		if rest, ok := strings.CutPrefix(msg, body); ok {
			return kind.String() + rest
		}
	}
	return msg
}

func (r *run) crdOf(gvk schema.GroupVersionKind) int {
	for i, u := range r.bundle.Objects {
		if r.crds[i] == nil {
			continue
		}
		spec, _ := u.Object["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		if spec["group"] == gvk.Group && names["kind"] == gvk.Kind {
			return i
		}
	}
	return -1
}

func (r *run) accountOf(name string) int {
	return slices.IndexFunc(r.bundle.Objects, func(u *unstructured.Unstructured) bool {
		return u.GetKind() == "ServiceAccount" && u.GetName() == name
	})
}

func (r *run) examples() string {
	for _, key := range []string{"alm-examples", "olm.examples"} {
		if _, ok := r.bundle.CSV.Annotations[key]; ok {
			return `metadata.annotations["` + key + `"]`
		}
	}
	return "metadata.annotations"
}

// csvField converts a path of Go names, such as Spec.InstallStrategy.StrategyName, to JSON names.
func csvField(path string) string {
	if path == "" {
		return ""
	}
	var fields []string
	t := reflect.TypeFor[v1alpha1.ClusterServiceVersion]()
	for name := range strings.SplitSeq(path, ".") {
		f, ok := reflect.StructField{}, false
		if t.Kind() == reflect.Struct {
			f, ok = t.FieldByName(name)
		}
		if !ok {
			return path
		}
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
			fields = append(fields, tag)
		}
		t = f.Type
	}
	return strings.Join(fields, ".")
}

// inOrder sorts the kinds in a message about removed APIs, which are in map order, each followed by a comma.
func inOrder(msg string) string {
	const before = "Migrate the API(s) for "
	head, list, ok := strings.Cut(msg, before)
	if !ok {
		return msg
	}
	kinds := strings.SplitAfter(strings.TrimSuffix(list, ","), "),")
	for i, k := range kinds {
		kinds[i] = strings.TrimSuffix(k, ",")
	}
	slices.Sort(kinds)
	return head + before + strings.Join(kinds, ", ")
}

func oneLine(s string) string {
	s = strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
	if len(s) > maxMessage {
		s = fmt.Sprintf("%s... (%d bytes more)", strings.ToValidUTF8(s[:maxMessage], ""), len(s)-maxMessage)
	}
	return s
}
