//go:build unix

package bundle

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Links that lead out of the bundle, pipes and unreadable files are refused; links inside are followed.
func TestRefusedOnDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(file string) error
		want string
	}{
		{"link out of the tree", func(file string) error { return os.Symlink("../../../outside.yaml", file) }, "manifests/z.yaml: path escapes from parent"},
		{"absolute link", func(file string) error { return os.Symlink("/etc/hostname", file) }, "manifests/z.yaml: path escapes from parent"},
		{"link to nothing", func(file string) error { return os.Symlink("nothing.yaml", file) }, "manifests/z.yaml: no such file or directory"},
		{"link to itself", func(file string) error { return os.Symlink("z.yaml", file) }, "manifests/z.yaml: too many levels of symbolic links"},
		{"link to a file of the bundle", func(file string) error { return os.Symlink("metrics-service.yaml", file) }, ""},
		{"link to a directory of the bundle", func(file string) error { return os.Symlink("../metadata", file) }, "manifests/z.yaml: a directory inside the manifests: OLM can't unpack such a bundle"},
		{"pipe", func(file string) error { return syscall.Mkfifo(file, 0o600) }, "manifests/z.yaml: not a regular file"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "bundle"), good().fs()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "outside.yaml"), []byte(goodService), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.make(filepath.Join(dir, "bundle", "manifests", "z.yaml")); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(filepath.Join(dir, "bundle"))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		b, err := Read(root.FS(), ReadOptions{})
		if c.want == "" && err == nil && len(b.Notes) == 1 { // what the link leads to is there twice
			continue
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
