// Package watch reports how far long work is.
package watch

import "context"

// Func is told, from several goroutines, that one more of total pieces of work is done. Of work that has one piece, the
// total is 0, and it is told at the beginning.
type Func func(what string, total int)

type key struct{}

// With returns a context of which f is told what is done.
func With(ctx context.Context, f Func) context.Context { return context.WithValue(ctx, key{}, f) }

// Step reports a piece of work to the Func of a context, if it has one.
func Step(ctx context.Context, what string, total int) {
	if f, ok := ctx.Value(key{}).(Func); ok {
		f(what, total)
	}
}
