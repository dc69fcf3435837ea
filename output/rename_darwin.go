package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const renameSwap, renameNew = unix.RENAME_SWAP, unix.RENAME_EXCL

func renameAs(from, to string, how uint) error {
	err := unix.RenamexNp(from, to, uint32(how))
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
