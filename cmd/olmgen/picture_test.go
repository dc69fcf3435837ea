package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/base/picture"
)

// terminal is the look of a terminal: severities have the colours of the command line.
const terminal = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}` +
	`.screen{fill:#0d1117}.prompt{fill:#8b949e}.error{fill:#ff7b72}.warning{fill:#d29922}.verdict{font-weight:bold}`

// TestPicture holds the first picture of README: what "olmgen diff" says first of two releases of the example.
func TestPicture(t *testing.T) {
	example := filepath.Join("..", "..", "examples", "memcached-operator")
	var out, said bytes.Buffer
	args := []string{"diff", filepath.Join(example, "bundle"), filepath.Join(example, "bundle-v0.1.0")}
	if code := run(args, strings.NewReader(""), &out, &said); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	summary, _, _ := strings.Cut(out.String(), "\n\n")
	got := screen("olmgen diff bundle bundle-v0.1.0", summary)
	golden.CheckFile(t, filepath.Join("..", "..", "docs", "pictures", "diff.svg"), []byte(got), *update)
}

// screen draws a command and what it prints, in lines of at most 120 columns.
func screen(command, output string) string {
	const columns, margin, high, letter = 120, 16, 20, 8.45
	lines := append([]string{"$ " + command}, strings.Split(output, "\n")...)
	s := picture.SVG{Title: "olmgen diff of two releases", Width: 2*margin + int(columns*letter),
		Height: 2*margin + high*len(lines), Style: terminal}
	s.Rect("screen", 0, 0, s.Width, s.Height, 8)
	verdict := false
	for i, line := range lines {
		class := ""
		verdict = (verdict || strings.Contains(line, "verdict:")) && !strings.Contains(line, "judged:")
		switch {
		case i == 0:
			class = "prompt"
		case verdict:
			class = "verdict"
		case strings.Contains(line, "  error  "):
			class = "error"
		case strings.Contains(line, "  warning  "):
			class = "warning"
		}
		s.Text(picture.Label{Class: class, X: margin, Y: margin + high*i + 15, Text: line})
	}
	return s.String()
}
