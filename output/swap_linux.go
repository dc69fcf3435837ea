package output

import (
	"errors"
	"fmt"

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
