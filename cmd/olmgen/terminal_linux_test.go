package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
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

// onTerminal returns what a command prints on a terminal of this width.
func onTerminal(t *testing.T, wide int, args ...string) string {
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
	var stderr bytes.Buffer
	if code := run(args, nil, tty, &stderr); code != exitDone {
		t.Fatalf("%v: exit %d: %s", args, code, &stderr)
	}
	must(t, tty.Close())
	return <-printed
}
