package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"
)

const guardPause = 5 * time.Millisecond

// guard keeps other runs of olmgen away from w until release is called. The lock on a file in w ends with the process,
// so a killed run blocks nobody.
func (d *disk) guard(t target, w work) (release func(), err error) {
	for range 10 {
		if err := d.enter(w); err != nil {
			return nil, cannotEnter(t, w, err)
		}
		var f *os.File
		err := d.do("guard", w.at(guardName), func() (err error) {
			f, err = os.OpenFile(w.at(guardName), os.O_RDWR|os.O_CREATE|noFollow, 0o666)
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			continue // the run before this one removed the directory after enter
		}
		if err != nil {
			return nil, cannotEnter(t, w, err)
		}
		switch err := flock(f); {
		case unsupported(err):
			f.Close()
			return d.guardByName(t, w)
		case errors.Is(err, errBusy):
			f.Close()
			time.Sleep(guardPause) // Check looks whether a run is at work, for a moment
			continue
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", w.at(guardName), err)
		}
		if d.holds(w, f) {
			return func() { d.releaseGuard(w, f) }, nil
		}
		f.Close()
	}
	return nil, busy(t)
}

// holds tells whether f, which is locked, is still the guard of w. The run before this one may have removed the file
// between open and lock, and the .gitignore with it.
func (d *disk) holds(w work, f *os.File) bool {
	mine, err1 := f.Stat()
	now, err2 := os.Lstat(w.at(guardName))
	return err1 == nil && err2 == nil && os.SameFile(mine, now) && d.enter(w) == nil
}

var errBusy = errors.New("locked by another process")

func busy(t target) error {
	return refuse("wait for it to end and try again", "another olmgen is writing to %s", t.name)
}

func (d *disk) releaseGuard(w work, f *os.File) {
	// Windows cannot remove an open file. Elsewhere the name goes first: after the unlock it may be another run's.
	if runtime.GOOS == "windows" {
		f.Close()
	} else {
		defer f.Close()
	}
	_ = d.do("unguard", w.at(guardName), func() error { return os.Remove(w.at(guardName)) })
	d.leave(w)
}

// guardByName is for file systems without locks: the file itself is the lock, and a killed run leaves it.
func (d *disk) guardByName(t target, w work) (release func(), err error) {
	name := w.at(namedName)
	err = d.do("guard", name, func() error {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			err = f.Close()
		}
		return err
	})
	_ = d.do("unguard", w.at(guardName), func() error { return os.Remove(w.at(guardName)) })
	if errors.Is(err, fs.ErrExist) {
		return nil, refuse("if no olmgen is running, remove "+name,
			"another olmgen is writing to %s, or was killed while it did", t.name)
	}
	if err != nil {
		return nil, cannotEnter(t, w, err)
	}
	return func() {
		_ = d.do("unguard", name, func() error { return os.Remove(name) })
		d.leave(w)
	}, nil
}
