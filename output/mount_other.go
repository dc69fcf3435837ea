//go:build !linux

package output

import "io/fs"

// isMount reports whether something is mounted at path.
func isMount(_ string, info, parent fs.FileInfo) bool { return otherDevice(info, parent) }
