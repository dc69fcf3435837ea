package main

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/manifest/text"
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

// indented returns a message whose further lines cannot be taken for messages, or for hints.
func indented(message string) string { return strings.ReplaceAll(message, "\n", "\n  ") }

// checkNamespace refuses a value of --namespace that is no name, as a wrong command line.
func checkNamespace(namespace string) error {
	err := config.CheckNamespace(namespace)
	if bad, ok := errors.AsType[*config.FlagError](err); ok {
		return &usageError{"--namespace: " + bad.Msg, bad.Tip}
	}
	return err
}
