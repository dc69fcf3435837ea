package output

import (
	"errors"
	"fmt"
	"strings"
)

// HintError is an error with a next step for the person who meets it. A command prints the step on a line of its own,
// after "hint: ".
type HintError struct {
	Err error
	Msg string // the next step: lower case, no final period
}

func (e *HintError) Error() string { return e.Err.Error() }

func (e *HintError) Unwrap() error { return e.Err }

// Hint gives the next step.
func (e *HintError) Hint() string { return e.Msg }

func withHint(err error, text string) error {
	return &HintError{Err: err, Msg: text}
}

func refuse(text, format string, args ...any) error {
	return withHint(fmt.Errorf(format, args...), text)
}

const maxNamed = 5

// some joins the first few names and says how many more there are.
func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// unsupported tells whether err means that this file system cannot do it at all, so that another way is worth a try.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported)
}
