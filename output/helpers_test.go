package output

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// holds is the content of a tree for a test: path to text. A path that ends in / is a directory without files, a text
// that starts with "-> " a symbolic link.
type holds map[string]string

// files returns the content as Write takes it.
func (h holds) files() Files {
	var fs Files
	for p, text := range h {
		fs = append(fs, File{Path: p, Data: []byte(text)})
	}
	slices.SortFunc(fs, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return fs
}

// put writes the content below dir the way a person would.
func (h holds) put(t testing.TB, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o777))
	for p, text := range h {
		name := filepath.Join(dir, p)
		if strings.HasSuffix(p, "/") {
			must(t, os.MkdirAll(name, 0o777))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			must(t, os.Symlink(to, name))
			continue
		}
		must(t, os.WriteFile(name, []byte(text), 0o666))
	}
}

// look reads what is below dir, locks left out.
func look(t testing.TB, dir string) holds {
	t.Helper()
	h := holds{}
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		p := filepath.ToSlash(rel)
		switch {
		case e.IsDir():
			inside, err := os.ReadDir(name)
			if err == nil && len(inside) == 0 {
				h[p+"/"] = ""
			}
			return err
		case e.Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			h[p] = "-> " + to
			return err
		case e.Name() == LockName && e.Type() == 0:
			return nil
		}
		data, err := os.ReadFile(name)
		h[p] = string(data)
		return err
	}))
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t testing.TB, dir string, files Files, o WriteOptions) Result {
	t.Helper()
	r, err := Write(dir, files, o)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	clean(t, dir)
	return r
}

// clean checks that nothing is left beside dir.
func clean(t testing.TB, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*.olmgen-*"))
	must(t, err)
	if inside := filepath.Join(dir, workName); exists(inside) {
		left = append(left, inside)
	}
	if len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, d)
	}
}

func lstat(t testing.TB, name string) fs.FileInfo {
	t.Helper()
	i, err := os.Lstat(name)
	must(t, err)
	return i
}

// refused checks that err says what, and that it has a hint.
func refused(t testing.TB, err error, what string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", what)
	}
	if !strings.Contains(err.Error(), what) {
		t.Errorf("error %q does not say %q", err, what)
	}
	if hintOf(err) == "" {
		t.Errorf("error %q has no hint", err)
	}
	if text := err.Error(); strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
		t.Errorf("error %q ends with a period or has several lines", err)
	}
}
