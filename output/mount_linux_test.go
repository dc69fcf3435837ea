package output

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriteToMounts binds a file and a directory of the same file system, which have no device number of their own.
func TestWriteToMounts(t *testing.T) {
	for _, c := range []struct{ at, write, err string }{
		{"out", "x/a.yaml", ""},
		{"out/x", "a.yaml", ""},
		{"out/x", "x/a.yaml", "x is a mount point"},
		{"out/f", "a.yaml", ""},
		{"out/f", "f", "f is a mount point"},
	} {
		t.Run(c.at+" "+c.write, func(t *testing.T) {
			parent := t.TempDir()
			holds{"d/mine": "mine", "e": "mine", "out/x/": "", "out/f": ""}.put(t, parent)
			from, at := filepath.Join(parent, "d"), filepath.Join(parent, c.at)
			if !lstat(t, at).IsDir() {
				from = filepath.Join(parent, "e")
			}
			if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
				t.Skip("not allowed to mount:", err)
			}
			defer func() { must(t, unix.Unmount(at, 0)) }()
			out := filepath.Join(parent, "out")
			for _, text := range []string{"1", "2", ""} {
				files := holds{c.write: text}.files()
				if text == "" {
					files = nil
				}
				_, err := Write(out, files, WriteOptions{})
				if c.err != "" {
					refused(t, err, c.err)
					break
				}
				must(t, err)
				clean(t, out)
				if got := look(t, out)[c.write]; got != text {
					t.Errorf("%s: %q, want %q", c.write, got, text)
				}
			}
			if data, err := os.ReadFile(filepath.Join(parent, "d/mine")); string(data) != "mine" {
				t.Error(err)
			}
		})
	}
}
