// Package equal compares what olmgen renders with what a real OLM created.
package equal

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// Object is a Kubernetes object, its numbers float64.
type Object = normalize.Object

// Decode reads one object.
func Decode(data []byte) (o Object, err error) {
	err = yaml.Unmarshal(data, &o)
	return o, err
}

// Options say what is known about a case.
type Options struct {
	Optional   []string // keys of objects that may be there or not: with OLM it is chance
	Incomplete bool     // OLM stopped early: what it made until then must be equal
	Targets    []string // namespaces that the group names
}

// Sort orders objects by kind, namespace and name.
func Sort(objects []Object) {
	slices.SortFunc(objects, func(a, b Object) int { return cmp.Compare(a.Key(), b.Key()) })
}

// Difference is an object that is not the same on both sides.
type Difference struct{ Key, Text string }

// Differences compares normalized objects, what OLM made with what was rendered, in the order of their keys.
func Differences(want, got []Object, o Options) (out []Difference) {
	w, twice := byKey(want)
	g, alsoTwice := byKey(got)
	for _, key := range append(twice, alsoTwice...) {
		out = append(out, Difference{key, "twice: " + key + "\n"})
	}
	keys := maps.Clone(w)
	maps.Copy(keys, g)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, wanted := w[key]
		y, made := g[key]
		optional := slices.Contains(o.Optional, key)
		switch {
		case wanted && made:
			maskPair(x, y, o.Targets)
			if d := gocmp.Diff(x, y); d != "" {
				out = append(out, Difference{key, fmt.Sprintf("%s (- OLM, + olmgen):\n%s", key, d)})
			}
		case wanted && !optional:
			out = append(out, Difference{key, fmt.Sprintf("missing: %s\n", key)})
		case made && !optional && !o.Incomplete:
			out = append(out, Difference{key, fmt.Sprintf("OLM made no %s\n", key)})
		}
	}
	return out
}

// Diff is the text of all Differences; it is empty if there are none.
func Diff(want, got []Object, o Options) string {
	var out strings.Builder
	for _, d := range Differences(want, got, o) {
		out.WriteString(d.Text)
	}
	return out.String()
}

// byKey copies objects; twice are the keys of more than one.
func byKey(objects []Object) (m map[string]Object, twice []string) {
	m = map[string]Object{}
	for _, o := range objects {
		if m[o.Key()] != nil {
			twice = append(twice, o.Key())
		}
		m[o.Key()] = o.Copy()
	}
	return m, twice
}

// maskPair makes equal what means the same.
func maskPair(want, got Object, targets []string) {
	normalize.MaskHash(want, got)
	// OLM selects namespaces by a label with the group's UID, olmgen the same ones by name
	byUID := map[string]any{"matchLabels": map[string]any{"olm.operatorgroup.uid/" + normalize.Masked: ""}}
	names := []any{}
	for _, ns := range slices.Sorted(slices.Values(targets)) {
		names = append(names, ns)
	}
	byName := map[string]any{"matchExpressions": []any{map[string]any{"key": "kubernetes.io/metadata.name",
		"operator": "In", "values": names}}}
	wanted, made := normalize.List(want, "webhooks"), normalize.List(got, "webhooks")
	for i := range min(len(wanted), len(made)) {
		if reflect.DeepEqual(wanted[i]["namespaceSelector"], byUID) &&
			reflect.DeepEqual(made[i]["namespaceSelector"], byName) {
			made[i]["namespaceSelector"] = byUID
		}
	}
}
