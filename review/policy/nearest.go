package policy

import (
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// unknownField is the error for the first field that a policy file does not have.
func (p *parser) unknownField(unknown []string) error {
	slices.SortStableFunc(unknown, func(a, b string) int { return p.LineOf(a) - p.LineOf(b) })
	field := unknown[0]
	parent, last := "", field
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		parent, last = field[:i], field[i+1:]
	}
	known := manifest.FieldsAt(reflect.TypeFor[file](), parent)
	return p.fail(field, "there are "+strings.Join(known, ", "), "unknown field%s", didYouMean(last, known))
}

// didYouMean names the word that is nearest to what was written; nothing if none is near.
func didYouMean(given string, known []string) string {
	if near := manifest.Nearest(given, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}
