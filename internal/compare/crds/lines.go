package crds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/manifest"
)

// field returns the field of a CRD that a finding is about.
func (f found) field(crd *manifest.Object) string {
	if f.at != "" || f.Version == "" {
		return f.at
	}
	newer := f.Version[strings.LastIndexByte(f.Version, ' ')+1:]
	at := "spec.versions"
	for i := range crd.Len("spec", "versions") {
		if name, err := crd.Get("spec", "versions", strconv.Itoa(i), "name"); err == nil && name == newer {
			at = fmt.Sprintf("spec.versions[%d]", i)
		}
	}
	_, key := fieldNumbers()[f.Rule]
	if at == "spec.versions" || f.Path == "" && !key {
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
	segments := decoded.Segments(path)
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
