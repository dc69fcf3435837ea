package output

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// toCRLF changes the line ends of every file of a directory to those of Windows, as git does with core.autocrlf.
func toCRLF(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), 0o666)
	}))
}

// A Windows checkout is as rendered, and is rendered again: only lines count.
func TestWindowsCheckout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	files := func(b string) Files {
		return Files{{Path: "a/x.yaml", Data: []byte("a: 1\nb: " + b + "\n"), Lock: "a"}, {Path: "b.yaml", Data: []byte("c: 1\n")}}
	}
	o := WriteOptions{Sources: []Source{{Bundle: "x.v1", Lock: "a"}}}
	old := append(files("2"), File{Path: "gone.yaml", Data: []byte("g: 1\n")})
	mustWrite(t, dir, old, o)
	toCRLF(t, dir)
	if d, err := Check(dir, old, o.Sources); err != nil || len(d) > 0 {
		t.Errorf("%v, %v", d, err)
	}
	if n := CRLF(dir, old); n != 3 {
		t.Errorf("%d files with CRLF", n)
	}
	before := look(t, dir)
	mustWrite(t, dir, old, o)
	equal(t, "after a render without changes", look(t, dir), before)

	d, err := Check(dir, files("3"), o.Sources)
	must(t, err)
	if len(d) != 2 || d[0].State != StateStale || d[1].State != StateLeftOver {
		t.Fatalf("%+v", d)
	}
	equal(t, "diff", string(d[0].Diff), "--- a/a/x.yaml\n+++ b/a/x.yaml\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n")
	r := mustWrite(t, dir, files("3"), o)
	equal(t, "changed", r.Changed, []string{"a/x.yaml"})
	equal(t, "removed", r.Removed, []string{"gone.yaml"})
	equal(t, "b.yaml", readText(t, dir, "b.yaml"), "c: 1\r\n")

	must(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte("c: by hand\r\n"), 0o666))
	if d, err = Check(dir, files("3"), o.Sources); err != nil || len(d) != 1 || d[0].State != StateEdited {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = Write(dir, files("3"), o)
	refused(t, err, "edited by hand since olmgen wrote it")
}
