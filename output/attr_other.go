//go:build !unix

package output

import (
	"errors"
	"io/fs"
)

func device(fs.FileInfo) (dev uint64, ok bool) { return 0, false }

func copyOwner(string, fs.FileInfo) {}

func access(string) error { return nil }

// unmovable reports whether err means that a directory has to stay where it is.
func unmovable(err error) bool { return errors.Is(err, fs.ErrPermission) }
