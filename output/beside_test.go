package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriteMeetsWriter lets a person save a file at the worst moments. While the files are built, nothing is written at
// all; while one is replaced, removed or added, that one is not.
func TestWriteMeetsWriter(t *testing.T) {
	for _, swaps := range []bool{true, false} {
		for _, c := range []struct{ op, at, saves, err string }{
			{"create", "0", "new.txt", "so nothing was written"},
			{"create", "0", "mine.txt", "so nothing was written"},
			{"create", "0", "a.yaml", "so nothing was written"},
			{"create", "0", "b.yaml", "so nothing was written"},
			{"replace", "a.yaml", "a.yaml", "so not written: "},
			{"remove", "b.yaml", "b.yaml", "so not written: "},
			{"add", "c.yaml", "c.yaml", "so not written: "},
			{"replace", "a.yaml", "mine.txt", ""},
		} {
			t.Run(fmt.Sprint(c.op, c.saves, swaps), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				mustWrite(t, dir, holds{"a.yaml": "1", "b.yaml": "1"}.files(), WriteOptions{})
				holds{"mine.txt": "mine"}.put(t, dir)
				saved := false
				d := newDisk()
				if !swaps {
					noSwaps(d)
				}
				save := func(op, path string) {
					if op == c.op && filepath.Base(path) == c.at && !saved {
						saved = true
						holds{"tmp": "saved"}.put(t, filepath.Dir(dir))
						must(t, os.Rename(filepath.Join(dir, "../tmp"), filepath.Join(dir, c.saves)))
					}
				}
				d.before = func(op, path string) error {
					switch {
					case op == "exchange" && swaps:
						op = "replace"
					case op == "rename" && strings.HasSuffix(path, "/1.old") && !swaps:
						op, path = "replace", "a.yaml"
					case op == "rename" && strings.HasSuffix(path, "/0.old"):
						op, path = "remove", "b.yaml"
					case op == "rename" && filepath.Base(path) == "c.yaml" && swaps:
						op = "add"
					}
					if op == "create" {
						path = "0"
					}
					save(op, path)
					return nil
				}
				if c.op == "add" && !swaps {
					t.Skip("only the system can do that")
				}
				want := holds{"a.yaml": "1", "b.yaml": "1", "mine.txt": "mine"}
				if c.op != "create" {
					want = holds{"a.yaml": "2", "c.yaml": "1", "mine.txt": "mine"}
				}
				want[c.saves] = "saved"
				_, err := d.update(dir, holds{"a.yaml": "2", "c.yaml": "1"}.files(), WriteOptions{})
				if c.err == "" {
					must(t, err)
				} else {
					refused(t, err, c.err)
				}
				if !saved {
					t.Error("nothing was saved")
				}
				clean(t, dir)
				equal(t, "tree", look(t, dir), want)
			})
		}
	}
}

// noSwaps makes a disk of a system that cannot swap two files.
func noSwaps(d *disk) {
	d.renameAs = func(_, _ string, _ uint) error { return errors.ErrUnsupported }
}

func TestWriteConcurrently(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
	d := newDisk()
	tried := false
	d.before = func(op, _ string) error {
		if op == "create" || op == "exchange" {
			tried = true
			_, err := Write(dir, holds{"a.yaml": "3"}.files(), WriteOptions{})
			refused(t, err, "another olmgen is writing to "+dir)
		}
		return nil
	}
	_, err := d.update(dir, holds{"a.yaml": "2"}.files(), WriteOptions{})
	must(t, err)
	if !tried {
		t.Error("the second write was never tried")
	}
	clean(t, dir)
	equal(t, "tree", look(t, dir), holds{"a.yaml": "2"})
}

// TestWriteMany lets many runs loose on one directory: each ends well or says that another is at work.
func TestWriteMany(t *testing.T) {
	t.Run("new", func(t *testing.T) { writeMany(t, nil) })
	t.Run("there", func(t *testing.T) { writeMany(t, holds{".git/HEAD": "x"}) })
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
	holds{"lock": "", "new/x/y": "half", "new/link": "-> ../../../precious", "new/l": "-> ../../.."}.put(t, filepath.Join(dir, workName))
	mustWrite(t, dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
	equal(t, "parent", look(t, parent), holds{"out/a.yaml": "1", "precious": "mine"})
}

// TestWriteRepairs starts from what a kill between two renames leaves, where two files cannot be swapped.
func TestWriteRepairs(t *testing.T) {
	two := digestOf([]byte("2"))
	journal := fmt.Sprintf(`{"steps":[{"path":"a","was":"%s","now":"%s"}]}`, one, two)
	for _, c := range []struct {
		name       string
		left, want holds
		err        string
	}{
		{"old file aside", holds{}, holds{"a": "2"}, ""},
		{"new file in place", holds{"a": "2"}, holds{"a": "2"}, ""},
		{"somebody made another", holds{"a": "3"}, holds{"a": "3"}, "edited by hand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			mustWrite(t, dir, holds{"a": "1"}.files(), WriteOptions{})
			must(t, os.Remove(filepath.Join(dir, "a")))
			c.left.put(t, dir)
			holds{"journal.json": journal, "new/0": "2", "new/0.old": "1"}.put(t, filepath.Join(dir, workName))
			_, err := Write(dir, holds{"a": "2"}.files(), WriteOptions{})
			if c.err == "" {
				must(t, err)
			} else {
				refused(t, err, c.err)
			}
			clean(t, dir)
			equal(t, "tree", look(t, dir), c.want)
		})
	}
}
