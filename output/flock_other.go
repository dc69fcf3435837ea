//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package output

import (
	"errors"
	"os"
)

const noFollow, noWait = 0, 0

func flock(*os.File) error { return errors.ErrUnsupported }
