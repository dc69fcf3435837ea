package output

import (
	"fmt"
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
		err   string
	}{
		{name: "file", there: holds{"out": "mine"}, dir: "out", err: "is not a directory"},
		{name: "link to a file", there: holds{"out": "-> f", "f": "mine"}, dir: "out", err: "is not a directory"},
		{name: "link to nothing", there: holds{"out": "-> gone"}, dir: "out", err: "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("other texts")
			}
			parent := t.TempDir()
			c.there.put(t, parent)
			before := look(t, parent)
			_, err := Write(filepath.Join(parent, c.dir), holds{"a.yaml": "1"}.files(), WriteOptions{Force: true})
			refused(t, err, c.err)
			equal(t, "parent", look(t, parent), before)
		})
	}
}

func TestWriteRefusesSystemDirectories(t *testing.T) {
	files := holds{"a.yaml": "1"}.files()
	_, err := Write("", files, WriteOptions{})
	if err == nil {
		t.Error("no error for no directory")
	}
	_, err = Write(filepath.VolumeName(t.TempDir())+string(filepath.Separator), files, WriteOptions{})
	refused(t, err, "is the root of a file system")
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
	if n := tr.unowned(); n != maxForeign {
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
