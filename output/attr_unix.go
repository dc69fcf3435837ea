//go:build unix

package output

import (
	"io/fs"
	"os"
	"syscall"
)

// device gives the number of the file system that a file is on.
func device(i fs.FileInfo) (dev uint64, ok bool) {
	st, ok := i.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true //nolint:unconvert // it is an int32 on some systems
}

// copyOwner gives the file at path the owner and group of old. Only root may give files away, so failing is normal.
func copyOwner(path string, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = os.Lchown(path, int(st.Uid), int(st.Gid))
	}
}
