package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriteMeetsWriter lets a person save a file at the worst moments.
func TestWriteMeetsWriter(t *testing.T) {
	for _, op := range []string{"create", "exchange"} {
		for _, p := range []string{"new.txt", "mine.txt", "a.yaml"} {
			t.Run(op+" "+p, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				mustWrite(t, dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
				holds{"mine.txt": "mine"}.put(t, dir)
				saved := false
				d := newDisk()
				d.before = func(now, _ string) error {
					if now == op && !saved {
						saved = true
						holds{"tmp": "saved"}.put(t, filepath.Dir(dir))
						must(t, os.Rename(filepath.Join(dir, "../tmp"), filepath.Join(dir, p)))
					}
					return nil
				}
				want := holds{"a.yaml": "1", "mine.txt": "mine"}
				want[p] = "saved"
				_, err := d.update(dir, holds{"a.yaml": "2"}.files(), WriteOptions{})
				refused(t, err, "was changed while olmgen was at work")
				clean(t, dir)
				equal(t, "tree", look(t, dir), want)
			})
		}
	}
}

func TestWriteConcurrently(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
	d := newDisk()
	tried := false
	d.before = func(op, _ string) error {
		if op == "exchange" {
			tried = true
			_, err := Write(dir, holds{"a.yaml": "3"}.files(), WriteOptions{})
			refused(t, err, "another olmgen is writing to "+dir)
		}
		return nil
	}
	_, err := d.update(dir, holds{"a.yaml": "2"}.files(), WriteOptions{})
	must(t, err)
	if !errors.Is(exchange(dir, dir+"none"), errors.ErrUnsupported) && !tried {
		t.Error("the second write was never tried")
	}
	clean(t, dir)
	equal(t, "tree", look(t, dir), holds{"a.yaml": "2"})
}

// TestWriteMany lets many runs loose on one directory: each ends well or says that another is at work.
func TestWriteMany(t *testing.T) {
	t.Run("replaced", func(t *testing.T) { writeMany(t, nil) })
	t.Run("in place", func(t *testing.T) { writeMany(t, holds{".git/HEAD": "x"}) })
}

func writeMany(t *testing.T, there holds) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	there.put(t, dir)
	done := make(chan error)
	const runs = 8
	for i := range runs {
		go func() {
			var err error
			for n := 0; n < 10 && err == nil; n++ {
				tree := holds{"a": fmt.Sprint(i), "b": fmt.Sprint(i)}
				_, err = Write(dir, tree.files(), WriteOptions{})
				if err != nil && strings.Contains(err.Error(), "another olmgen is writing") {
					err = nil
				}
			}
			done <- err
		}()
	}
	for range runs {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	clean(t, dir)
	if got := look(t, dir); got["a"] == "" || got["a"] != got["b"] {
		t.Errorf("a mixture: %v", got)
	}
}

func TestWriteRemovesLeftovers(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	mustWrite(t, dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
	holds{"precious": "mine"}.put(t, parent)
	holds{".out.olmgen-work/lock": "", ".out.olmgen-work/new/x/y": "half", ".out.olmgen-work/new/link": "-> ../precious", ".out.olmgen-work/new/l": "-> .."}.put(t, parent)
	mustWrite(t, dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
	equal(t, "parent", look(t, parent), holds{"out/a.yaml": "1", "precious": "mine"})
}

// TestWriteRepairs starts from what a kill between two renames leaves, where there is no exchange.
func TestWriteRepairs(t *testing.T) {
	for _, c := range []struct {
		name string
		left holds
		want holds
		err  string
	}{
		{"old tree aside", holds{".out.olmgen-work/old/mine": "mine", ".out.olmgen-work/new/a": "2"}, holds{"out/mine": "mine", "out/a": "1"}, ""},
		{"new tree in place", holds{".out.olmgen-work/old/gone": "mine", "out/mine": "mine"}, holds{"out/mine": "mine", "out/a": "1"}, ""},
		{"somebody made a new one", holds{".out.olmgen-work/.gitignore": "*\n",
			".out.olmgen-work/old/mine": "mine", ".out.olmgen-work/new/a": "2", "out/b": "2"}, nil, "both exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			c.left.put(t, parent)
			dir := filepath.Join(parent, "out")
			_, err := Write(dir, holds{"a": "1"}.files(), WriteOptions{})
			if c.err != "" {
				refused(t, err, c.err)
				equal(t, "parent", look(t, parent), c.left)
				return
			}
			must(t, err)
			equal(t, "parent", look(t, parent), c.want)
		})
	}
}
