package manifest

import (
	"strconv"
	"strings"
)

// Error is a fault in what was read: where it is, what is wrong and what to do.
type Error struct {
	File  string // slash-separated path inside the source
	Line  int    // 1-based; 0 if the fault is the whole file's
	Field string // dotted path, such as spec.install.spec.deployments[0].name
	Msg   string
	Tip   string // what to do about it; may be empty
}

// Error gives "file:line: field: message".
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Hint says what to do about the error, or is empty.
func (e *Error) Hint() string { return e.Tip }

// HintError gives any error a next step for the person who meets it; an Error has its own.
type HintError struct {
	Err error
	Tip string // the next step: lower case, no final period
}

// WithHint gives err with a next step, as a *HintError.
func WithHint(err error, tip string) error { return &HintError{err, tip} }

func (e *HintError) Error() string { return e.Err.Error() }

func (e *HintError) Unwrap() error { return e.Err }

// Hint gives the next step.
func (e *HintError) Hint() string { return e.Tip }
