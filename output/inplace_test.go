package output

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// TestWriteInPlace writes to directories that somebody stands in or that are git's. The directory stays the same one, and
// so does every file that does not change.
func TestWriteInPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		there holds // in the directory
		cwd   string
		dir   string
	}{
		{name: "current directory", cwd: "out", dir: "."},
		{name: "current directory by name", cwd: "out", dir: "../out"},
		{name: "above the current directory", there: holds{"a/b/": ""}, cwd: "out/a/b", dir: "../.."},
		{name: "git repository", there: holds{".git/HEAD": "x"}, dir: "out"},
		{name: "git worktree", there: holds{".git": "gitdir: x"}, dir: "out"},
		{name: "git submodule", there: holds{"sub/.git": "gitdir: x"}, dir: "out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			out := filepath.Join(parent, "out")
			mine := holds{"mine": "mine", "d/mine": "mine"}
			maps.Copy(mine, c.there)
			mine.put(t, out)
			t.Chdir(filepath.Join(parent, c.cwd))
			before, kept := lstat(t, out), lstat(t, filepath.Join(out, "mine"))
			for _, tree := range []holds{
				{"a.yaml": "1", "same": "1", "x/y.yaml": "1", "d/a": "1", "e/f": "1", "g": "1"},
				{"a.yaml": "2", "same": "1", "x": "1", "d/b": "1", "g/h": "1"},
				{"a.yaml": "2", "same": "1", "x": "1", "d/b": "1", "g/h": "1"},
				{},
			} {
				if _, err := Write(c.dir, tree.files(), WriteOptions{}); err != nil {
					t.Fatal(err)
				}
				clean(t, out)
				want := maps.Clone(mine)
				maps.Copy(want, tree)
				equal(t, "tree", look(t, out), want)
				if len(mustCheck(t, c.dir, tree.files())) > 0 {
					t.Error("check finds a difference")
				}
			}
			if !os.SameFile(before, lstat(t, out)) || !os.SameFile(kept, lstat(t, filepath.Join(out, "mine"))) {
				t.Error("the directory, or a file of another, was replaced")
			}
		})
	}
}

// TestWriteInPlaceRefuses meets obstacles in the current directory.
func TestWriteInPlaceRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		hand holds
		err  string
	}{
		{"edited", holds{"a.yaml": "mine"}, "edited by hand"},
		{"foreign", holds{"b.yaml": "mine"}, "not written by olmgen"},
		{"link", holds{"b.yaml": "-> .."}, "symbolic links"},
		{"link for a directory", holds{"x": "-> .."}, "symbolic links"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			mustWrite(t, ".", holds{"a.yaml": "1"}.files(), WriteOptions{})
			c.hand.put(t, dir)
			before := look(t, dir)
			_, err := Write(".", holds{"a.yaml": "2", "b.yaml": "1", "x/y": "1"}.files(), WriteOptions{})
			refused(t, err, c.err)
			equal(t, "tree", look(t, dir), before)
		})
	}
}

// TestStopAtEveryStep kills a write before each of its changes, and the one that repairs it too. Check says that
// the directory is incomplete, or finds one whole tree.
func TestStopAtEveryStep(t *testing.T) {
	t.Parallel()
	a, b := versions(4)
	for _, swaps := range []bool{true, false} {
		t.Run(fmt.Sprint("there ", swaps), func(t *testing.T) { t.Parallel(); stopAtEveryStep(t, swaps, a, b) })
		t.Run(fmt.Sprint("back ", swaps), func(t *testing.T) { t.Parallel(); stopAtEveryStep(t, swaps, b, a) })
	}
}

func stopAtEveryStep(t *testing.T, swaps bool, a, b holds) {
	t.Helper()
	mine := holds{".git/HEAD": "x", "README.md": "mine", "d0/mine": "mine"}
	middle := 0
	for n, done := 0, false; !done; n++ {
		for _, m := range []int{3, n + 2} {
			dir := filepath.Join(t.TempDir(), "out")
			written(t, dir, a)
			mine.put(t, dir)
			stopped := func(n int) error {
				d := newDisk()
				if !swaps {
					noSwaps(d)
				}
				d.before = stopAt(n, true)
				_, err := d.update(dir, b.files(), WriteOptions{})
				return err
			}
			err := stopped(n)
			if wholeOrIncomplete(t, dir, mine, a, b) {
				middle++
			}
			done = err == nil
			_ = stopped(m)
			wholeOrIncomplete(t, dir, mine, a, b)
			mustWrite(t, dir, b.files(), WriteOptions{})
			either(t, dir, mine, b, b)
		}
	}
	if middle < 10 {
		t.Errorf("%d stops in the middle of the files", middle)
	}
}

// TestErrorInPlace lets each change of a write in place fail once, with and without swaps. Then the old files are there again, with
// their modes, or the new ones. A second error, while the old files are put back, leaves what the next run finishes.
func TestErrorInPlace(t *testing.T) {
	fuzztest.Seconds(t)
	t.Parallel()
	a, b := versions(2)
	a["swap/f"], b["swap"] = "1", "2" // a file in place of a directory, and the other way round
	a["pawn"], b["pawn/f"] = "1", "2"
	mine := holds{".git/HEAD": "x", "README.md": "mine", "d0/mine": "mine"}
	for _, swaps := range []bool{true, false} {
		undone, left := 0, 0
		for n, done := 0, false; !done; n++ {
			for _, more := range []int{0, 3} {
				if more > 0 && !swaps {
					continue
				}
				dir := filepath.Join(t.TempDir(), "out")
				written(t, dir, a)
				mine.put(t, dir)
				if exists(filepath.Join(dir, "swap")) {
					must(t, os.Chmod(filepath.Join(dir, "swap"), 0o750))
				}
				before := lstat(t, filepath.Join(dir, "swap"))
				d := newDisk()
				first := stopAt(n, false)
				second := stopAt(max(more-1, 0), true)
				failed := false
				d.before = func(op, path string) error {
					if op == "rmdir" && filepath.Base(path) != "swap" {
						return nil // an empty directory that is in nobody's way may stay
					}
					if failed && more > 0 {
						return second(op, path)
					}
					err := first(op, path)
					failed = failed || err != nil
					return err
				}
				if !swaps {
					noSwaps(d)
				}
				_, err := d.update(dir, b.files(), WriteOptions{})
				done = err == nil && !failed
				switch {
				case err != nil && strings.Contains(err.Error(), "is as it was"):
					undone++
					clean(t, dir)
					either(t, dir, mine, a, a)
					if after := lstat(t, filepath.Join(dir, "swap")); after.Mode() != before.Mode() {
						t.Errorf("the mode of swap is %v, was %v", after.Mode(), before.Mode())
					}
				case err != nil && strings.Contains(err.Error(), "is incomplete"):
					left++
				}
				wholeOrIncomplete(t, dir, mine, a, b)
				mustWrite(t, dir, b.files(), WriteOptions{})
				either(t, dir, mine, b, b)
			}
		}
		if undone < 5 || left < 2 {
			t.Errorf("swaps %v: %d times undone, %d times left to the next run", swaps, undone, left)
		}
	}
}

// wholeOrIncomplete reports whether Check says that dir is incomplete. If not, dir must be one of the trees.
func wholeOrIncomplete(t *testing.T, dir string, mine, a, b holds) (incomplete bool) {
	t.Helper()
	if _, err := Check(dir, b.files(), nil); err != nil {
		refused(t, err, "is incomplete: an earlier run was interrupted")
		return true
	}
	got := look(t, dir)
	maps.DeleteFunc(got, func(p, _ string) bool { return strings.HasPrefix(p, workName) })
	for _, tree := range []holds{a, b} {
		want := maps.Clone(tree)
		maps.Copy(want, mine)
		if reflect.DeepEqual(got, want) {
			return false
		}
	}
	t.Errorf("neither tree, and Check does not say so: %v", got)
	return false
}

// TestRepairKeepsEdits lets a person edit files after a kill in the middle. The repair does not touch them.
func TestRepairKeepsEdits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, holds{"a": "1", "b": "1", "c": "1"}.files(), WriteOptions{})
	holds{".git/HEAD": "x"}.put(t, dir)
	want := holds{"a": "2", "b": "2", "d": "2"}
	d := newDisk()
	dead := false
	d.before = func(op, path string) error {
		if dead = dead || op == "exchange" && filepath.Base(path) == "b"; dead {
			return errStop
		}
		return nil
	}
	_, err := d.update(dir, want.files(), WriteOptions{})
	refused(t, err, "is incomplete")
	holds{"b": "edited", "d": "mine"}.put(t, dir)
	_, err = Write(dir, want.files(), WriteOptions{})
	refused(t, err, "edited by hand since olmgen wrote it: "+filepath.Join(dir, "b")+", "+filepath.Join(dir, "d"))
	clean(t, dir)
	equal(t, "tree", look(t, dir), holds{".git/HEAD": "x", "a": "2", "b": "edited", "d": "mine"})
}

// TestJournalFromStrangers offers journals that olmgen did not write: none leads out of the directory.
func TestJournalFromStrangers(t *testing.T) {
	for _, c := range []struct{ name, text, err string }{
		{"no JSON", "x", "journal.json"},
		{"another field", `{"steps":[],"run":"x"}`, "unknown field"},
		{"above", `{"steps":[{"path":"../mine","was":"` + digestOf([]byte("mine")) + `"}]}`, `holds a ".." segment`},
		{"above, a directory", `{"dirs":["../d"]}`, `holds a ".." segment`},
		{"through a link", `{"steps":[{"path":"l/mine","was":"` + digestOf([]byte("mine")) + `"}]}`, "is not a directory"},
		{"an empty directory through a link", `{"dirs":["l/d"]}`, ""},
		{"no staged file", `{"steps":[{"path":"a","now":"` + one + `"}]}`, "is not the file that the journal names"},
		{"no digest", `{"steps":[{"path":"a","now":"1"}]}`, "is not a digest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			there := holds{"mine": "mine", "d/": "", "out/l": "-> ..", "out/.git/HEAD": "x"}
			there.put(t, parent)
			dir := filepath.Join(parent, "out")
			holds{".olmgen-work/journal.json": c.text}.put(t, dir)
			_, err := Write(dir, holds{"b": "1"}.files(), WriteOptions{})
			if c.err == "" {
				must(t, err)
				there["out/b"] = "1"
			} else {
				refused(t, err, c.err)
			}
			must(t, os.RemoveAll(filepath.Join(dir, workName)))
			equal(t, "parent", look(t, parent), there)
		})
	}
}
