package output

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// exchange swaps two directories in one step.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) { // how a file system says that it knows no flags
		return errors.ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("cannot exchange %s and %s: %w", a, b, err)
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
