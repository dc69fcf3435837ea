package policy

import (
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
)

// unknownField returns the error for the first unknown field of a policy file.
func (p *parser) unknownField(unknown []string) error {
	slices.SortStableFunc(unknown, func(a, b string) int { return p.LineOf(a) - p.LineOf(b) })
	field := unknown[0]
	parent, last := "", field
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		parent, last = field[:i], field[i+1:]
	}
	known := manifest.FieldsAt(reflect.TypeFor[file](), parent)
	return p.fail(field, "known fields: "+strings.Join(known, ", "), "unknown field%s", didYouMean(last, known))
}

// didYouMean suggests the known word that is closest to the given one, if any is close.
func didYouMean(given string, known []string) string {
	if near := text.Nearest(given, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}
