//go:build unix

package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within fails the test if f waits, for a writer perhaps.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("file"), []byte("text"), 0o644))
	must(t, os.Symlink("file", at("link")))
	must(t, os.Symlink("/dev/zero", at("zero")))
	must(t, os.Mkdir(at("dir"), 0o755))
	must(t, syscall.Mkfifo(at("pipe"), 0o644))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for _, c := range []struct {
		name     string
		ok, inOK bool
	}{
		{"file", true, true}, {"link", true, true}, {"dir", false, true}, {"pipe", false, false}, {"zero", false, false}, {"gone", false, false},
	} {
		within(t, func() {
			f, err := Open(at(c.name))
			if (err == nil) != c.ok {
				t.Errorf("Open(%s): %v", c.name, err)
			}
			if pe := new(fs.PathError); err != nil && !errors.As(err, &pe) {
				t.Errorf("Open(%s): %v names no path", c.name, err)
			}
			if err == nil {
				f.Close()
			}
			f, err = OpenIn(root, c.name)
			if (err == nil) != c.inOK {
				t.Errorf("OpenIn(%s): %v", c.name, err)
			}
			if err == nil {
				f.Close()
			}
		})
	}
}

// TestReplaced opens a file that somebody replaces all the time by a pipe, a directory, a link and nothing.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			other := filepath.Join(dir, "other")
			switch i % 4 {
			case 0:
				_ = os.WriteFile(other, []byte("text"), 0o644)
			case 1:
				_ = syscall.Mkfifo(other, 0o644)
			case 2:
				_ = os.Symlink("/dev/zero", other)
			case 3:
				_ = os.Mkdir(other, 0o755)
			}
			_ = os.Remove(name)
			_ = os.Rename(other, name)
		}
	}()
	read, refused := 0, 0
	within(t, func() {
		// On a busy machine one of the two may not run for thousands of rounds.
		for i := 0; i < 5000 || read == 0 || refused == 0; i++ {
			f, err := Open(name)
			if err != nil {
				refused++
				continue
			}
			if data, err := io.ReadAll(f); err != nil || len(data) > 4 {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			read++
			f.Close()
		}
	})
	close(stop)
	<-stopped
	t.Logf("%d times a file, %d times refused", read, refused)
	if read == 0 || refused == 0 {
		t.Error("nothing was replaced")
	}
}
