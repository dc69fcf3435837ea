package output

import (
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// TestCheckDuringWrite checks a directory while a child writes one tree and then the other. Each check sees all of one
// tree: it never fails, and never finds a part of the differences between the two.
func TestCheckDuringWrite(t *testing.T) {
	fuzztest.Seconds(t)
	a, b := versions(killFiles)
	for _, c := range []struct {
		name   string
		change func(d *disk)
	}{
		{"exchange", func(*disk) {}},
		{"two renames", noSwaps},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			written(t, dir, a)
			all := len(mustCheck(t, dir, b.files()))
			done := make(chan error, 1)
			go func() { done <- alternate(c.change, dir, b.files(), a.files()) }()
			seen, checks := map[int]int{}, 0
			for writing := true; writing; checks++ {
				seen[len(mustCheck(t, dir, b.files()))]++
				select {
				case err := <-done:
					must(t, err)
					writing = false
				default:
				}
			}
			if seen[0] == 0 || seen[all] == 0 || seen[0]+seen[all] != checks {
				t.Errorf("checks by number of differences: %v, want some of 0 and of %d, and no other", seen, all)
			}
		})
	}
}

// alternate writes the trees in turn, a few times.
func alternate(change func(*disk), dir string, trees ...Files) error {
	d := newDisk()
	change(d)
	for i := range 3 * len(trees) {
		if _, err := d.update(dir, trees[i%len(trees)], WriteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func mustCheck(t *testing.T, dir string, files Files) []Difference {
	t.Helper()
	d, err := Check(dir, files, nil)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return d
}

// TestCheckOfAnInterruptedWrite leaves what a kill leaves.
func TestCheckOfAnInterruptedWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	holds{".olmgen-work/journal.json": "{}"}.put(t, dir)
	_, err := Check(dir, holds{"a": "1"}.files(), nil)
	refused(t, err, "an earlier run was interrupted")
}
