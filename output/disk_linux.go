package output

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const renameSwap, renameNew = unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE

func renameAs(from, to string, how uint) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, how)
	if errors.Is(err, unix.EINVAL) { // how a file system says that it knows no flags
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// isMount reports whether path is a mount point, bind mounts included. Before Linux 5.8 it compares device numbers.
func isMount(path string, info, parent fs.FileInfo) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	if err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	return otherDevice(info, parent)
}
