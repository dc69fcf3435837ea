//go:build unix && !solaris && !illumos && !aix

package output

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWriteRefusesSpecialFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	holds{"x/mine": "mine"}.put(t, dir)
	must(t, syscall.Mkfifo(filepath.Join(dir, "x", "pipe"), 0o666))
	_, err := Write(dir, holds{"a.yaml": "1"}.files(), WriteOptions{})
	refused(t, err, filepath.Join(dir, "x", "pipe")+" is neither a file")
	clean(t, dir)
}

// TestGuardIsNoLink checks that a link planted where the guard goes makes no file elsewhere.
func TestGuardIsNoLink(t *testing.T) {
	parent := t.TempDir()
	there := holds{"out/.olmgen-work/.gitignore": "*\n", "out/.olmgen-work/lock": "-> ../elsewhere", "out/mine": "mine"}
	there.put(t, parent)
	_, err := Write(filepath.Join(parent, "out"), holds{"a.yaml": "1"}.files(), WriteOptions{})
	refused(t, err, "cannot write "+filepath.Join(parent, "out"))
	equal(t, "parent", look(t, parent), there)
}

// TestWriteWithoutLocks is about file systems without locks: nothing is written, as nothing keeps a second run away.
func TestWriteWithoutLocks(t *testing.T) {
	for _, there := range []holds{nil, {"out/mine": "mine"}} {
		parent := t.TempDir()
		there.put(t, parent)
		d := newDisk()
		d.lock = func(*os.File) error { return errors.ErrUnsupported }
		_, err := d.update(filepath.Join(parent, "out"), holds{"a.yaml": "1"}.files(), WriteOptions{})
		refused(t, err, "cannot lock ")
		if there == nil {
			there = holds{}
		}
		equal(t, "parent", look(t, parent), there)
	}
}

// TestWriteForeignOwner is about containers: they run as root and write to directories of a user.
func TestWriteForeignOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, holds{"a.yaml": "1", "x/b.yaml": "1"}.files(), WriteOptions{})
	names := []string{".", "a.yaml", "x"}
	for _, p := range names {
		must(t, os.Chown(filepath.Join(dir, p), 1234, 2345))
	}
	mustWrite(t, dir, holds{"a.yaml": "2", "x/b.yaml": "1"}.files(), WriteOptions{})
	for _, p := range names {
		st := lstat(t, filepath.Join(dir, p)).Sys().(*syscall.Stat_t)
		if st.Uid != 1234 || st.Gid != 2345 {
			t.Errorf("%s belongs to %d:%d now", p, st.Uid, st.Gid)
		}
	}
}

// TestReadOfWhatWasAFile reads files that somebody replaces between the listing and the reading: a pipe does not make
// olmgen wait, and a link is not followed.
func TestReadOfWhatWasAFile(t *testing.T) {
	dir := t.TempDir()
	holds{"file": "1", "link": "-> file", "dir/": ""}.put(t, dir)
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666))
	for _, name := range []string{"link", "dir", "pipe", "gone"} {
		if _, err := readDigest(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	got, err := readDigest(filepath.Join(dir, "file"))
	must(t, err)
	equal(t, "digest", got, one)
}
