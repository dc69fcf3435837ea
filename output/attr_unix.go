//go:build unix

package output

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// device returns the number of the file system of a file.
func device(i fs.FileInfo) (dev uint64, ok bool) {
	st, ok := i.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true //nolint:unconvert // it is an int32 on some systems
}

// copyOwner sets the owner and group of path to those of old. Only root may do that, so errors are ignored.
func copyOwner(path string, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = os.Lchown(path, int(st.Uid), int(st.Gid))
	}
}

// access returns an error if files cannot be created in a directory.
func access(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}
