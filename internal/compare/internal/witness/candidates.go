package witness

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// candidates returns values of a field that the older schema may take, and the newer one may refuse: at the bounds of
// both. A schema is nil where a version has none for the field. open says that the older version keeps any field.
func (g *generator) candidates(old, now *Props, open bool) []any {
	schemas := append(all(old), all(now)...)
	kind := ""
	if old != nil {
		kind = kindOf(g.needed(old))
	}
	var out []any
	switch {
	case kind == "object" || kind == "array":
		out = append(out, g.value(old, 0))
	case old != nil && old.XIntOrString:
		kind = ""
	}
	if kind == "" || kind == "string" || kind == "integer" || kind == "number" || kind == "boolean" {
		out = append(out, g.likely(old, now, schemas)...)
	}
	if kind == "" || kind == "object" {
		out = append(out, g.objects(old, now, open)...)
	}
	if kind == "" || kind == "array" {
		out = append(out, g.lists(old, now)...)
	}
	if old != nil && old.Default != nil {
		if v, ok := decoded(old.Default.Raw); ok {
			out = append(out, v)
		}
	}
	out = append(out, nil, absent{})
	if old != nil && now != nil && len(now.XValidations) > 0 {
		random := *g
		random.random = rand.New(rand.NewPCG(2, uint64(g.branch))) //nolint:gosec // the same values in each run
		for range mostRandom {
			out = append(out, random.value(old, 0))
		}
	}
	return distinct(out)
}

// likely returns texts and numbers that fit the older schema, first those that do not fit the newer one.
func (g *generator) likely(old, now *Props, schemas []*Props) []any {
	list := g.scalars(schemas)
	if old == nil {
		return list
	}
	if old.Type != "" {
		// Values that are of interest to the newer schema only are of interest as well, in the type of the older one.
		list = append(list, g.scalars(append([]*Props{old}, schemas...))...)
	}
	fit := g.needed(old)
	list = slices.DeleteFunc(list, func(v any) bool { return !fits(fit, v) })
	if now != nil {
		newer := g.needed(now)
		refused := func(v any) bool { return !fits(newer, v) }
		list = append(lists.Filter(list, refused), slices.DeleteFunc(list, refused)...)
	}
	return list
}

// objects returns objects of the older schema: the least one, those with one more field, the full one, and those with
// as many fields as the bounds of both schemas say.
func (g *generator) objects(old, now *Props, open bool) []any {
	out := []any{map[string]any{}}
	if old == nil {
		return append(out, map[string]any{anyKey: "x"}, map[string]any{anyKey: map[string]any{anyKey: int64(1)}})
	}
	schemas := g.needed(old)
	with := func(name string, value any) {
		out = append(out, g.object(schemas, map[string]any{name: value}, 0))
	}
	keeps := open || keepsUnknown(old) || old.AdditionalProperties != nil
	switch a := old.AdditionalProperties; {
	case a != nil && a.Schema != nil:
		with(anyKey, g.value(a.Schema, 0))
	case keeps:
		with(anyKey, "x")
	}
	for i, name := range slices.Sorted(maps.Keys(old.Properties)) {
		if p := old.Properties[name]; i < mostSingle || slices.Contains(g.names, name) {
			with(name, g.value(&p, 1))
		}
	}
	full := g.object(schemas, map[string]any{}, 0)
	for name, p := range old.Properties {
		g.set(full, name, &p, schemas, 0)
	}
	out = append(out, full)
	for _, n := range bounds(old, now, func(s *Props) []*int64 { return []*int64{s.MinProperties, s.MaxProperties} }) {
		m := g.object(schemas, map[string]any{}, 0)
		for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
			if p := old.Properties[name]; int64(len(m)) < n {
				g.set(m, name, &p, schemas, 0)
			}
		}
		for i := 0; keeps && int64(len(m)) < n; i++ {
			g.set(m, anyKey+strconv.Itoa(i), nil, schemas, 0)
		}
		out = append(out, m)
	}
	return out
}

// bounds returns numbers at and beside the bounds of two schemas.
func bounds(old, now *Props, of func(*Props) []*int64) []int64 {
	var out []int64
	for _, s := range append(all(old), all(now)...) {
		for _, b := range of(s) {
			if b == nil {
				continue
			}
			for _, n := range []int64{*b - 1, *b, *b + 1} {
				if n >= 0 && n <= mostItems {
					out = lists.Add(out, n)
				}
			}
		}
	}
	return out
}

// lists returns lists of the older schema: at the bounds of both schemas, with equal items, and with items that have
// the same keys of the newer one.
func (g *generator) lists(old, now *Props) []any {
	out := []any{[]any{}}
	if old == nil {
		return append(out, []any{"x"}, []any{"x", "x"})
	}
	for _, n := range append([]int64{1, 2}, bounds(old, now, func(s *Props) []*int64 {
		return []*int64{s.MinItems, s.MaxItems}
	})...) {
		out = append(out, g.list(old, int(n), 0))
	}
	same := g.list(old, 1, 0)
	if len(same) == 0 {
		return out
	}
	out = append(out, []any{same[0], same[0]})
	if old.Items == nil || old.Items.Schema == nil || now == nil {
		return out
	}
	// Two items with the same keys of the newer schema.
	two := *old
	two.XListMapKeys = sets.List(sets.New(old.XListMapKeys...).SymmetricDifference(sets.New(now.XListMapKeys...)))
	list := g.list(&two, 2, 0)
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return out
		}
		for _, key := range now.XListMapKeys {
			if p, ok := old.Items.Schema.Properties[key]; ok {
				m[key] = g.value(&p, 1)
			}
		}
	}
	return append(out, list)
}

// distinct returns the values of a list, each once.
func distinct(list []any) []any {
	seen := sets.New[string]()
	return slices.DeleteFunc(list, func(v any) bool {
		data, err := json.Marshal(v)
		key := string(data)
		if v == (absent{}) {
			key = "absent"
		}
		known := seen.Has(key)
		seen.Insert(key)
		return err != nil || known
	})
}
