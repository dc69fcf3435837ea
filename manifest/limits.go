package manifest

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/option"
)

// Limits bound what reading may cost.
type Limits struct {
	FileBytes   int // of one file
	ObjectBytes int // of one document, without indentation, blank lines and comments; below zero: no limit
	Depth       int // levels of mappings and sequences in one document
	Nodes       int // values in one document, those behind aliases counted each time they are used
	Documents   int // in one file

	// Charge is called with the bytes and values of each file before they are held. What it returns is why there are
	// too many in all files together; "" if there are not. Several goroutines may call it. Nil: there is no such limit.
	Charge func(bytes, values int64) string
}

// deepest is the default of Limits.Depth: the deepest object in 14,245 public bundles has 58 levels.
const deepest = 200

const raiseLimits = "if you trust the input, raise the limits"

// OverLimit returns err, which is about a limit, with the advice to raise the limits.
func OverLimit(err error) error { return WithHint(err, raiseLimits, option.Limits) }

func overLimit(e *Error) *Error {
	e.Tip, e.Options = raiseLimits, append(e.Options, option.Limits)
	return e
}

// orDefault returns the limits of a file with objects in place of those that are not set. They are far above any real
// bundle and far below what harms a machine.
func (l Limits) orDefault() Limits {
	file, object := budget.Of(budget.File), budget.Of(budget.Object)
	return Limits{
		FileBytes:   cmp.Or(l.FileBytes, budget.Int(file.Bytes)),
		ObjectBytes: cmp.Or(l.ObjectBytes, budget.Int(object.Bytes)),
		Depth:       cmp.Or(l.Depth, deepest),
		Nodes:       cmp.Or(l.Nodes, budget.Int(object.Values)),
		Documents:   cmp.Or(l.Documents, budget.Int(file.Objects)),
		Charge:      l.Charge,
	}
}

// charge charges what all files share.
func (l Limits) charge(bytes, values int64) error {
	if l.Charge == nil {
		return nil
	}
	if over := l.Charge(bytes, values); over != "" {
		return overLimit(&Error{Msg: over})
	}
	return nil
}

// named returns an error about all files together with the name of the file that was too much.
func named(err error, file string) error {
	if e, ok := errors.AsType[*Error](err); ok && e.File == "" {
		e.File = file
	}
	return err
}

func mib(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
