//go:build unix

package source

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestDirectory(t *testing.T) {
	inDir(t, map[string]string{
		"outside.yaml": "secret", "b/manifests/csv.yaml": "csv", "b/manifests/large.yaml": strings.Repeat("x", 1001), "b/files/real.yaml": "real",
	})
	must(t, os.Symlink("../../outside.yaml", "b/manifests/out.yaml"))
	must(t, os.Symlink("/etc/hostname", "b/manifests/absolute.yaml"))
	must(t, os.Symlink("../files/real.yaml", "b/manifests/in.yaml"))
	must(t, syscall.Mkfifo("b/manifests/pipe.yaml", 0o644))
	must(t, os.Symlink("b", "link"))

	for _, ref := range []string{"b", "link"} {
		s := open(t, ref, Options{Limits: small})
		for name, want := range map[string]string{"csv.yaml": "csv", "in.yaml": "real"} {
			data, err := fs.ReadFile(s.FS, "manifests/"+name)
			must(t, err)
			same(t, name, string(data), want)
		}
		for name, want := range map[string]string{
			"out.yaml":      "stat manifests/out.yaml: a symbolic link to a target outside of the directory",
			"absolute.yaml": "stat manifests/absolute.yaml: a symbolic link to a target outside of the directory",
			"pipe.yaml":     "open manifests/pipe.yaml: neither file nor directory (p---------)",
			"large.yaml":    "open manifests/large.yaml: larger than 1000 bytes",
			"none.yaml":     "stat manifests/none.yaml: no such file or directory",
		} {
			for how, read := range map[string]func() error{
				"open": func() error { _, err := s.FS.Open("manifests/" + name); return err },
				"read": func() error { _, err := fs.ReadFile(s.FS, "manifests/"+name); return err },
			} {
				err := read()
				if err == nil {
					t.Fatalf("%s %s: no error", how, name)
				}
				same(t, how, strings.Replace(err.Error(), "statat", "stat", 1), want)
			}
		}
		if _, err := s.FS.Open("manifests/none.yaml"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
}
