package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// checkDeclared refuses values of shipped objects of built-in kinds that their Go types refuse, as OLM does before it
// creates an object (OLM: pkg/controller/operators/catalog/step.go, crdlib.UnmarshalV1), and drops the fields that the
// types do not declare.
func (r *reader) checkDeclared() error {
	for _, c := range r.bundle.CRDs {
		if err := r.dropUndeclared(&c.Object); err != nil {
			return err
		}
	}
	for i := range r.bundle.Others {
		if err := r.dropUndeclared(&r.bundle.Others[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropUndeclared replaces an object by one without the fields that its type does not declare, with a warning for each
// name of a field.
func (r *reader) dropUndeclared(o **manifest.Object) error {
	t := olm.TypeOf(APIVersionOf(*o), (*o).Kind)
	if foreign := (*o).APIVersion != "" && (*o).Group() != GroupOf(*o); t == nil || foreign {
		return nil
	}
	fields, err := (*o).Undeclared(t)
	if err != nil || len(fields) == 0 {
		return err
	}
	r.warnUndeclared(*o, t, fields)
	*o, err = (*o).Edit(manifest.Edit{Change: func(v map[string]any) { manifest.DropUndeclared(v, t) }})
	return err
}

// mostWarned is how many fields of an object are named.
const mostWarned = 100

// warnUndeclared warns of fields of an object, once for all of a name, at the first of them.
func (r *reader) warnUndeclared(o *manifest.Object, t reflect.Type, fields []string) {
	var order []string
	named := map[string][]string{}
	for _, f := range fields {
		segments := manifest.Segments(f)
		name := segments[len(segments)-1]
		if named[name] == nil {
			order = append(order, name)
		}
		named[name] = append(named[name], f)
	}
	for i, name := range order {
		if i == mostWarned {
			r.warn(WarnUnknownField, o.Errorf("", "%d other fields that a %s does not have: left out, as OLM does",
				len(order)-i, o.Kind))
			break
		}
		first, count := named[name][0], ""
		if n := len(named[name]); n > 1 {
			count = fmt.Sprintf(", %d times", n)
		}
		what := "not a field of a " + o.Kind + meant(t, first)
		if o.Kind == "CustomResourceDefinition" && slices.Contains(v1beta1Fields, strings.TrimPrefix(first, "spec.")) {
			what = "a field of v1beta1, which a v1 CRD does not have"
		}
		r.warn(WarnUnknownField, o.Errorf(first, "%s%s: left out, as OLM does", what, count))
	}
}

// meant returns the question for the field that was probably meant, to stand behind a text.
func meant(t reflect.Type, field string) string {
	if q := manifest.Meant(t, field); q != "" {
		return " (" + q + ")"
	}
	return ""
}
