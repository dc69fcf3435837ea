package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// TestTerminal has permissions print on terminals: the longest line is about as long as the terminal is wide.
func TestTerminal(t *testing.T) {
	colors := regexp.MustCompile(`\x1b\[\d+m`)
	for _, wide := range []int{90, 110, 160} {
		for _, color := range []string{"never", "always"} {
			out := onTerminal(t, wide, "permissions", example(t, "bundle"), "--color", color)
			longest := 0
			for line := range strings.Lines(colors.ReplaceAllString(out, "")) {
				longest = max(longest, utf8.RuneCountInString(strings.TrimRight(line, "\r\n")))
			}
			if longest > wide || longest < wide-10 {
				t.Errorf("a terminal of %d columns, color %s: the longest line has %d\n%s", wide, color, longest, out)
			}
		}
	}
}

// Long work has a line on the terminal of stderr, which is gone in the end; none with --quiet, in CI, before the delay, or in a pipe.
func TestProgress(t *testing.T) {
	t.Setenv("CI", "")
	show := func(delay time.Duration, args ...string) string {
		return onScreen(t, 80, func(tty *os.File) {
			var stdout bytes.Buffer
			if code := runShowing(delay, args, nil, &stdout, tty); code != exitDone {
				t.Errorf("%v: exit %d", args, code)
			}
		})
	}
	catalog := filepath.Join("..", "..", "examples", "memcached-operator")
	for _, c := range []struct{ what, args string }{
		{"reading bundles", "catalog audit --all-versions " + catalog}, {"reading bundles", "catalog site -o OUT " + catalog},
		{"reading bundles", "render -f " + filepath.Join(catalog, "olmgen.yaml") + " -o OUT"},
		{"reading files", "check ../../examples/subscriptions"}, {"reading releases", "history " + catalog},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "OUT", filepath.Join(t.TempDir(), "out")))
		out := show(0, args...)
		if want := "olmgen: " + c.what; !strings.Contains(out, want) {
			t.Errorf("%s: no line %q\n%q", c.args, want, out)
		}
		if left := visible(out); strings.Contains(left, c.what) {
			t.Errorf("%s: the line stays\n%s", c.args, left)
		}
	}
	audit := []string{"catalog", "audit", catalog}
	if out := show(0, append(audit, "--quiet")...); out != "" {
		t.Errorf("--quiet: %q", out)
	}
	if out := show(time.Hour, audit...); strings.Contains(out, "reading") {
		t.Errorf("before the delay: %q", out)
	}
	var stdout, stderr bytes.Buffer
	if runShowing(0, audit, nil, &stdout, &stderr); strings.Contains(stderr.String(), "reading") {
		t.Errorf("in a pipe: %q", &stderr)
	}
	t.Setenv("CI", "true")
	if out := show(0, audit...); strings.Contains(out, "reading") {
		t.Errorf("in CI: %q", out)
	}
}

// visible returns what stays of what is written to a terminal.
func visible(written string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(written, "\r\n", "\n"), "\n") {
		var cells []rune
		for part := range strings.SplitSeq(strings.ReplaceAll(line, "\x1b[2K", ""), "\r") {
			for i, r := range []rune(part) {
				if i < len(cells) {
					cells[i] = r
				} else {
					cells = append(cells, r)
				}
			}
		}
		lines = append(lines, strings.TrimRight(string(cells), " "))
	}
	return strings.Join(lines, "\n")
}

// onTerminal returns what a command prints on a terminal of this width.
func onTerminal(t *testing.T, wide int, args ...string) string {
	t.Helper()
	return onScreen(t, wide, func(tty *os.File) {
		var stderr bytes.Buffer
		if code := run(args, nil, tty, &stderr); code != exitDone {
			t.Errorf("%v: exit %d: %s", args, code, &stderr)
		}
	})
}

// onScreen returns what do writes to a terminal of this width.
func onScreen(t *testing.T, wide int, do func(tty *os.File)) string {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer screen.Close()
	must(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	must(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(wide)}))
	printed := make(chan string)
	go func() {
		data, _ := io.ReadAll(screen) // it ends with an error when the other side is closed
		printed <- string(data)
	}()
	do(tty)
	must(t, tty.Close())
	return <-printed
}
