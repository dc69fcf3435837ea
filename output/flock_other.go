//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package output

import (
	"errors"
	"os"
)

const noFollow = 0

func flock(*os.File) error { return errors.ErrUnsupported }
