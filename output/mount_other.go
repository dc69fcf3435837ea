//go:build !linux

package output

import "io/fs"

func isMount(_ string, info, parent fs.FileInfo) bool { return otherDevice(info, parent) }
