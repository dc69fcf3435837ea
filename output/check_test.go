package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckNamesWhatDiffers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	written := Files{{Path: "same.yaml", Data: []byte("a: 1\n")}, {Path: "stale.yaml", Data: []byte("a: 1\nb: 2\n")}, {Path: "edited.yaml", Data: []byte("a: 1\n")}, {Path: "gone.yaml", Data: []byte("a: 1\n")},
		{Path: "sub/left.yaml", Data: []byte("a: 1\n")}, {Path: "kept.yaml", Data: []byte("a: 1\n")}}
	sources := []Source{{Bundle: "x.v1"}}
	if _, err := Write(dir, written, WriteOptions{Sources: sources}); err != nil {
		t.Fatal(err)
	}
	if got, err := Check(dir, written, sources); err != nil || len(got) > 0 {
		t.Fatalf("what was just written differs: %v, %v", got, err)
	}
	for name, data := range map[string]string{"edited.yaml": "a: 2\n", "kept.yaml": "a: 2\n", "foreign.yaml": "b: 1\n", "readme.txt": "not looked at\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "gone.yaml")); err != nil {
		t.Fatal(err)
	}
	before := look(t, dir)
	now := Files{{Path: "same.yaml", Data: []byte("a: 1\n")}, {Path: "stale.yaml", Data: []byte("a: 1\nb: 3\n")}, {Path: "edited.yaml", Data: []byte("a: 1\n")}, {Path: "gone.yaml", Data: []byte("a: 1\n")},
		{Path: "foreign.yaml", Data: []byte("b: 2\n")}, {Path: "new.yaml", Data: []byte("n: 1\n")}}
	got, err := Check(dir, now, sources)
	if err != nil {
		t.Fatal(err)
	}
	states, diffs := map[string]State{}, map[string]string{}
	for _, d := range got {
		states[d.Path], diffs[d.Path] = d.State, string(d.Diff)
	}
	want := map[string]State{"stale.yaml": StateStale, "edited.yaml": StateEdited, "gone.yaml": StateMissing, "new.yaml": StateMissing,
		"foreign.yaml": StateForeign, "sub/left.yaml": StateLeftOver, "kept.yaml": StateKept}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("--- a/stale.yaml\n+++ b/stale.yaml\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n", diffs["stale.yaml"]); diff != "" {
		t.Error(diff)
	}
	for path, start := range map[string]string{"new.yaml": "--- /dev/null\n+++ b/new.yaml\n", "sub/left.yaml": "--- a/sub/left.yaml\n+++ /dev/null\n"} {
		if !strings.HasPrefix(diffs[path], start) {
			t.Errorf("%s: %s", path, diffs[path])
		}
	}
	if diff := cmp.Diff(before, look(t, dir)); diff != "" {
		t.Errorf("Check wrote: %s", diff)
	}
}

func TestCheckOfTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	files := Files{{Path: "a.yaml", Data: []byte("a: 1\n")}}
	if _, err := Write(dir, files, WriteOptions{Sources: []Source{{Bundle: "x.v1"}}}); err != nil {
		t.Fatal(err)
	}
	got, err := Check(dir, files, []Source{{Bundle: "x.v2"}})
	if err != nil || len(got) != 1 || got[0].Path != LockName || !strings.Contains(string(got[0].Diff), "+- bundle: x.v2") {
		t.Errorf("another bundle with the same files: %+v, %v", got, err)
	}
}

func TestCheckOfADirectoryThatIsNotThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "out")
	got, err := Check(dir, Files{{Path: "a.yaml", Data: []byte("a: 1\n")}}, nil)
	if err != nil || len(got) != 1 || got[0].State != StateMissing {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("Check made a directory")
	}
}

// What is in place of a file, or of a directory above it, is told as it is, and what Write makes of it agrees.
func TestCheckSaysWhatIsInTheWay(t *testing.T) {
	file := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("mine\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Symlink(t.TempDir(), filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
		}
	}
	directory := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
			file(filepath.Join(name, "note.txt"))(t, dir)
		}
	}
	for _, c := range []struct {
		name    string
		before  string // what olmgen wrote; "" for nothing but another file
		remove  string
		put     func(*testing.T, string)
		now     string
		path    string
		want    State
		refused bool // by Write
	}{
		{"a link for a directory", "", "", link("sub"), "sub/a.yaml", "sub/a.yaml", StateInLink, true},
		{"a link for a written directory", "sub/a.yaml", "sub", link("sub"), "sub/a.yaml", "sub/a.yaml", StateInLink, true},
		{"a foreign file for a directory", "", "", file("sub"), "sub/deep/a.yaml", "sub/deep/a.yaml", StateInFile, true},
		{"a file of olmgen's for a directory", "sub", "", nil, "sub/a.yaml", "sub/a.yaml", StateMissing, false},
		{"a link for a file", "a.yaml", "a.yaml", link("a.yaml"), "a.yaml", "a.yaml", StateLink, true},
		{"a directory for a file", "a.yaml", "a.yaml", directory("a.yaml"), "a.yaml", "a.yaml", StateDir, true},
		{"a directory for a file that is not rendered any more", "a.yaml", "a.yaml", directory("a.yaml"), "", LockName, StateStale, false},
		{"a link for a file that is not rendered any more", "a.yaml", "a.yaml", link("a.yaml"), "", "a.yaml", StateKeptLink, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			files := func(path string) Files {
				files := Files{{Path: "other.yaml", Data: []byte("o: 1\n")}}
				if path != "" {
					files = append(files, File{Path: path, Data: []byte("a: 1\n")})
				}
				return files
			}
			if _, err := Write(dir, files(c.before), WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			if c.remove != "" {
				if err := os.RemoveAll(filepath.Join(dir, c.remove)); err != nil {
					t.Fatal(err)
				}
			}
			if c.put != nil {
				c.put(t, dir)
			}
			got, err := Check(dir, files(c.now), nil)
			if err != nil {
				t.Fatal(err)
			}
			states := map[string]State{}
			for _, d := range got {
				states[d.Path] = d.State
			}
			if states[c.path] != c.want || c.before != "sub" && len(got) != 1 {
				t.Errorf("%q, want %s: %s", states, c.path, c.want)
			}
			if _, err := Write(dir, files(c.now), WriteOptions{}); (err != nil) != c.refused {
				t.Errorf("Write: %v", err)
			}
		})
	}
}
