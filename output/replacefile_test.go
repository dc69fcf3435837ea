package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file is replaced whole or not at all, with its mode, and through a symbolic link.
func TestReplaceFile(t *testing.T) {
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
		if err := d.replaceFile(link, []byte("new")); !errors.Is(err, stopped) {
			t.Errorf("%s: %v", op, err)
		}
		checkDir(t, dir, "old")
	}
	if err := ReplaceFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	checkDir(t, dir, "new")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
	if err := ReplaceFile(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
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
