// Package lazy makes values when they are first needed.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles a pattern when it is first called. Variables of packages use it: compiled at
// start-up, all patterns together allocate 0.5 MB in each command, also in one that uses none of them.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
