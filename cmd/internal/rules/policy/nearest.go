package policy

import (
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// unknownField returns the error for the first unknown field of a policy file.
func (p *parser) unknownField(unknown []string) error {
	slices.SortStableFunc(unknown, func(a, b string) int { return p.LineOf(a) - p.LineOf(b) })
	field := unknown[0]
	return p.fail(field, manifest.Suggestion(reflect.TypeFor[file](), field), "unknown field")
}

// unknown returns the error for a word that a field does not take.
func (p *parser) unknown(field, got string, allowed []string) error {
	unknown := text.Unknown("value", got, allowed)
	return p.fail(field, unknown.Hint(), "%v", unknown)
}

// hintRules returns the next step for an unknown rule.
func hintRules(didYouMean string) string {
	return strings.TrimSpace(didYouMean + " olmgen lint lists the rules")
}
