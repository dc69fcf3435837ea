package equal

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
)

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
		m[o.Key()] = Object(plain(map[string]any(o)).(map[string]any))
	}
	return m, twice
}

// maskPair makes equal what means the same.
func maskPair(want, got Object, targets []string) {
	// the hash over a Deployment covers OLM's certificates, where it has some, and is masked
	if want.Kind() == "Deployment" && mapAt(want, "metadata", "labels")[specHash] == nil {
		delete(mapAt(got, "metadata", "labels"), specHash)
	}
	// OLM selects namespaces by a label with the group's UID, olmgen the same ones by name
	byUID := map[string]any{"matchLabels": map[string]any{groupUID + masked: ""}}
	names := []any{}
	for _, ns := range slices.Sorted(slices.Values(targets)) {
		names = append(names, ns)
	}
	byName := map[string]any{"matchExpressions": []any{map[string]any{"key": "kubernetes.io/metadata.name",
		"operator": "In", "values": names}}}
	wanted, made := mapsAt(want, "webhooks"), mapsAt(got, "webhooks")
	for i := range min(len(wanted), len(made)) {
		if reflect.DeepEqual(wanted[i]["namespaceSelector"], byUID) &&
			reflect.DeepEqual(made[i]["namespaceSelector"], byName) {
			made[i]["namespaceSelector"] = byUID
		}
	}
}

// Pair returns both sides of one object as Differences compares them. It reports false for an object that is not
// compared. Targets are not masked: another selector of namespaces is a difference.
func Pair(want, got Object) (Object, Object, bool) {
	w, ok := Normalize(want)
	g, alsoOK := Normalize(got)
	if !ok || !alsoOK {
		return nil, nil, false
	}
	maskPair(w, g, nil)
	return w, g, true
}
