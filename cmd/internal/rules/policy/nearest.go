package policy

import (
	"strings"

	"github.com/olmgen/olmgen/internal/base/text"
)

// unknown returns the error for a word that a field does not take.
func (p *parser) unknown(field, got string, allowed []string) error {
	unknown := text.Unknown("value", got, allowed)
	return p.fail(field, unknown.Hint(), "%v", unknown)
}

// hintRules returns the next step for an unknown rule.
func hintRules(didYouMean string) string {
	return strings.TrimSpace(didYouMean + " olmgen lint lists the rules")
}
