// Package golden compares rendered files with golden files, which are kept in the repository.
package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
)

// Tree is a set of files: the keys are slash-separated paths relative to a directory, the values the contents.
type Tree map[string][]byte

// Read reads all files below a directory. A directory that does not exist is an empty tree.
func Read(dir string) (Tree, error) {
	tree := Tree{}
	fsys := os.DirFS(dir)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		tree[name], err = fs.ReadFile(fsys, name)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return tree, err
}

// Write writes the files of the tree to a directory and removes all others from it.
func (t Tree) Write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for name, data := range t {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Diff returns the differences file by file, sorted by name, or an empty string if the trees are equal. The names of
// the files of want start with dir.
func Diff(dir string, want, got Tree) string {
	var out bytes.Buffer
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file := filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(name)))
		w, wanted := want[name]
		g, made := got[name]
		switch {
		case !made:
			fmt.Fprintf(&out, "%s: not rendered any more\n", file)
		case !wanted:
			fmt.Fprintf(&out, "%s: rendered, but there is no such golden file:\n%s", file, g)
		default:
			out.Write(diff.Diff(file, w, "rendered", g))
		}
	}
	return out.String()
}

// Check compares got with the golden files below dir. With update it writes got to dir instead.
func Check(tb testing.TB, dir string, got Tree, update bool) {
	tb.Helper()
	if update {
		if err := got.Write(dir); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := Read(dir)
	if err != nil {
		tb.Fatal(err)
	}
	if d := Diff(dir, want, got); d != "" {
		tb.Errorf("%s is stale. If the change is meant, run \"make golden\" and read the diff.\n%s", dir, d)
	}
}

// CheckFile compares got with one golden file. With update it writes got to the file instead.
func CheckFile(tb testing.TB, name string, got []byte, update bool) {
	tb.Helper()
	if update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		tb.Fatalf("%s is not there. Run \"make golden\" or \"make docs\" and read the file.", name)
	} else if err != nil {
		tb.Fatal(err)
	}
	if d := diff.Diff(name, want, "now", got); d != nil {
		tb.Errorf("%s is stale. If the change is meant, run \"make golden\" or \"make docs\" and read the diff.\n%s",
			name, d)
	}
}

// CheckPart is CheckFile for the part of a page between two markers. It returns the page before the part.
func CheckPart(tb testing.TB, name, begin, end, got string, update bool) (before string) {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		tb.Fatalf("%s has no part from %q to %q", name, begin, end)
	}
	CheckFile(tb, name, []byte(before+begin+got+end+after), update)
	return before
}

// EachArchive runs a test for each txtar file of a pattern, under its name without the ending. It is an error if there
// is none.
func EachArchive(t *testing.T, pattern string, run func(t *testing.T, file string, a *txtar.Archive)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no cases: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			run(t, file, a)
		})
	}
}

// CheckArchived is CheckFile for a file of a txtar archive, which a reads from name. A file that the archive does not
// have is an error, or is added.
func CheckArchived(tb testing.TB, name string, a *txtar.Archive, file string, got []byte, update bool) {
	tb.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == file })
	if i < 0 && !update {
		tb.Errorf("%s has no file %s; it would be:\n%s", name, file, got)
		return
	}
	if i < 0 {
		i = len(a.Files)
		a.Files = append(a.Files, txtar.File{Name: file})
	}
	if update {
		a.Files[i].Data = got
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if d := cmp.Diff(string(a.Files[i].Data), string(got)); d != "" {
		tb.Errorf("%s: %s (-want +got):\n%s", name, file, d)
	}
}
