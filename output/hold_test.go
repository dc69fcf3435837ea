package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A file is replaced whole or not at all, with its mode, and through a symbolic link.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.yaml", link); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	for _, op := range []string{"create", "write", "sync", "chmod", "rename"} {
		d := newDisk()
		d.before = func(o, _ string) error {
			if o == op {
				return stopped
			}
			return nil
		}
		h, err := newDisk().hold(link, true)
		if err != nil {
			t.Fatal(err)
		}
		h.d = d
		if err := WriteFiles([]Content{{h, []byte("new")}}, true); !errors.Is(err, stopped) {
			t.Errorf("%s: %v", op, err)
		}
		h.d = newDisk()
		h.Release()
		checkDir(t, dir, "old")
	}
	h, err := HoldFile(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles([]Content{{h, []byte("new")}}, false); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := WriteFiles([]Content{{h, []byte("new")}}, true); err != nil {
		t.Fatal(err)
	}
	h.Release()
	checkDir(t, dir, "new")
	// Of several files none is written if one cannot be.
	for _, other := range []string{"", "a.yaml/below"} {
		first, err1 := HoldFile(link)
		second, err2 := HoldFile(filepath.Join(dir, other))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if err := WriteFiles([]Content{{first, []byte("newer")}, {second, []byte("newer")}}, true); err == nil {
			t.Error("no error", other)
		}
		first.Release()
		second.Release()
		checkDir(t, dir, "new")
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
}

// checkDir fails if there is more than the file and its link, or if the file is not as wanted.
func checkDir(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a.yaml")); string(got) != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.yaml")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is a file", err)
	}
}

// A run that holds a directory or a file is named by the second one, and leaves nothing. What a killed one left goes.
func TestHold(t *testing.T) {
	for _, name := range []string{"out", "a/b/out"} {
		dir := t.TempDir()
		out := filepath.Join(dir, name)
		left := newTarget(out, out)
		if name == "out" { // a run was here
			holds{stageName: "half"}.put(t, string(left.work))
		}
		h, err := Hold(out)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Hold(out)
		refused(t, err, fmt.Sprintf("another olmgen is writing to %s (process %d)", out, os.Getpid()))
		_, err = Write(out, holds{"a.yaml": "2"}.files(), WriteOptions{})
		refused(t, err, "another olmgen is writing to "+out)
		h.Release()
		_ = os.Remove(left.dir) // was there before, of the run that was killed
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: left %v, %v", name, entries, err)
		}
		if h, err = Hold(out); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Write(holds{"a.yaml": "2"}.files(), WriteOptions{}); err != nil {
			t.Error(err)
		}
		h.Release()
		if got, err := os.ReadFile(filepath.Join(out, "a.yaml")); string(got) != "2" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// Where olmgen may not write, nobody else does: a run reads without a guard, and the write says why it cannot be.
func TestHoldWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	h, err := HoldFile(filepath.Join(dir, "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	if err := WriteFiles([]Content{{h, nil}}, true); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
