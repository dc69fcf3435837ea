package output

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriteRefusesMounts binds a file and a directory of the same file system, which have no device number of their own.
func TestWriteRefusesMounts(t *testing.T) {
	for _, c := range []struct{ at, err string }{
		{"out", "out is a mount point, which"},
		{"out/x", "x is a mount point"},
		{"out/f", "f is a mount point"},
	} {
		t.Run(c.at, func(t *testing.T) {
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
			_, err := Write(filepath.Join(parent, "out"), holds{"a.yaml": "1"}.files(), WriteOptions{})
			refused(t, err, c.err)
			if data, err := os.ReadFile(filepath.Join(parent, "d/mine")); string(data) != "mine" {
				t.Error(err)
			}
		})
	}
}
