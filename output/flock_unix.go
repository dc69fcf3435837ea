//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package output

import (
	"errors"
	"os"
	"syscall"
)

// A link planted at the name of the guard must not make olmgen create a file somewhere else.
const noFollow = syscall.O_NOFOLLOW

// A pipe in place of a file must not make olmgen wait for a writer.
const noWait = syscall.O_NONBLOCK

// flock locks the file or fails at once: with errBusy, or with errors.ErrUnsupported if the file system has no locks.
func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return errBusy
	case errors.Is(err, syscall.ENOLCK):
		return errors.ErrUnsupported
	}
	return err
}
