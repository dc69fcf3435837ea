// Package lazy makes values when they are first needed.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles a pattern when it is first called. Variables of packages use it, so that a
// command does not compile at its start the patterns that it never uses.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
