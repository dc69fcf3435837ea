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
