//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// interrupting is a standard input at which somebody presses Ctrl-C.
type interrupting struct{ t *testing.T }

func (r interrupting) Read([]byte) (int, error) {
	seen := make(chan os.Signal, 1)
	signal.Notify(seen, os.Interrupt)
	defer signal.Stop(seen)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		r.t.Error(err)
	}
	<-seen
	time.Sleep(100 * time.Millisecond) // the run hears of it, too
	return 0, io.EOF
}

// A run that is interrupted says so, and not which of its steps was cancelled.
func TestInterrupted(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"check", "-"}, interrupting{t}, &stdout, &stderr); code != exitSignal+int(syscall.SIGINT) {
		t.Errorf("exit code %d", code)
	}
	if got := stderr.String(); got != "olmgen: interrupted\n" || stdout.Len() > 0 {
		t.Errorf("%q, %q", got, &stdout)
	}
}
