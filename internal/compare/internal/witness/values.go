package witness

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// absent stands for a field that an object does not have.
type absent struct{}

// anyKey is the key of a map, and of a field that no schema names.
const anyKey = "some-key"

// The limits of what is generated.
const (
	mostDepth  = 24
	mostItems  = 130
	mostRandom = 60
	mostSingle = 12

	mostRandomDepth = 5 // of fields that an object need not have, and how many of them it has on average
	mostOptional    = 3
)

// generator makes values that fit a schema.
type generator struct {
	random   *rand.Rand          // nil for the least value
	branch   int                 // the alternative that is chosen
	literals []any               // of rules
	names    []string            // of fields that rules are about
	samples  map[string][]string // of patterns, for the whole search
}

// generator returns the generator of a variant. The first ones take the least values and each an alternative.
func (s *Search) generator(variant int, schemas ...*Props) *generator {
	g := &generator{branch: variant, samples: s.samples}
	if variant > mostVariants/2 {
		g.random = rand.New(rand.NewPCG(1, uint64(variant))) //nolint:gosec // the same values in each run
	}
	for _, p := range schemas {
		if p == nil {
			continue
		}
		for _, r := range p.XValidations {
			rule := s.rule(r.Rule)
			g.literals = append(g.literals, rule.Literals...)
			g.names = append(g.names, rule.Fields...)
		}
	}
	return g
}

// all returns a schema with those that it joins by allOf, anyOf, oneOf and not.
func all(s *Props) []*Props {
	if s == nil {
		return nil
	}
	out := []*Props{s}
	for _, list := range [][]Props{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			out = append(out, all(&list[i])...)
		}
	}
	return append(out, all(s.Not)...)
}

// needed returns a schema with those that a value fits as well: of alternatives one, which asks for the field on a way.
func (g *generator) needed(s *Props, way ...Step) []*Props {
	out := []*Props{s}
	for i := range s.AllOf {
		out = append(out, g.needed(&s.AllOf[i], way...)...)
	}
	for _, list := range [][]Props{s.AnyOf, s.OneOf} {
		if n := len(list); n > 0 {
			n = g.branch % n
			asks := func(s Props) bool { return len(way) > 0 && slices.Contains(s.Required, way[0].Name) }
			if i := slices.IndexFunc(list, asks); i >= 0 && !asks(list[n]) {
				n = i
			}
			out = append(out, g.needed(&list[n], way...)...)
		}
	}
	return out
}

// kindOf returns the type of the values of some schemas, and "" if they say nothing.
func kindOf(schemas []*Props) string {
	for _, s := range schemas {
		switch {
		case s.Type != "":
			return s.Type
		case s.XIntOrString:
			return "integer"
		}
	}
	for _, s := range schemas {
		if len(s.Properties) > 0 || len(s.Required) > 0 || s.XEmbeddedResource {
			return "object"
		}
	}
	return ""
}

// value returns a value that fits a schema, as far as that can be seen from it.
func (g *generator) value(s *Props, depth int) any {
	if s == nil || depth > mostDepth {
		return map[string]any{}
	}
	schemas := g.needed(s)
	switch kindOf(schemas) {
	case "object":
		return g.object(schemas, map[string]any{}, depth)
	case "array":
		n := int(min(valueOr(s.MinItems, 0), mostItems))
		if n == 0 && g.random != nil {
			n = g.random.IntN(2)
		}
		return g.list(s, n, depth)
	case "boolean":
		return g.random == nil || g.random.IntN(2) == 0
	}
	fitting := append(g.fitting(schemas, 1), "x")
	if g.random != nil && len(fitting) > 1 {
		return fitting[g.random.IntN(len(fitting)-1)]
	}
	return fitting[0]
}

// fitting returns texts and numbers that fit all of some schemas, at least as many as are wanted if they can be made.
func (g *generator) fitting(schemas []*Props, want int) []any {
	out := lists.Filter(g.scalars(schemas), func(v any) bool { return fits(schemas, v) })
	for i := 0; len(out) < want && i < 2*want; i++ {
		for _, v := range []any{"k" + strconv.Itoa(i), int64(i)} {
			if fits(schemas, v) && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// scalars returns texts, numbers and truth values that are of interest to some schemas.
func (g *generator) scalars(schemas []*Props) []any {
	kind := kindOf(schemas)
	var out []any
	add := func(list ...any) {
		for _, v := range list {
			out = lists.Add(out, v)
		}
	}
	if kind == "" || kind == "string" {
		add("x")
	}
	for _, s := range schemas {
		add(enumOf(s)...)
	}
	add(g.literals...)
	for _, s := range schemas {
		if s.XIntOrString {
			add(int64(1), "x", "10%")
		}
	}
	if kind == "" || kind == "string" || slices.ContainsFunc(schemas, func(s *Props) bool { return s.XIntOrString }) {
		for _, w := range g.words(schemas) {
			add(w)
		}
	}
	if kind == "" || kind == "integer" || kind == "number" {
		add(numbers(schemas, g.literals, kind != "integer")...)
	}
	if kind == "" || kind == "boolean" {
		add(true, false)
	}
	return out
}

// enumOf returns the texts, numbers and truth values of an enum.
func enumOf(s *Props) (out []any) {
	for _, e := range s.Enum {
		switch v, _ := decoded(e.Raw); v.(type) {
		case string, int64, float64, bool:
			out = append(out, v)
		}
	}
	return out
}

// decoded returns a value as the API server decodes it: whole numbers are int64.
func decoded(raw []byte) (any, bool) {
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err == nil
}

// object fills an object with what it must have. A random one gets some other fields, too.
func (g *generator) object(schemas []*Props, out map[string]any, depth int) map[string]any {
	children := map[string]*Props{}
	least := int64(0)
	for _, s := range schemas {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if children[name] == nil || children[name].Type == "" || len(s.Properties[name].Enum) > 0 {
				p := s.Properties[name]
				children[name] = &p
			}
		}
		least = max(least, min(valueOr(s.MinProperties, 0), mostItems))
	}
	for _, s := range schemas {
		for _, name := range s.Required {
			if p := children[name]; p == nil || p.Default == nil || g.random != nil {
				g.set(out, name, p, schemas, depth)
			}
		}
		if s.XEmbeddedResource {
			identity := map[string]any{"apiVersion": "v1", "kind": "X", "metadata": map[string]any{"name": "x"}}
			maps.Copy(identity, out)
			maps.Copy(out, identity)
		}
	}
	names := slices.Sorted(maps.Keys(children))
	if g.random != nil && depth < mostRandomDepth {
		for _, name := range names {
			n := max(2, len(names)/mostOptional)
			if g.random.IntN(n) == 0 || slices.Contains(g.names, name) && g.random.IntN(2) == 0 {
				g.set(out, name, children[name], schemas, depth)
			}
		}
	}
	for _, name := range names {
		if int64(len(out)) < least {
			g.set(out, name, children[name], schemas, depth)
		}
	}
	for i := 0; int64(len(out)) < least; i++ {
		g.set(out, anyKey+strconv.Itoa(i), nil, schemas, depth)
		if i > mostItems {
			break
		}
	}
	return out
}

// set sets a field of an object. Without a schema of its own it has that of all other fields.
func (g *generator) set(object map[string]any, name string, p *Props, schemas []*Props, depth int) {
	if _, ok := object[name]; ok {
		return
	}
	if p == nil {
		for _, s := range schemas {
			if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				p = s.AdditionalProperties.Schema
			}
		}
	}
	object[name] = "x"
	if p != nil {
		object[name] = g.value(p, depth+1)
	}
}

// list returns a list of n items. They differ where the list is a set or a map.
func (g *generator) list(s *Props, n, depth int) []any {
	out := make([]any, 0, n)
	if s.Items == nil || s.Items.Schema == nil {
		return slices.Repeat([]any{"x"}, n)
	}
	schemas := g.needed(s.Items.Schema)
	if kind := kindOf(schemas); kind != "object" && kind != "array" && kind != "boolean" {
		for i, fitting := 0, g.fitting(schemas, n); i < n && len(fitting) > 0; i++ {
			out = append(out, fitting[i%len(fitting)])
		}
		return out
	}
	for i := range n {
		item := g.value(s.Items.Schema, depth+1)
		if m, ok := item.(map[string]any); ok {
			for _, key := range s.XListMapKeys {
				p, ok := s.Items.Schema.Properties[key]
				if !ok {
					continue
				}
				if fitting := g.fitting(g.needed(&p), n); len(fitting) > 0 {
					m[key] = fitting[i%len(fitting)]
				}
			}
		}
		out = append(out, item)
	}
	return out
}

// along returns a value that fits a schema, and that has a value at the end of some steps.
func (g *generator) along(s *Props, steps []Step, value any) any {
	if len(steps) == 0 {
		return value
	}
	s = cmp.Or(s, &Props{})
	step := steps[0]
	inner := g.along(below(s, step), steps[1:], value)
	if step.Items {
		if inner == (absent{}) {
			return []any{}
		}
		list := g.list(s, int(max(1, min(valueOr(s.MinItems, 1), mostItems))), len(steps))
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = inner
		return list
	}
	name := step.Name
	if step.Values {
		name = anyKey
	}
	m := g.object(g.needed(s, steps...), map[string]any{name: inner}, len(steps))
	if inner == (absent{}) {
		delete(m, name)
	}
	return m
}
