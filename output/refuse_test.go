package output

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestWriteRefusesDirectories names directories that are no output directories.
func TestWriteRefusesDirectories(t *testing.T) {
	for _, c := range []struct {
		name  string
		there holds
		dir   string
		cwd   string // the working directory, if it matters
		err   string
	}{
		{name: "file", there: holds{"out": "mine"}, dir: "out", err: "is not a directory"},
		{name: "link to a file", there: holds{"out": "-> f", "f": "mine"}, dir: "out", err: "is not a directory"},
		{name: "link to nothing", there: holds{"out": "-> gone"}, dir: "out", err: "no such file"},
		{name: "git repository", there: holds{"out/.git/HEAD": "x"}, dir: "out", err: "holds .git"},
		{name: "git worktree", there: holds{"out/.git": "gitdir: x"}, dir: "out", err: "holds .git"},
		{name: "git submodule", there: holds{"out/sub/.git": "gitdir: x"}, dir: "out", err: "holds sub/.git"},
		{name: "owned git", there: holds{"out/.git/HEAD": "x", "out/" + LockName: lockText("a/.git2")}, dir: "out", err: "holds .git"},
		{name: "current directory", there: holds{"out/": ""}, dir: "out", cwd: "out", err: "is or holds the current directory"},
		{name: "above the current directory", there: holds{"out/a/b/": ""}, dir: "out", cwd: "out/a/b", err: "is or holds the current directory"},
		{name: "current directory through a link", there: holds{"out/a/": "", "l": "-> out"}, dir: "l", cwd: "out/a", err: "is or holds the current directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("other texts")
			}
			parent := t.TempDir()
			c.there.put(t, parent)
			if c.cwd != "" {
				t.Chdir(filepath.Join(parent, c.cwd))
			}
			before := look(t, parent)
			_, err := Write(filepath.Join(parent, c.dir), holds{"a.yaml": "1"}.files(), WriteOptions{Force: true})
			refused(t, err, c.err)
			equal(t, "parent", look(t, parent), before)
		})
	}
}

func lockText(paths ...string) string {
	files := map[string]string{}
	for _, p := range paths {
		files[p] = digestOf(nil)
	}
	l, _ := newLock("", nil, files)
	return string(l.encode())
}

func TestWriteRefusesSystemDirectories(t *testing.T) {
	files := holds{"a.yaml": "1"}.files()
	_, err := Write("", files, WriteOptions{})
	if err == nil {
		t.Error("no error for no directory")
	}
	_, err = Write(filepath.VolumeName(t.TempDir())+string(filepath.Separator), files, WriteOptions{})
	refused(t, err, "is the root of a file system")
	if i, err := os.Lstat("/proc"); err == nil && i.IsDir() && runtime.GOOS == "linux" {
		_, err := Write("/proc", files, WriteOptions{})
		refused(t, err, "is a mount point")
	}
}

func TestWriteRefusesRelativeCurrentDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{".", "..", "./x/.."} {
		_, err := Write(dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
		refused(t, err, "is or holds the current directory")
	}
}

// TestTooManyForeign asks about entries that are not there: to make them takes seconds.
func TestTooManyForeign(t *testing.T) {
	file := lstat(t, "refuse_test.go")
	tr := newTree(nil)
	check := tr.noOutput(newTarget("out", "/out"))
	for i := range maxForeign {
		p := fmt.Sprint(i)
		tr.info[p] = file
		must(t, check(p))
	}
	tr.info["one more"] = file
	refused(t, check("one more"), "out holds more than 20000 files")

	tr = newTree(nil)
	tr.locks[""] = recorded{}
	tr.locks["x"] = recorded{}
	tr.files["x/owned"] = one
	for i := range maxForeign {
		tr.paths = append(tr.paths, fmt.Sprint(i))
	}
	tr.paths = append(tr.paths, "x", "x/owned", LockName, "x/"+LockName)
	if n := tr.foreign(); n != maxForeign {
		t.Errorf("%d entries are foreign", n)
	}
}

func TestWriteRefusesFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "out")
	_, err := Write(dir, Files{{Path: "../x"}}, WriteOptions{})
	if err == nil {
		t.Error("no error for a path that leaves the directory")
	}
	_, err = Write(dir, nil, WriteOptions{Sources: []Source{{Source: "x"}}})
	if err == nil {
		t.Error("no error for a source without bundle")
	}
	if exists(filepath.Dir(dir)) {
		t.Error("something was written")
	}
}
