package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// guard keeps other runs of olmgen away from the directory until release is called. The lock on a file beside the
// directory dies with the process, so a killed run is in nobody's way.
func (d *disk) guard(t target) (release func(), err error) {
	for range 10 {
		var f *os.File
		err := d.do("guard", t.guard, func() (err error) {
			f, err = os.OpenFile(t.guard, os.O_RDWR|os.O_CREATE|noFollow, 0o666)
			return err
		})
		if err != nil {
			return nil, refuse("olmgen builds the new tree beside the old one and swaps them: it must be able to write there",
				"cannot write beside %s: %w", t.name, err)
		}
		switch err := flock(f); {
		case unsupported(err):
			f.Close()
			return d.guardByName(t)
		case errors.Is(err, errBusy):
			f.Close()
			return nil, busy(t)
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", t.guard, err)
		}
		// The run that held it before may have removed the file between our open and our lock.
		mine, err1 := f.Stat()
		now, err2 := os.Lstat(t.guard)
		if err1 == nil && err2 == nil && os.SameFile(mine, now) {
			return func() { d.releaseGuard(t, f) }, nil
		}
		f.Close()
	}
	return nil, busy(t)
}

var errBusy = errors.New("locked by another process")

func busy(t target) error {
	return refuse("wait for it to end and try again", "another olmgen is writing to %s", t.name)
}

func (d *disk) releaseGuard(t target, f *os.File) {
	// Windows removes no open file. Elsewhere the name must go first: after the unlock it may be another run's.
	if runtime.GOOS == "windows" {
		f.Close()
	} else {
		defer f.Close()
	}
	_ = d.do("unguard", t.guard, func() error { return os.Remove(t.guard) })
}

// guardByName is for file systems without locks: the file itself is the lock, and a killed run leaves it.
func (d *disk) guardByName(t target) (release func(), err error) {
	name := t.guard + "ed"
	err = d.do("guard", name, func() error {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			err = f.Close()
		}
		return err
	})
	_ = d.do("unguard", t.guard, func() error { return os.Remove(t.guard) })
	if errors.Is(err, fs.ErrExist) {
		return nil, refuse("if no olmgen is running, remove "+name, "another olmgen is writing to %s, or was killed while it did", t.name)
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = d.do("unguard", name, func() error { return os.Remove(name) }) }, nil
}
