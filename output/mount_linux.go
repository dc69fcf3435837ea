package output

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// isMount tells whether something is mounted at path. The kernel knows, bind mounts included; before Linux 5.8 the
// device numbers of a directory and its parent must do.
func isMount(path string, info, parent fs.FileInfo) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	if err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	return otherDevice(info, parent)
}
