package output

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lockedFiles are files of two operators with locks of their own, and one of none.
func lockedFiles(text string) Files {
	return Files{{Path: "a/x.yaml", Data: []byte(text), Lock: "a"}, {Path: "shared/a.yaml", Data: []byte("1"), Lock: "a"},
		{Path: "deep/b/y.yaml", Data: []byte("1"), Lock: "deep/b"}, {Path: "z.yaml", Data: []byte("1")}}
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(data)
}

// A change of one operator changes its lock only.
func TestLocksOfDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	sources := func(version string) []Source {
		return []Source{{Bundle: "a." + version, Lock: "a"}, {Bundle: "b.v1", Lock: "deep/b"}}
	}
	mustWrite(t, dir, lockedFiles("1"), WriteOptions{Sources: sources("v1")})
	equal(t, "lock of a", readText(t, dir, "a", LockName), lockComment+`apiVersion: olmgen.dev/v1alpha1
kind: Lock
root: ..
sources:
- bundle: a.v1
files:
  a/x.yaml: `+one+`
  shared/a.yaml: `+one+`
`)
	before := look(t, dir)
	r := mustWrite(t, dir, lockedFiles("2"), WriteOptions{Sources: sources("v2")})
	equal(t, "changed", r.Changed, []string{"a/x.yaml"})
	after := look(t, dir)
	var changed []string
	for p := range after {
		if after[p] != before[p] {
			changed = append(changed, p)
		}
	}
	slices.Sort(changed)
	if text := strings.Join(changed, " "); strings.Contains(text, "deep/b") || strings.Contains(text, "z.yaml") {
		t.Errorf("changed: %s", text)
	}
	if d, err := Check(dir, lockedFiles("2"), sources("v2")); err != nil || len(d) > 0 {
		t.Errorf("%v, %v", d, err)
	}
	// an operator that is gone takes its lock along
	files := lockedFiles("2")[2:]
	mustWrite(t, dir, files, WriteOptions{Sources: sources("v2")[1:]})
	if exists(filepath.Join(dir, "a")) || exists(filepath.Join(dir, "shared")) {
		t.Error("the directory of a is still there")
	}
	if d, err := Check(dir, files, sources("v2")[1:]); err != nil || len(d) > 0 {
		t.Errorf("%v, %v", d, err)
	}
}

// The one lock of an earlier olmgen is read and replaced.
func TestOldLockIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	old := append(lockedFiles("1"), File{Path: "a/gone.yaml", Data: []byte("1")})
	for i := range old {
		old[i].Lock = ""
	}
	mustWrite(t, dir, old, WriteOptions{})
	must(t, os.WriteFile(filepath.Join(dir, "shared", "a.yaml"), []byte("by hand"), 0o666))
	_, err := Write(dir, lockedFiles("2"), WriteOptions{})
	refused(t, err, "edited by hand since olmgen wrote it")
	must(t, os.WriteFile(filepath.Join(dir, "shared", "a.yaml"), []byte("1"), 0o666))
	r := mustWrite(t, dir, lockedFiles("2"), WriteOptions{})
	equal(t, "removed", r.Removed, []string{"a/gone.yaml"})
	equal(t, "changed", r.Changed, []string{"a/x.yaml"})
	if strings.Contains(readText(t, dir, LockName), "a/x.yaml") || !strings.Contains(readText(t, dir, "a", LockName), "a/x.yaml") {
		t.Error("the file is not recorded in the lock of its directory alone")
	}
}

// A directory inside that has a lock of its own tree is not olmgen's to touch, and a part of a tree is no output directory.
func TestLocksOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, filepath.Join(dir, "inner"), holds{"a.yaml": "1"}.files(), WriteOptions{})
	mustWrite(t, dir, lockedFiles("1"), WriteOptions{})
	mustWrite(t, dir, lockedFiles("2"), WriteOptions{})
	equal(t, "inner", readText(t, dir, "inner", "a.yaml"), "1")
	_, err := Write(dir, Files{{Path: "inner/b.yaml", Lock: "inner"}}, WriteOptions{})
	refused(t, err, "not written by olmgen")
	_, err = Write(filepath.Join(dir, "a"), holds{"a.yaml": "1"}.files(), WriteOptions{})
	refused(t, err, "is a part of an output directory")
	must(t, os.WriteFile(filepath.Join(dir, "a", LockName), []byte("<<<<<<< ours\n"), 0o666))
	_, err = Check(dir, lockedFiles("2"), nil)
	refused(t, err, "a/olmgen.lock: ")
	if err := (Files{{Path: "a/olmgen.lock"}, {Path: "a/x", Lock: "a"}}).check(); err == nil {
		t.Error("a file has the path of a lock")
	}
}
