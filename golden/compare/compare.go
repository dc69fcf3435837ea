package compare

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

// Diff compares normalized objects, what OLM made with what was rendered; it is empty if they are equal.
func Diff(want, got []Object, o Options) string {
	var out strings.Builder
	w, g := byKey(&out, want), byKey(&out, got)
	for _, key := range slices.Sorted(maps.Keys(w)) {
		if _, ok := g[key]; !ok && !slices.Contains(o.Optional, key) {
			fmt.Fprintf(&out, "missing: %s\n", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g)) {
		x, ok := w[key]
		switch {
		case !ok && !o.Incomplete && !slices.Contains(o.Optional, key):
			fmt.Fprintf(&out, "OLM made no %s\n", key)
		case ok:
			maskPair(x, g[key], o.Targets)
			if d := gocmp.Diff(x, g[key]); d != "" {
				fmt.Fprintf(&out, "%s (- OLM, + olmgen):\n%s", key, d)
			}
		}
	}
	return out.String()
}

func byKey(out *strings.Builder, objects []Object) map[string]Object {
	m := map[string]Object{}
	for _, o := range objects {
		if _, twice := m[o.Key()]; twice {
			fmt.Fprintf(out, "twice: %s\n", o.Key())
		}
		m[o.Key()] = Object(plain(map[string]any(o)).(map[string]any))
	}
	return m
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
	byName := map[string]any{"matchExpressions": []any{map[string]any{"key": "kubernetes.io/metadata.name", "operator": "In", "values": names}}}
	wanted, made := mapsAt(want, "webhooks"), mapsAt(got, "webhooks")
	for i := range min(len(wanted), len(made)) {
		if reflect.DeepEqual(wanted[i]["namespaceSelector"], byUID) && reflect.DeepEqual(made[i]["namespaceSelector"], byName) {
			made[i]["namespaceSelector"] = byUID
		}
	}
}
