package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/olmgen/olmgen/manifest"
)

func hintOf(err error) string {
	var h *manifest.HintError
	if !errors.As(err, &h) {
		return ""
	}
	return h.Hint()
}

// TestWrite renders a first tree, lets a person do something to it, and renders a second.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second holds
		hand          func(t *testing.T, dir string) // what a person does in between
		force         bool
		want          holds // what is there in the end; if nil, what the second render says
		result        Result
		err           string
	}{
		{
			name:   "changed, added, removed",
			first:  holds{"a.yaml": "1", "b.yaml": "1", "rbac/c.yaml": "1"},
			second: holds{"a.yaml": "1", "b.yaml": "2", "crds/d.yaml": "1"},
			result: Result{Added: []string{"crds/d.yaml"}, Changed: []string{"b.yaml"}, Unchanged: []string{"a.yaml"}, Removed: []string{"rbac/c.yaml"}},
		},
		{
			name:   "everything removed",
			first:  holds{"a.yaml": "1", "x/y/z.yaml": "1"},
			second: holds{},
			result: Result{Removed: []string{"a.yaml", "x/y/z.yaml"}},
		},
		{
			name:   "a file becomes a directory and the other way round",
			first:  holds{"a": "1", "b/c": "1"},
			second: holds{"a/x": "1", "b": "1"},
			result: Result{Added: []string{"a/x", "b"}, Removed: []string{"a", "b/c"}},
		},
		{
			name:   "case of a name changes",
			first:  holds{"Role.yaml": "1"},
			second: holds{"role.yaml": "1"},
			result: Result{Added: []string{"role.yaml"}, Removed: []string{"Role.yaml"}},
		},
		{
			name:   "foreign files, links and empty directories stay",
			first:  holds{"a.yaml": "1", "rbac/b.yaml": "1", "gone/c.yaml": "1"},
			second: holds{"a.yaml": "2"},
			hand: func(t *testing.T, dir string) {
				holds{"README.md": "mine", "rbac/patch.yaml": "mine", "gone/empty/": "", "link": "-> /nowhere", "dirlink": "-> rbac", "own/deep/x": "mine"}.put(t, dir)
			},
			want:   holds{"a.yaml": "2", "README.md": "mine", "rbac/patch.yaml": "mine", "gone/empty/": "", "link": "-> /nowhere", "dirlink": "-> rbac", "own/deep/x": "mine"},
			result: Result{Changed: []string{"a.yaml"}, Removed: []string{"gone/c.yaml", "rbac/b.yaml"}},
		},
		{
			name:   "a file deleted by hand comes back",
			first:  holds{"a.yaml": "1", "b.yaml": "1"},
			second: holds{"a.yaml": "1", "b.yaml": "1"},
			hand:   func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "a.yaml"))) },
			result: Result{Added: []string{"a.yaml"}, Unchanged: []string{"b.yaml"}},
		},
		{
			name:   "a foreign file with the same bytes is taken over",
			first:  holds{"a.yaml": "1"},
			second: holds{"a.yaml": "1", "b.yaml": "same"},
			hand:   func(t *testing.T, dir string) { holds{"b.yaml": "same"}.put(t, dir) },
			result: Result{Unchanged: []string{"a.yaml", "b.yaml"}},
		},
		{
			name:   "an edit that is what olmgen wants too is none",
			first:  holds{"a.yaml": "1"},
			second: holds{"a.yaml": "2"},
			hand:   func(t *testing.T, dir string) { holds{"a.yaml": "2"}.put(t, dir) },
			result: Result{Unchanged: []string{"a.yaml"}},
		},
		{
			name:   "an edited file that goes is kept",
			first:  holds{"a.yaml": "1", "b/c.yaml": "1"},
			second: holds{"a.yaml": "1"},
			hand:   func(t *testing.T, dir string) { holds{"b/c.yaml": "mine"}.put(t, dir) },
			want:   holds{"a.yaml": "1", "b/c.yaml": "mine"},
			result: Result{Unchanged: []string{"a.yaml"}, Kept: []string{"b/c.yaml"}},
		},
		{
			name:   "an edited file that goes is removed with force",
			first:  holds{"a.yaml": "1", "b/c.yaml": "1"},
			second: holds{"a.yaml": "1"},
			hand:   func(t *testing.T, dir string) { holds{"b/c.yaml": "mine"}.put(t, dir) },
			force:  true,
			result: Result{Unchanged: []string{"a.yaml"}, Removed: []string{"b/c.yaml"}},
		},
		{
			name:   "a link in place of a file that goes is kept",
			first:  holds{"a.yaml": "1"},
			second: holds{},
			hand: func(t *testing.T, dir string) {
				must(t, os.Remove(filepath.Join(dir, "a.yaml")))
				holds{"a.yaml": "-> ../elsewhere"}.put(t, dir)
			},
			want:   holds{"a.yaml": "-> ../elsewhere"},
			result: Result{Kept: []string{"a.yaml"}},
		},
		{
			name:   "an edited file is overwritten with force",
			first:  holds{"a.yaml": "1"},
			second: holds{"a.yaml": "2"},
			hand:   func(t *testing.T, dir string) { holds{"a.yaml": "mine"}.put(t, dir) },
			force:  true,
			result: Result{Changed: []string{"a.yaml"}},
		},
		{
			name:   "an edited file is in the way",
			first:  holds{"a.yaml": "1"},
			second: holds{"a.yaml": "1"},
			hand:   func(t *testing.T, dir string) { holds{"a.yaml": "mine"}.put(t, dir) },
			err:    "edited by hand since olmgen wrote it: OUT/a.yaml",
		},
		{
			name:   "an edited file is in the way of a directory",
			first:  holds{"a": "1"},
			second: holds{"a/b": "1"},
			hand:   func(t *testing.T, dir string) { holds{"a": "mine"}.put(t, dir) },
			err:    "edited by hand since olmgen wrote it: OUT/a",
		},
		{
			name:   "at most five edited files are named",
			first:  holds{"a": "1", "b": "1", "c": "1", "d": "1", "e": "1", "f": "1", "g": "1"},
			second: holds{"a": "2", "b": "2", "c": "2", "d": "2", "e": "2", "f": "2", "g": "2"},
			hand: func(t *testing.T, dir string) {
				holds{"a": "3", "b": "3", "c": "3", "d": "3", "e": "3", "f": "3", "g": "3"}.put(t, dir)
			},
			err: "OUT/a, OUT/b, OUT/c, OUT/d, OUT/e and 2 more",
		},
		{
			name:   "a foreign file is in the way, force or not",
			first:  holds{"a.yaml": "1"},
			second: holds{"b.yaml": "1"},
			hand:   func(t *testing.T, dir string) { holds{"b.yaml": "mine"}.put(t, dir) },
			force:  true,
			err:    "in the way, and not written by olmgen: OUT/b.yaml",
		},
		{
			name:   "a foreign file is in the way of a directory",
			first:  holds{"a.yaml": "1"},
			second: holds{"rbac/b.yaml": "1"},
			hand:   func(t *testing.T, dir string) { holds{"rbac": "mine"}.put(t, dir) },
			err:    "in the way, and not written by olmgen: OUT/rbac",
		},
		{
			name:   "a directory with foreign files is in the way of a file",
			first:  holds{"a/b": "1"},
			second: holds{"a": "1"},
			hand:   func(t *testing.T, dir string) { holds{"a/mine": "mine"}.put(t, dir) },
			err:    "in the way, and not written by olmgen: OUT/a",
		},
		{
			name:   "a link is in the way of a file, force or not",
			first:  holds{"a.yaml": "1"},
			second: holds{"b.yaml": "1"},
			hand:   func(t *testing.T, dir string) { holds{"b.yaml": "-> ../outside"}.put(t, dir) },
			force:  true,
			err:    "symbolic links: OUT/b.yaml",
		},
		{
			name:   "a link is in the way of a directory",
			first:  holds{"a.yaml": "1"},
			second: holds{"rbac/b.yaml": "1"},
			hand:   func(t *testing.T, dir string) { holds{"rbac": "-> .."}.put(t, dir) },
			err:    "symbolic links: OUT/rbac",
		},
		{
			name:   "the lock is a link",
			first:  holds{"a.yaml": "1"},
			second: holds{"a.yaml": "2"},
			hand: func(t *testing.T, dir string) {
				must(t, os.Rename(filepath.Join(dir, LockName), filepath.Join(dir, "l")))
				holds{LockName: "-> l"}.put(t, dir)
			},
			err: "OUT/olmgen.lock is not a regular file",
		},
		{
			name:   "the lock is broken",
			first:  holds{"a.yaml": "1"},
			second: holds{"a.yaml": "2"},
			hand:   func(t *testing.T, dir string) { holds{LockName: "<<<<<<< ours\n"}.put(t, dir) },
			err:    "OUT/olmgen.lock: ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			mustWrite(t, dir, c.first.files(), WriteOptions{})
			equal(t, "first tree", look(t, dir), c.first)
			if c.hand != nil {
				c.hand(t, dir)
			}
			before := look(t, dir)
			result, err := Write(dir, c.second.files(), WriteOptions{Force: c.force})
			clean(t, dir)
			if c.err != "" {
				refused(t, err, strings.ReplaceAll(c.err, "OUT/", dir+"/"))
				equal(t, "tree after an error", look(t, dir), before)
				return
			}
			must(t, err)
			if c.want == nil {
				c.want = c.second
			}
			equal(t, "tree", look(t, dir), c.want)
			equal(t, "result", result, c.result)

			// Once more: nothing may happen.
			info := lstat(t, dir)
			mustWrite(t, dir, c.second.files(), WriteOptions{Force: c.force})
			if !os.SameFile(info, lstat(t, dir)) {
				t.Error("the directory was replaced although nothing changed")
			}
		})
	}
}

func TestWriteFresh(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	tree := holds{"a.yaml": "1", "x/y.yaml": "2", "empty.yaml": ""}
	r := mustWrite(t, dir, tree.files(), WriteOptions{})
	equal(t, "tree", look(t, dir), tree)
	equal(t, "result", r, Result{Added: []string{"a.yaml", "empty.yaml", "x/y.yaml"}})
	mode := func(p string) string { return lstat(t, filepath.Join(dir, p)).Mode().String() }
	if runtime.GOOS != "windows" {
		probe := t.TempDir()
		holds{"d/f": ""}.put(t, probe)
		equal(t, "mode of a directory", mode("x"), lstat(t, filepath.Join(probe, "d")).Mode().String())
		equal(t, "mode of a file", mode("x/y.yaml"), lstat(t, filepath.Join(probe, "d", "f")).Mode().String())
	}
}

func TestWriteNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, nil, WriteOptions{})
	equal(t, "tree", look(t, dir), holds{})
	lstat(t, filepath.Join(dir, LockName))
}

// TestWriteUnchanged checks that what does not change keeps its inode and its time.
func TestWriteUnchanged(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	mustWrite(t, dir, holds{"a.yaml": "1", "x/b.yaml": "1"}.files(), WriteOptions{})
	holds{"README.md": "mine", "x/mine": "mine"}.put(t, dir)
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	names := []string{parent, dir}
	for _, p := range []string{"a.yaml", "x/b.yaml", "README.md", "x/mine", LockName, "x", "."} {
		must(t, os.Chtimes(filepath.Join(dir, p), old, old))
		names = append(names, filepath.Join(dir, p))
	}
	must(t, os.Chtimes(parent, old, old))

	same := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if m := lstat(t, name).ModTime(); !m.Equal(old) {
				t.Errorf("%s was touched: %v", name, m)
			}
		}
	}
	before := lstat(t, filepath.Join(dir, "a.yaml"))
	foreign := lstat(t, filepath.Join(dir, "x/mine"))
	mustWrite(t, dir, holds{"a.yaml": "1", "x/b.yaml": "1"}.files(), WriteOptions{})
	same(names...)

	mustWrite(t, dir, holds{"a.yaml": "1", "x/b.yaml": "2"}.files(), WriteOptions{})
	same(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "README.md"), filepath.Join(dir, "x/mine"))
	if !os.SameFile(before, lstat(t, filepath.Join(dir, "a.yaml"))) {
		t.Error("an unchanged file became another file")
	}
	if !os.SameFile(foreign, lstat(t, filepath.Join(dir, "x/mine"))) {
		t.Error("a foreign file became another file")
	}
}

func TestWriteKeepsModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, holds{"a.yaml": "1", "x/b.yaml": "1"}.files(), WriteOptions{})
	holds{"mine/file": "mine", "shut/file": "mine"}.put(t, dir)
	modes := map[string]os.FileMode{".": 0o750, "a.yaml": 0o600, "x": 0o711, "mine": 0o700, "mine/file": 0o640, "shut": 0o555}
	for p, m := range modes {
		must(t, os.Chmod(filepath.Join(dir, p), m))
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "shut"), 0o755) })
	mustWrite(t, dir, holds{"a.yaml": "2", "x/b.yaml": "1", "x/c.yaml": "1"}.files(), WriteOptions{})
	for p, m := range modes {
		if got := lstat(t, filepath.Join(dir, p)).Mode().Perm(); got != m {
			t.Errorf("%s: mode %v, want %v", p, got, m)
		}
	}
}

func TestWriteThroughLinkedDirectory(t *testing.T) {
	parent := t.TempDir()
	link := filepath.Join(parent, "link")
	holds{"link": "-> real/out", "real/out/mine": "mine"}.put(t, parent)
	mustWrite(t, link, holds{"a.yaml": "1"}.files(), WriteOptions{})
	mustWrite(t, link, holds{"a.yaml": "2"}.files(), WriteOptions{})
	equal(t, "tree", look(t, parent), holds{"link": "-> real/out", "real/out/mine": "mine", "real/out/a.yaml": "2"})
	clean(t, filepath.Join(parent, "real", "out"))
}

// TestWriteWithoutSwaps takes the way of systems that cannot swap two files.
func TestWriteWithoutSwaps(t *testing.T) {
	d := newDisk()
	noSwaps(d)
	dir := filepath.Join(t.TempDir(), "out")
	holds{"mine": "mine"}.put(t, dir)
	for _, text := range []string{"1", "2"} {
		_, err := d.update(dir, holds{"a.yaml": text}.files(), WriteOptions{})
		must(t, err)
		clean(t, dir)
		equal(t, "tree", look(t, dir), holds{"a.yaml": text, "mine": "mine"})
	}
}

func BenchmarkWrite(b *testing.B) {
	tree := holds{}
	for i := range 200 {
		tree[fmt.Sprintf("dir%d/object-%d.yaml", i%10, i)] = strings.Repeat("apiVersion: v1\nkind: ConfigMap\n", 100)
	}
	files := tree.files()
	dir := filepath.Join(b.TempDir(), "out")
	write := func() {
		if _, err := Write(dir, files, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			must(b, os.RemoveAll(dir))
			write()
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		write()
		for b.Loop() {
			write()
		}
	})
	b.Run("one changed", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			files[0].Data = fmt.Append(nil, n)
			write()
		}
	})
}
