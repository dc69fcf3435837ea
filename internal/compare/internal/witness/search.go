// Package witness finds what a change of the schema of a CRD does to its users. [Search.Alone] looks for an object that
// the older version takes, and that the newer one refuses or drops a field of because of that change. [Widens] and
// [WidensAll] prove that there is none. The objects are made of the two schemas alone, and the code of the API server
// judges them.
package witness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
)

// Props is a schema.
type Props = apiextensionsv1.JSONSchemaProps

// Step leads from a schema to that of a property, of the items of a list, or of the values of a map.
type Step struct {
	Name   string // of a property
	Items  bool
	Values bool
}

// The limits of a search, which do not depend on the machine: in values for one change, and in objects for a version.
const (
	mostOfChange  = 160
	mostOfVersion = 4000
	mostVariants  = 6 // of the fields around the one in question
)

// Search looks for witnesses in one version of a CRD.
type Search struct {
	schemas  [2]*Props // of the older version and of the newer one
	versions [2]crs.Version
	servers  [2]*apiserver.Server
	unusable bool // the API server cannot use one of the schemas
	identity map[string]any
	left     int
	around   map[string]*around // of fields, by its path
	samples  map[string][]string
	rules    map[string]apiserver.Rule
	said     map[string]string // of changes, by what they have in common with others
	ruled    *bool             // the schemas have rules; nil: not asked for yet
}

// New returns a Search in the version of the older and the newer CRD. The apiVersion and kind are those of its objects.
func New(old, now crs.Version, apiVersion, kind string) *Search {
	s := &Search{versions: [2]crs.Version{old, now}, left: mostOfVersion, around: map[string]*around{},
		samples: map[string][]string{}, rules: map[string]apiserver.Rule{}, said: map[string]string{},
		identity: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	for i, v := range s.versions {
		s.schemas[i] = SchemaOf(&v.CustomResourceDefinitionVersion)
	}
	return s
}

// SchemaOf returns the schema of a version. A version without one has an empty one.
func SchemaOf(v *apiextensionsv1.CustomResourceDefinitionVersion) *Props {
	if v.Schema == nil {
		return &Props{}
	}
	return cmp.Or(v.Schema.OpenAPIV3Schema, &Props{})
}

// rule reads a rule once.
func (s *Search) rule(text string) apiserver.Rule {
	rule, ok := s.rules[text]
	if !ok {
		rule = apiserver.ReadRule(text)
		s.rules[text] = rule
	}
	return rule
}

// start makes the servers when they are needed first: most changes need none.
func (s *Search) start() bool {
	for i := range s.servers {
		if s.servers[i] == nil && !s.unusable {
			var err error
			s.servers[i], err = apiserver.New(s.versions[i])
			s.unusable = err != nil
		}
	}
	return !s.unusable
}

// search looks for a value of a field that the server of a change refuses. now is the schema of the field there.
func (s *Search) search(steps []Step, now *Props, alone *apiserver.Server) string {
	f := &field{Search: s, steps: steps, path: pathOf(steps), old: at(s.schemas[0], steps), now: now, alone: alone,
		around: s.aroundOf(steps), left: mostOfChange}
	first := f.around.taken
	for i := range mostVariants {
		variant := (first + i) % mostVariants
		said, taken := f.try(s.generator(variant, f.old, f.now))
		if taken {
			f.around.taken = variant
		}
		if f.around.shown = f.around.shown || said != ""; said != "" || taken && variant > 0 || f.left <= 0 {
			return said
		}
	}
	return ""
}

// aroundOf returns what is around a field.
func (s *Search) aroundOf(steps []Step) *around {
	path := pathOf(steps[:max(0, len(steps)-1)])
	s.around[path] = cmp.Or(s.around[path], &around{})
	return s.around[path]
}

// at returns the schema that some steps lead to, and nil if there is none.
func at(s *Props, steps []Step) *Props {
	for _, step := range steps {
		if s == nil {
			return nil
		}
		s = below(s, step)
	}
	return s
}

func below(s *Props, step Step) *Props {
	p, named := s.Properties[step.Name]
	switch {
	case step.Items && s.Items != nil:
		return s.Items.Schema
	case step.Items:
		return nil
	case named && !step.Values:
		return &p
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema
	}
	return nil
}

// pathOf returns the path of the field in the objects of a search.
func pathOf(steps []Step) string {
	var b strings.Builder
	for _, step := range steps {
		switch {
		case step.Items:
			b.WriteString("[0]")
		case step.Values:
			b.WriteString("." + anyKey)
		default:
			b.WriteString("." + step.Name)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

type field struct {
	*Search
	steps    []Step
	path     string
	old, now *Props // nil where a version has no schema for the field
	alone    *apiserver.Server
	around   *around
	left     int
}

// around is the object in which a field is.
type around struct {
	taken int  // the variant that the older version took
	shown bool // a value of a field in it is a witness
	plain *bool
	usual [mostVariants]*judged
}

// judged is an object with what the two versions say to it.
type judged struct {
	object map[string]any
	around map[string]any         // in the object, around the field
	taken  bool                   // by the older version
	faults map[string][]crs.Fault // of the newer one, by each field that they are in. Without a message it is dropped
}

// judge judges an object with a value of the field, once for all fields with the value that the object has anyhow.
func (f *field) judge(g *generator, value any) *judged {
	n := len(f.steps) - 1
	if n < 0 || f.steps[n].Name == "" || g.random != nil || len(g.literals) > 0 {
		return f.ask(f.object(g, f.steps, value))
	}
	usual := &f.around.usual[g.branch]
	if *usual == nil {
		s := cmp.Or(at(f.schemas[0], f.steps[:n]), &Props{})
		inner := g.object(g.needed(s), map[string]any{}, 1)
		*usual = f.ask(f.object(g, f.steps[:n], inner))
		(*usual).around = inner
	}
	if has, ok := (*usual).around[f.steps[n].Name]; ok && reflect.DeepEqual(has, value) {
		return *usual
	}
	return f.ask(f.object(g, f.steps, value))
}

func (s *Search) ask(object map[string]any) *judged {
	s.left--
	j := &judged{object: object, faults: map[string][]crs.Fault{}}
	if j.taken = len(s.servers[0].Creates(object)) == 0; !j.taken {
		return j
	}
	for _, r := range s.servers[1].Creates(object) {
		path := dotted(pathIn(r))
		j.faults[path] = append(j.faults[path], r)
		for i := len(path) - 1; i >= 0; i-- {
			if path[i] == '.' || path[i] == '[' || i == 0 {
				j.faults[path[:i]] = append(j.faults[path[:i]], r)
			}
		}
	}
	return j
}

// try tries the values of a field in one variant of the fields around it. taken: the older version took a value.
func (f *field) try(g *generator) (said string, taken bool) {
	open := len(f.steps) == 0 && f.versions[0].PreserveUnknownFields
	var some []sample
	updates := f.ofUpdates()
	asked := false
	for _, value := range g.candidates(f.old, f.now, open) {
		if f.left--; f.left < 0 || f.Search.left <= 0 {
			break
		}
		refused := f.alone.Creates(f.only(f.steps, value))
		if len(refused) == 0 && !updates {
			continue
		}
		asked = true
		j := f.judge(g, value)
		if !j.taken {
			continue
		}
		some = append(some, sample{value, j.object})
		if r, ok := same(refused, j.faults[dotted(f.path)]); ok {
			return shown(value) + " was taken, is " + f.reason(r), true
		}
	}
	if updates {
		return f.update(some), len(some) > 0
	}
	return "", len(some) > 0 || !asked
}

// ofUpdates reports whether a rule of the newer schema is about changes of the field.
func (f *field) ofUpdates() bool {
	return f.now != nil && slices.ContainsFunc(f.now.XValidations,
		func(r apiextensionsv1.ValidationRule) bool { return f.rule(r.Rule).Old })
}

type sample struct {
	value  any
	object map[string]any
}

// update looks for a change of the field that the newer version refuses, where a rule of it is about changes.
func (f *field) update(some []sample) string {
	if len(some) < 2 {
		return ""
	}
	a := some[0]
	for _, b := range some[1:] {
		for _, pair := range [][2]sample{{a, b}, {b, a}} {
			if f.left--; f.left < 0 || f.Search.left <= 0 {
				return ""
			}
			f.Search.left--
			if len(f.servers[0].Updates(pair[0].object, pair[1].object)) > 0 {
				continue
			}
			refused := f.alone.Updates(f.only(f.steps, pair[0].value), f.only(f.steps, pair[1].value))
			if r, ok := same(refused, f.servers[1].Updates(pair[0].object, pair[1].object)); ok {
				return "a change of " + shown(pair[0].value) + " to " + shown(pair[1].value) +
					" was taken, is " + f.reason(r)
			}
		}
	}
	return ""
}

func (f *field) object(g *generator, steps []Step, value any) map[string]any {
	object, ok := g.along(f.schemas[0], steps, value).(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	var name any = "x"
	if p := at(f.schemas[0], []Step{{Name: "metadata"}, {Name: "name"}}); p != nil {
		name = g.value(p, 0)
	}
	for _, r := range f.schemas[0].XValidations { // a rule can ask for one name
		if rule := f.rule(r.Rule); g.branch > 0 && len(rule.Literals) > 0 && slices.Contains(rule.Fields, "metadata") {
			name = rule.Literals[0]
		}
	}
	return f.identified(object, name)
}

// identified sets what each object has.
func (s *Search) identified(object map[string]any, name any) map[string]any {
	maps.Copy(object, s.identity)
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	if _, named := metadata["name"]; !named {
		metadata["name"] = name
	}
	object["metadata"] = metadata
	return object
}

// keyed is how the API server writes the value of a map in some of its paths.
var keyed = lazy.Regexp(`\[([^\]0-9][^\]]*)\]`)

// unplaced are the faults that have their path in the text only (kube-openapi: pkg/validation/validate).
var unplaced = lazy.Regexp(`^"([^"]*)" must |^Checked value must be .* in (\S+)$`)

func pathIn(r crs.Fault) string {
	if m := unplaced().FindStringSubmatch(r.Detail); m != nil && r.Path == "" {
		return m[1] + m[2]
	}
	return r.Path
}

func dotted(path string) string { return keyed().ReplaceAllString(path, ".$1") }

// reason is what the API server says of a fault, with the field of the value in which it is.
func (f *field) reason(r crs.Fault) string {
	inner := strings.Trim(strings.TrimPrefix(dotted(pathIn(r)), dotted(f.path)), ".")
	switch reason := cmp.Or(r.Detail, r.Message); {
	case reason == "" && inner == "":
		return "dropped"
	case reason == "":
		return "dropped in " + inner
	case inner == "":
		return "refused: " + reason
	default:
		return "refused: " + inner + ": " + reason
	}
}

// most is how much of a value is shown, in bytes.
const most = 60

func shown(value any) string {
	if value == (absent{}) {
		return "an object without it"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return text.Shorten(fmt.Sprint(value), most)
	}
	return text.Shorten(text.OneLine(string(data)), most)
}
