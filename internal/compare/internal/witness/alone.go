package witness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
)

// Change is a change of the schema of a field by itself.
type Change struct {
	Steps  []Step        // to the field whose values are tried
	In     []Step        // to what has another schema: the field, or the object or list that it is in
	Schema func() *Props // that schema: the older one with nothing but the change
	Closed bool          // unknown fields are no longer kept
}

// Alone looks for a witness of one change: an object that the older version takes, and that both the newer version and
// the older one with this change alone refuse or drop, for the same reason. It returns a sentence about the value of
// the field, or "".
func (s *Search) Alone(c Change) string {
	n := s.narrow(c.Steps)
	if n == nil {
		return s.alone(c)
	}
	said := n.alone(c)
	s.left = n.left
	return said
}

func (s *Search) alone(c Change) string {
	schema := c.Schema()
	now := at(schema, c.Steps[len(c.In):])
	key := ""
	if len(c.Steps) == len(c.In) {
		key = s.common(c.Steps, schema)
		schema = s.slim(at(s.schemas[0], c.In), schema)
	}
	said := s.said[key]
	if said == "" || key == "" || !s.aroundOf(c.Steps).shown {
		v := s.versions[0]
		v.PreserveUnknownFields = v.PreserveUnknownFields && !c.Closed
		said = s.judged(c.Steps, now, v, thread(s.schemas[0], c.In, schema))
		if said != "" {
			s.said[key] = said
		}
	}
	return said
}

// Drops is Alone for a field that is gone, which the newer version drops whatever the rules about others say.
func (s *Search) Drops(c Change) string {
	if s.ruled == nil {
		ruled := slices.ContainsFunc(s.schemas[:], hasRules)
		s.ruled = &ruled
	}
	if s.left <= 0 || !*s.ruled {
		return ""
	}
	versions, rules := s.versions, false
	var lenient func(p *Props) *Props
	lenient = func(p *Props) *Props {
		out := *p
		out.XValidations = lists.Filter(p.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return slices.Contains(s.rule(r.Rule).Fields, c.Steps[len(c.Steps)-1].Name)
		})
		rules = rules || len(out.XValidations) < len(p.XValidations)
		eachBelow(&out, lenient)
		return &out
	}
	for i, p := range s.schemas {
		versions[i].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: lenient(p)}
	}
	if !rules { // Alone has looked already
		return ""
	}
	search := New(versions[0], versions[1], "", "")
	search.identity = s.identity
	return strings.Replace(search.Alone(c), " was taken,", " is taken if the rules take the rest, and", 1)
}

// wide is how many fields an object has of which one is asked about without the others: the API server looks at each of
// them for each value.
const wide = 64

// narrow returns a search in schemas of nothing but a field, if nothing that is around it looks at its value and it is
// in a wide object; nil otherwise.
func (s *Search) narrow(steps []Step) *Search {
	many := false
	for n := range steps {
		p := at(s.schemas[0], steps[:n])
		many = many || p != nil && len(p.Properties) > wide
	}
	if !many || !s.plain(steps) {
		return nil
	}
	out := *s
	out.servers = [2]*apiserver.Server{}
	for i, p := range s.schemas {
		out.schemas[i] = along(p, steps)
		out.versions[i].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: out.schemas[i]}
	}
	return &out
}

// along returns a schema with nothing but a field at the end of some steps in each object.
func along(s *Props, steps []Step) *Props {
	if s == nil || len(steps) == 0 {
		return s
	}
	out := *s
	if s.Properties == nil {
		eachBelow(&out, func(p *Props) *Props { return along(p, steps[1:]) })
		return &out
	}
	name := steps[0].Name
	out.Properties, out.Required = map[string]Props{}, nil
	if slices.Contains(s.Required, name) {
		out.Required = []string{name}
	}
	if p, ok := s.Properties[name]; ok {
		out.Properties[name] = *along(&p, steps[1:])
	}
	return &out
}

// hasRules reports whether a schema has a rule anywhere.
func hasRules(p *Props) bool {
	found := len(p.XValidations) > 0
	copied := *p
	eachBelow(&copied, func(q *Props) *Props {
		found = found || hasRules(q)
		return q
	})
	return found
}

// Together is Alone for all changes of a field, or of what it is in if one of the versions lacks it.
func (s *Search) Together(steps []Step) string {
	in, now := steps, at(s.schemas[1], steps)
	if len(in) > 0 && (now == nil || at(s.schemas[0], in) == nil) {
		in = in[:len(in)-1]
	}
	schema := s.slim(at(s.schemas[0], in), cmp.Or(at(s.schemas[1], in), &Props{}))
	return s.judged(steps, now, s.versions[1], thread(s.schemas[1], in, schema))
}

// judged looks for a witness, with a version that has another schema.
func (s *Search) judged(steps []Step, now *Props, v crs.Version, schema *Props) string {
	if s.left <= 0 || !s.start() {
		return ""
	}
	v.Subresources = nil
	v.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}
	server, err := apiserver.New(v)
	if err != nil {
		return ""
	}
	return s.search(steps, now, server)
}

// common returns what has the same answer for two fields: their schemas, where nothing that is around them counts. It
// is empty for other fields.
func (s *Search) common(steps []Step, alone *Props) string {
	n := len(steps) - 1
	if n < 0 || steps[n].Name == "" || !s.plain(steps) {
		return ""
	}
	var key strings.Builder
	for i, p := range []*Props{at(s.schemas[0], steps), at(s.schemas[1], steps), alone} {
		if p == nil || p.Properties != nil || p.Items != nil || p.AdditionalProperties != nil || p.XEmbeddedResource {
			return ""
		}
		bare := *p
		bare.Description = ""
		key.WriteString(strings.Join(texts([]Props{bare}), ""))
		in := at(s.schemas[i%2], steps[:n])
		fmt.Fprintln(&key, slices.Contains(in.Required, steps[n].Name))
	}
	return key.String()
}

// plain reports whether nothing that is around a field looks at its value.
func (s *Search) plain(steps []Step) bool {
	around := s.aroundOf(steps)
	if around.plain == nil {
		plain := steps[0].Name != "metadata"
		for i := range s.versions {
			plain = plain && (s.versions[i].Subresources == nil || s.versions[i].Subresources.Scale == nil)
			for n := range steps {
				p := at(s.schemas[i], steps[:n])
				plain = plain && p != nil && len(p.XValidations)+len(all(p)) == 1 && !p.XEmbeddedResource &&
					(n < len(steps)-1 || p.MinProperties == nil && p.MaxProperties == nil) &&
					valueOr(p.XListType, "atomic") == "atomic"
			}
		}
		around.plain = &plain
	}
	return *around.plain
}

// slim returns a schema without the rules of the older one, which takes the object, and without what is said of the
// fields below it: what is new of that are changes of their own.
func (s *Search) slim(old, now *Props) *Props {
	out := *now
	rule := func(r apiextensionsv1.ValidationRule) string { return s.rule(r.Rule).Text }
	known := lists.Set(cmp.Or(old, &Props{}).XValidations, rule)
	out.XValidations = slices.DeleteFunc(slices.Clone(now.XValidations),
		func(r apiextensionsv1.ValidationRule) bool { return known[rule(r)] })
	below := shape
	if len(out.XValidations) == 0 {
		keep := true
		below = func(s *Props) *Props {
			return &Props{Nullable: s.Nullable, Default: s.Default, XPreserveUnknownFields: &keep}
		}
	}
	eachBelow(&out, below)
	return &out
}

// shape returns what a rule can tell of a schema.
func shape(s *Props) *Props {
	out := &Props{Type: s.Type, Format: s.Format, Nullable: s.Nullable, Default: s.Default, Properties: s.Properties,
		Items: s.Items, AdditionalProperties: s.AdditionalProperties, XIntOrString: s.XIntOrString,
		XEmbeddedResource: s.XEmbeddedResource, XPreserveUnknownFields: s.XPreserveUnknownFields,
		XListType: s.XListType, XListMapKeys: s.XListMapKeys, XMapType: s.XMapType}
	eachBelow(out, shape)
	return out
}

// eachBelow replaces the schemas of the fields, items and values of a schema.
func eachBelow(s *Props, f func(*Props) *Props) {
	if s.Properties != nil {
		properties := make(map[string]Props, len(s.Properties))
		for name, p := range s.Properties {
			properties[name] = *f(&p)
		}
		s.Properties = properties
	}
	if s.Items != nil && s.Items.Schema != nil {
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: f(s.Items.Schema)}
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: a.Allows, Schema: f(a.Schema)}
	}
}

// thread returns a schema of nothing but a field at the end of some steps. Another one says whether it is required.
func thread(all *Props, steps []Step, field *Props) *Props {
	if len(steps) == 0 {
		return field
	}
	step := steps[0]
	inner := thread(below(cmp.Or(all, &Props{}), step), steps[1:], field)
	switch {
	case step.Items:
		return &Props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: inner}}
	case step.Values:
		return &Props{Type: "object",
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: inner}}
	}
	s := &Props{Type: "object", Properties: map[string]Props{step.Name: *inner}}
	if len(steps) == 1 && all != nil && slices.Contains(all.Required, step.Name) {
		s.Required = []string{step.Name}
	}
	return s
}

// only returns an object of nothing but a value at the end of some steps.
func (s *Search) only(steps []Step, value any) map[string]any {
	object, ok := (&generator{}).along(nil, steps, value).(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	return s.identified(object, "x")
}

// same returns the first fault of a change alone that an object has with all changes as well.
func same(alone, all []crs.Fault) (crs.Fault, bool) {
	for _, r := range alone {
		if slices.ContainsFunc(all, func(other crs.Fault) bool {
			return r.Path == other.Path && (r.Message == "") == (other.Message == "") &&
				strings.Contains(other.Message, r.Message)
		}) {
			return r, true
		}
	}
	return crs.Fault{}, false
}
