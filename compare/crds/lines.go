package crds

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/manifest"
)

// locate fills in where the findings about CRDs stand: in the newer CRD, or in the older one if it is gone.
func locate(list []found, before, after map[string]*crs.CRD) {
	for i := range list {
		f := &list[i]
		crd := cmp.Or(after[f.CRD], before[f.CRD])
		if crd != nil && f.Object == "" {
			f.File, f.Line = crd.PlaceOf(f.field(crd.Object))
		}
	}
}

// field returns the field of a CRD that a finding is about.
func (f found) field(crd *manifest.Object) string {
	if f.at != "" || f.Version == "" {
		return f.at
	}
	_, newer, both := strings.Cut(f.Version, arrow)
	if !both {
		newer = f.Version
	}
	version := -1
	for i := range crd.Len("spec", "versions") {
		if name, err := crd.Get("spec", "versions", strconv.Itoa(i), "name"); err == nil && name == newer {
			version = i
		}
	}
	if version < 0 {
		return "spec.versions"
	}
	at := "spec.versions[" + strconv.Itoa(version) + "]"
	_, key := fieldNumbers()[f.Rule]
	if f.Path == "" && !key {
		return at
	}
	at += ".schema.openAPIV3Schema" + schemaField(f.Path)
	if key {
		at += "." + f.Rule
	}
	return at
}

// schemaField returns the field of a schema that a path of a custom resource leads to.
func schemaField(path string) string {
	number := func(s string) bool { _, err := strconv.Atoi(s); return err == nil }
	at := ""
	segments := manifest.Segments(path)
	for i, s := range segments {
		lists := slices.Contains([]string{"allOf", "anyOf", "oneOf"}, s)
		switch {
		case s == "":
			at += ".items"
		case s == "*":
			at += ".additionalProperties"
		case number(s):
			at += "[" + s + "]"
		case lists && i+1 < len(segments) && number(segments[i+1]):
			at += "." + s
		default:
			at += `.properties["` + s + `"]`
		}
	}
	return at
}
