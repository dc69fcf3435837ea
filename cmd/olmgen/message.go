package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
)

// messageWriter is stderr. A message may quote what a stranger wrote: it must neither control the terminal nor look
// like another message, or like a command of a workflow log. Each write is one message, of one or more whole lines.
type messageWriter struct{ w io.Writer }

func (m *messageWriter) Write(p []byte) (int, error) {
	var out bytes.Buffer
	first := true
	for line := range strings.Lines(string(p)) {
		line, ended := strings.CutSuffix(line, "\n")
		if !first && (strings.HasPrefix(line, "olmgen: ") || strings.HasPrefix(line, "::")) {
			out.WriteString("  ")
		}
		first = false
		for i, part := range strings.Split(line, "\t") {
			if i > 0 {
				out.WriteByte('\t')
			}
			out.WriteString(text.Printable(part))
		}
		if ended {
			out.WriteByte('\n')
		}
	}
	if _, err := m.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// stdoutWriter is stdout. It keeps the first error.
type stdoutWriter struct {
	io.Writer
	err error
}

func (s *stdoutWriter) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// say prints a message on stderr: its level and its hint, if it has them, and its text.
func say(cmd *cobra.Command, level findings.Severity, hint, format string, args ...any) {
	sayOn(cmd.ErrOrStderr(), level, hint, format, args...)
}

func warn(cmd *cobra.Command, format string, args ...any) {
	say(cmd, findings.Warning, "", format, args...)
}
func note(cmd *cobra.Command, format string, args ...any) {
	say(cmd, findings.Note, "", format, args...)
}
func tell(cmd *cobra.Command, format string, args ...any) { say(cmd, "", "", format, args...) }

func sayOn(stderr io.Writer, level findings.Severity, hint, format string, args ...any) {
	message := "olmgen: "
	if level != "" {
		message += string(level) + ": "
	}
	message += indented(fmt.Sprintf(format, args...)) + "\n"
	if hint != "" {
		message += "hint: " + indented(hint) + "\n"
	}
	fmt.Fprint(stderr, message)
}

// given returns the first of several flags that the command line has, with its dashes, or "".
func given(cmd *cobra.Command, names ...string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// indented returns a message whose further lines cannot be taken for messages, or for hints, even by who overlooks the
// blanks before them.
func indented(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines[1:] {
		mark := ""
		if start := strings.TrimSpace(line); strings.HasPrefix(start, "hint:") || strings.HasPrefix(start, "olmgen:") {
			mark = "| "
		}
		lines[i+1] = "  " + mark + line
	}
	return strings.Join(lines, "\n")
}

// checkNamespace refuses a value of --namespace that is no name, as a wrong command line.
func checkNamespace(namespace string) error {
	err := config.CheckNamespace(namespace)
	if bad, ok := errors.AsType[*config.FlagError](err); ok {
		return &usageError{"--namespace: " + bad.Msg, bad.Tip}
	}
	return err
}
