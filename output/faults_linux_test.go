package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody calls f as a user who may do nothing that permissions forbid.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread() // the user of file system calls belongs to a thread
	defer runtime.UnlockOSThread()
	const nobody = 65534
	must(t, unix.Setfsgid(nobody))
	must(t, unix.Setfsuid(nobody))
	defer func() {
		must(t, unix.Setfsuid(0))
		must(t, unix.Setfsgid(0))
	}()
	f()
}

// TestWriteWithoutPermission takes the permission to write from each directory in turn. The one above the
// output directory is not needed. Otherwise nothing changes.
func TestWriteWithoutPermission(t *testing.T) {
	for _, c := range []struct {
		name string
		shut []string // below the parent
		err  string
	}{
		{"parent", []string{"."}, ""},
		{"parent and directory", []string{".", "out"}, "cannot write OUT: "},
		{"parent and a directory of olmgen's", []string{".", "out/x"}, "cannot write in OUT/x: permission denied"},
		{"parent and a directory of others", []string{".", "out/own"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "out")
			first, second := holds{"a.yaml": "1", "x/b.yaml": "1"}, holds{"a.yaml": "2", "x/b.yaml": "2", "new/c": "1"}
			mustWrite(t, dir, first.files(), WriteOptions{})
			holds{"own/mine": "mine"}.put(t, dir)
			for _, p := range []string{".", "out", "out/x", "out/own", "out/a.yaml", "out/x/b.yaml", "out/" + LockName} {
				must(t, os.Chmod(filepath.Join(parent, p), 0o777))
			}
			must(t, os.Chmod(filepath.Dir(parent), 0o755))
			for _, p := range c.shut {
				must(t, os.Chmod(filepath.Join(parent, p), 0o555))
				defer os.Chmod(filepath.Join(parent, p), 0o755)
			}
			before := look(t, parent)
			var err error
			asNobody(t, func() { _, err = Write(dir, second.files(), WriteOptions{}) })
			clean(t, dir)
			if c.err != "" {
				refused(t, err, strings.ReplaceAll(c.err, "OUT", dir))
				equal(t, "tree", look(t, parent), before)
				return
			}
			must(t, err)
			second["own/mine"] = "mine"
			equal(t, "tree", look(t, dir), second)
		})
	}
}

// TestWriteUnreadable meets a file that it may not read.
func TestWriteUnreadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, holds{"a.yaml": "1", "b.yaml": "1"}.files(), WriteOptions{})
	for _, p := range []string{"..", "../..", "."} {
		must(t, os.Chmod(filepath.Join(dir, p), 0o777))
	}
	must(t, os.Chmod(filepath.Join(dir, "a.yaml"), 0))
	asNobody(t, func() {
		if _, err := Write(dir, holds{"a.yaml": "2"}.files(), WriteOptions{}); !errors.Is(err, syscall.EACCES) {
			t.Errorf("write: %v", err)
		}
		if _, err := Check(dir, holds{"a.yaml": "2"}.files(), nil); !errors.Is(err, syscall.EACCES) {
			t.Errorf("check: %v", err)
		}
	})
	clean(t, dir)
	must(t, os.Chmod(filepath.Join(dir, "a.yaml"), 0o644))
	equal(t, "tree", look(t, dir), holds{"a.yaml": "1", "b.yaml": "1"})
}

// tmpfs mounts an empty file system of a size at dir.
func tmpfs(t *testing.T, dir, options string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o777))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("not allowed to mount:", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
}

// TestDiskFull leaves more and more room, in bytes and in inodes, until a write fits. One that does not fit leaves the old
// tree and nothing else. The directory is on the file system, or its mount point.
func TestDiskFull(t *testing.T) {
	for _, name := range []string{"out", "."} {
		for _, c := range []struct {
			limit string
			fill  func(t *testing.T, root string, room int)
		}{
			{"size=256k", fillBytes},
			{"nr_inodes=48", fillInodes},
		} {
			t.Run(name+" "+c.limit, func(t *testing.T) {
				root := filepath.Join(t.TempDir(), "fs")
				tmpfs(t, root, c.limit)
				dir := filepath.Join(root, name)
				a := holds{"a.yaml": strings.Repeat("1", 8000), "x/b.yaml": "1"}
				b := holds{"a.yaml": strings.Repeat("2", 8000), "y/b.yaml": strings.Repeat("2", 40_000), "c": "1", "d": "1"}
				mustWrite(t, dir, a.files(), WriteOptions{})
				for room := 0; ; room++ {
					c.fill(t, root, room)
					mine := holds{}
					for p, text := range look(t, root) {
						if name == "." && strings.HasPrefix(p, "fill") {
							mine[p] = text
						}
					}
					_, err := Write(dir, b.files(), WriteOptions{})
					clean(t, dir)
					if err == nil {
						either(t, dir, mine, b, b)
						if room < 4 {
							t.Errorf("the disk was never full: a write fits into %d", room)
						}
						return
					}
					if !errors.Is(err, syscall.ENOSPC) {
						t.Fatalf("room for %d: %v", room, err)
					}
					either(t, dir, mine, a, a)
				}
			})
		}
	}
}

// fillBytes leaves room for a number of pages.
func fillBytes(t *testing.T, root string, room int) {
	t.Helper()
	f, err := os.Create(filepath.Join(root, "fill"))
	must(t, err)
	defer f.Close()
	page, size := make([]byte, os.Getpagesize()), int64(0)
	for {
		n, err := f.Write(page)
		size += int64(n)
		if err != nil {
			break
		}
	}
	must(t, f.Truncate(max(0, size-int64(room*len(page)))))
}

// fillInodes leaves room for a number of files.
func fillInodes(t *testing.T, root string, room int) {
	t.Helper()
	last := 0
	for ; ; last++ {
		if os.WriteFile(filepath.Join(root, fmt.Sprint("fill", last)), nil, 0o666) != nil {
			break
		}
	}
	for i := last - room; i < last; i++ {
		must(t, os.Remove(filepath.Join(root, fmt.Sprint("fill", i))))
	}
}

// TestReadOnly is about a file system that is mounted read-only: Check works, a write with nothing to do too, and any
// other write fails and says so.
func TestReadOnly(t *testing.T) {
	for _, name := range []string{"out", "."} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "fs")
			tmpfs(t, root, "")
			dir := filepath.Join(root, name)
			a, b := holds{"a.yaml": "1"}, holds{"a.yaml": "2"}
			mustWrite(t, dir, a.files(), WriteOptions{})
			must(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			mustWrite(t, dir, a.files(), WriteOptions{})
			if n := len(mustCheck(t, dir, b.files())); n != 1 {
				t.Errorf("%d differences, want 1", n)
			}
			_, err := Write(dir, b.files(), WriteOptions{})
			refused(t, err, "read-only file system")
			_, err = Write(filepath.Join(dir, "new"), b.files(), WriteOptions{})
			refused(t, err, "read-only file system")
			clean(t, dir)
			either(t, dir, nil, a, a)
		})
	}
}

// TestWriteToOverlay writes to a directory in the lower layer of an overlay, as a container image has one. The kernel
// does not rename it (EXDEV) unless it is told to redirect directories.
func TestWriteToOverlay(t *testing.T) {
	root := filepath.Join(t.TempDir(), "fs")
	tmpfs(t, root, "")
	a, b := holds{"a.yaml": "1", "x/b.yaml": "1"}, holds{"a.yaml": "2", "y/b.yaml": "1"}
	layer := func(name string) string { return filepath.Join(root, name) }
	mustWrite(t, layer("lower/out"), a.files(), WriteOptions{})
	holds{"mine": "mine"}.put(t, layer("lower/out"))
	holds{"upper/": "", "work/": "", "merged/": ""}.put(t, root)
	options := "lowerdir=" + layer("lower") + ",upperdir=" + layer("upper") + ",workdir=" + layer("work") + ",redirect_dir=off"
	if err := unix.Mount("overlay", layer("merged"), "overlay", 0, options); err != nil {
		t.Skip("no overlay:", err)
	}
	defer func() { must(t, unix.Unmount(layer("merged"), 0)) }()
	dir := layer("merged/out")
	for _, tree := range []holds{b, a, b} {
		_, err := Write(dir, tree.files(), WriteOptions{})
		must(t, err)
		clean(t, dir)
		either(t, dir, holds{"mine": "mine"}, tree, tree)
		if n := len(mustCheck(t, dir, tree.files())); n > 0 {
			t.Errorf("%d differences", n)
		}
	}
}
