package main

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// asked are the kinds and fields of which facts are written.
var asked = map[string][]string{
	olm.KindClusterCatalog: {""},
	olm.KindClusterExtension: {"", "spec.serviceAccount", "spec.config", "spec.progressDeadlineMinutes",
		"spec.source.catalog.selector"},
	"ClusterExtensionRevision": {"", "spec.phases", "spec.phases[].objects"},
	"ClusterObjectSet":         {"", "spec.phases", "spec.phases[].objects"},
}

// variant is what a set of manifests has, by what the facts are about.
type variant map[string]versions.Fact

func gate(name string, on bool, sources ...string) versions.Fact {
	f := versions.Fact{Gate: name, State: versions.Disabled, At: sources}
	if on {
		f.State = versions.Enabled
	}
	return f
}

// put puts a fact where it belongs, with more sources.
func (v variant) put(f versions.Fact, sources ...string) {
	f.At = slices.Concat(f.At, sources)
	v[f.Gate+f.Kind+" "+f.Field] = f
}

func (v variant) read(f file) error {
	for i, line := range strings.Split(f.text, "\n") {
		if _, arg, ok := strings.Cut(line, "--feature-gates="); ok {
			name, value, _ := strings.Cut(arg, "=")
			v.put(gate(name, value == "true", f.line(i+1)))
		}
	}
	documents, err := manifest.ReadFile(f.name, []byte(f.text), manifest.Limits{})
	for _, d := range documents {
		o, err := d.Object()
		if err != nil {
			return err
		}
		kind, _ := o.Get("spec", "names", "kind")
		name, _ := kind.(string) // of a CRD
		for _, field := range asked[name] {
			at := "spec.versions[0].schema.openAPIV3Schema"
			if field != "" {
				at += strings.NewReplacer("[].", ".items.properties.", ".", ".properties.").Replace("." + field)
			}
			path := manifest.Segments(at)
			if !o.Has(path...) {
				continue
			}
			found := versions.Fact{Kind: name, Field: field, State: versions.Accepted}
			required, _ := o.Get(append(slices.Clone(path[:len(path)-2]), "required")...)
			if list, _ := required.([]any); slices.Contains(list, any(path[len(path)-1])) {
				found.State = versions.Required
			}
			most, _ := o.Get(append(path, "maxItems")...)
			limit, _ := most.(int64)
			found.Limit = int(limit)
			v.put(found, f.line(o.LineOf(at)))
		}
	}
	return err
}

// code returns the feature gates as the code of operator-controller has them, and what its manifests have: the standard
// and the experimental ones, and the CRDs that the chart makes only with a feature gate.
func (r *release) code(repository, manifests string) (gates variant, variants map[string]variant) {
	gates, variants = variant{}, map[string]variant{}
	for _, m := range r.find(repository, `(?m)^\t(\w+):\s*\{\s*Default:\s*(true|false)`,
		`internal/(?:operator-controller/)?features/features\.go`) { // a constant has the name of its gate
		gates.put(gate(m.groups[0], m.groups[1] == "true", m.source))
	}
	for _, f := range r.files(repository, manifests) {
		name := "standard"
		switch {
		case strings.Contains(f.name, "/crd/experimental/"):
			name = "gated"
		case strings.Contains(f.name, "experimental"):
			name = "experimental"
		}
		if variants[name] == nil {
			variants[name] = variant{}
		}
		r.err = cmp.Or(r.err, variants[name].read(f))
	}
	return gates, variants
}

// upstream reads a release of operator-controller: its code, as its manifests set it.
func (r *release) upstream() {
	gates, variants := r.code(upstream, `manifests/(?:standard|experimental)\.yaml|`+
		`config/base/(?:[\w-]+/)?crd/bases/.*\.yaml`)
	for _, set := range slices.Backward(slices.Sorted(maps.Keys(variants))) {
		r.ship(versions.Set(set), gates, variants[set])
	}
}

// ship adds the facts of a feature set: the CRDs, and the code's feature gates, each as the last manifest sets it.
func (r *release) ship(set versions.Set, gates variant, manifests ...variant) {
	all := maps.Clone(gates)
	for _, m := range manifests {
		for about, f := range m {
			if _, ok := gates[about]; ok || f.Kind != "" {
				all[about] = f
			}
		}
	}
	r.Sets = append(r.Sets, set)
	for _, about := range slices.Sorted(maps.Keys(all)) {
		f := all[about]
		i := slices.IndexFunc(r.Facts, func(g versions.Fact) bool {
			g.Sets = nil
			return reflect.DeepEqual(f, g)
		})
		if i < 0 {
			i, r.Facts = len(r.Facts), append(r.Facts, f)
		}
		r.Facts[i].Sets = append(r.Facts[i].Sets, set)
	}
}
