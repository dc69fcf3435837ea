//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// pipeOf makes a named pipe that yields a file to each reader, and counts the readers.
func pipeOf(t *testing.T, file string) (pipe string, readers *atomic.Int32) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pipe, readers = filepath.Join(t.TempDir(), "catalog"), &atomic.Int32{}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done, stop := make(chan struct{}), atomic.Bool{}
	go func() {
		defer close(done)
		for {
			f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for a reader
			if err != nil || stop.Load() {
				return
			}
			readers.Add(1)
			_ = os.Remove(pipe) // the next reader gets a pipe of its own
			err = syscall.Mkfifo(pipe, 0o600)
			if err == nil {
				_, err = f.Write(data)
			}
			f.Close()
			if err != nil && !errors.Is(err, syscall.EPIPE) {
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop.Store(true)
		if f, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			defer f.Close()
		}
		<-done
	})
	return pipe, readers
}

// A run reads a catalog once: for all its operators, for what they require, for their updates, and for the warning about versions between two.
func TestCatalogIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	manyInCatalog(t, dir, 40, 10_000)
	pipe, readers := pipeOf(t, filepath.Join(dir, "catalog.json"))
	c := operatorsFrom(t, 40, `source: "catalog:`+pipe+`"`)
	c.Resolve = true
	o := Options{Source: source.Options{Offline: true}}
	r, err := c.Render(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var recorded []output.Source
	for _, s := range r.Sources {
		s.Bundle = s.Bundle[:len(s.Bundle)-1] + "4" // a version that the tree has
		recorded = append(recorded, s)
	}
	warnings, err := r.PathWarnings(t.Context(), recorded)
	if err != nil || len(warnings) != 40 {
		t.Errorf("%d warnings, %v", len(warnings), err)
	}
	if n := readers.Load(); n != 1 || len(r.Operators) != 40 {
		t.Errorf("the catalog is read %d times for %d operators", n, len(r.Operators))
	}
}
