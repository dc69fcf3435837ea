package manifest

import (
	"errors"
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

	Syntax  bool     // the first document of the file is not YAML
	Options []Option // of the library that the message, or its hint, is about
	Err     error    // why the file can't be read; nil if it can, and its content is at fault
}

// Option is an option of the library that a message is about: the path of a field of an Options type, such as
// Descoped.BindAll of generate.Options. No message spells an option. Who speaks to a person names it: a command line by
// its flag, a RenderConfig by its field.
type Option string

// Message is a note or an advice, and the options that it is about.
type Message struct {
	Msg     string
	Options []Option
}

// String returns the message without its options.
func (m Message) String() string { return m.Msg }

// Error returns "file:line: field: message".
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

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what to do about the error, or "".
func (e *Error) Hint() string { return e.Tip }

// With sets what to do about the error, and returns the error.
func (e *Error) With(tip string) *Error {
	e.Tip = tip
	return e
}

// About returns the options that the error and its hint are about.
func (e *Error) About() []Option { return e.Options }

// HintError returns any error a next step for the person who meets it; an Error has its own.
type HintError struct {
	Err error
	Tip string // the next step: lower case, no final period

	Options []Option // that the next step is about
}

// WithHint returns err with a next step and the options that it is about, as a *HintError; err itself without a step.
func WithHint(err error, tip string, options ...Option) error {
	if tip == "" {
		return err
	}
	return &HintError{err, tip, options}
}

// HintOf returns what an error advises to do, or "".
func HintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// AboutOf returns the options that an error and its hint are about.
func AboutOf(err error) []Option {
	var about interface{ About() []Option }
	if errors.As(err, &about) {
		return about.About()
	}
	return nil
}

func (e *HintError) Error() string { return e.Err.Error() }

func (e *HintError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *HintError) Hint() string { return e.Tip }

// About returns the options that the next step is about.
func (e *HintError) About() []Option { return e.Options }
