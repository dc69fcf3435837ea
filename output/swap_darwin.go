package output

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("cannot exchange %s and %s: %w", a, b, err)
	}
	return nil
}
