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
	written := Files{{"same.yaml", []byte("a: 1\n")}, {"stale.yaml", []byte("a: 1\nb: 2\n")}, {"edited.yaml", []byte("a: 1\n")}, {"gone.yaml", []byte("a: 1\n")},
		{"sub/left.yaml", []byte("a: 1\n")}, {"kept.yaml", []byte("a: 1\n")}}
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
	now := Files{{"same.yaml", []byte("a: 1\n")}, {"stale.yaml", []byte("a: 1\nb: 3\n")}, {"edited.yaml", []byte("a: 1\n")}, {"gone.yaml", []byte("a: 1\n")},
		{"foreign.yaml", []byte("b: 2\n")}, {"new.yaml", []byte("n: 1\n")}}
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
	files := Files{{"a.yaml", []byte("a: 1\n")}}
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
	got, err := Check(dir, Files{{"a.yaml", []byte("a: 1\n")}}, nil)
	if err != nil || len(got) != 1 || got[0].State != StateMissing {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("Check made a directory")
	}
}
