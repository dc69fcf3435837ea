package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/olmgen/olmgen/internal/base/regular"
)

const guardPause = 5 * time.Millisecond

// guard keeps other runs of olmgen away from w until release is called. The lock on a file in w ends with the process,
// so a killed run blocks nobody.
func (d *disk) guard(t target, w work) (release func(), err error) {
	for range 10 {
		var f *os.File
		f, err = d.openGuard(w)
		if errors.Is(err, fs.ErrNotExist) {
			time.Sleep(guardPause) // the run before this one removes the directory
			continue
		}
		if err != nil {
			d.leave(w)
			return nil, cannotEnter(t, w, err)
		}
		err = flock(f)
		if err == nil && w.guardedBy(f) {
			if err := d.enter(w); err != nil { // its .gitignore may be gone since openGuard
				d.releaseGuard(w, f)
				return nil, cannotEnter(t, w, err)
			}
			sign(f)
			return func() { d.releaseGuard(w, f) }, nil
		}
		f.Close()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return d.guardByName(t, w)
		case errors.Is(err, errBusy):
			time.Sleep(guardPause) // Check takes the lock for a moment, to see whether a run is at work
		case err != nil:
			return nil, fmt.Errorf("cannot lock %s: %w", w.at(guardName), err)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cannotEnter(t, w, err)
	}
	return nil, busy(t, w)
}

// sign writes who has the guard. A file that says nothing locks as well, so an error is ignored.
func sign(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
}

func (d *disk) openGuard(w work) (f *os.File, err error) {
	if err := d.enter(w); err != nil {
		return nil, err
	}
	err = d.do("guard", w.at(guardName), func() (err error) {
		f, err = os.OpenFile(w.at(guardName), os.O_RDWR|os.O_CREATE|noFollow, 0o666)
		return err
	})
	return f, err
}

// guardedBy reports whether f, which is locked, is still the guard of w. The run before this one may have removed the
// file between open and lock.
func (w work) guardedBy(f *os.File) bool {
	mine, err1 := f.Stat()
	now, err2 := os.Lstat(w.at(guardName))
	return err1 == nil && err2 == nil && os.SameFile(mine, now)
}

var (
	errBusy    = errors.New("locked by another process")
	errAnother = errors.New("another olmgen is writing to")
)

// busy returns the error that names who writes, where the system lets others read a locked file.
func busy(t target, w work) error {
	who := ""
	f, err := regular.Open(w.at(guardName))
	if err == nil {
		defer f.Close()
		data, _ := io.ReadAll(io.LimitReader(f, 20))
		if _, err := strconv.Atoi(string(data)); err == nil {
			who = fmt.Sprintf(" (process %s)", data)
		}
	}
	return refuse("wait for it to end and try again", "%w %s%s", errAnother, t.name, who)
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

// guardByName is for file systems without locks. The file itself is the lock, and a killed run leaves it.
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
			"%w %s, or was killed while it did", errAnother, t.name)
	}
	if err != nil {
		return nil, cannotEnter(t, w, err)
	}
	return func() {
		_ = d.do("unguard", name, func() error { return os.Remove(name) })
		d.leave(w)
	}, nil
}

// heldGuards are the functions that release the guards of a run. A nil function is a guard that is not held.
type heldGuards struct{ beside, inside func() }

// guards takes the guard beside the directory. If olmgen cannot write there, an existing directory is written in
// place under the guard inside. That guard is also taken where an earlier run worked in place.
func (d *disk) guards(t target) (*heldGuards, error) {
	h := &heldGuards{}
	var err error
	h.beside, err = d.guard(t, t.beside)
	if err != nil && (errors.Is(err, errAnother) || !exists(t.dir) || !t.mayStay(err)) {
		return nil, err
	}
	if h.beside == nil || exists(string(t.inside)) {
		if err := h.needInside(d, t); err != nil {
			h.release()
			return nil, err
		}
	}
	return h, nil
}

// mayStay reports whether the directory is written in place because of err, which came from writing beside it.
func (t target) mayStay(err error) bool {
	root, statErr := os.Lstat(t.dir)
	return statErr == nil && root.IsDir() && (unmovable(err) || errors.Is(err, syscall.EROFS) || t.mustStay(root))
}

func (h *heldGuards) needInside(d *disk, t target) (err error) {
	if h.inside == nil {
		h.inside, err = d.guard(t, t.inside)
	}
	return err
}

func (h *heldGuards) release() {
	if h.inside != nil {
		h.inside()
	}
	if h.beside != nil {
		h.beside()
	}
}
