package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/olmgen/olmgen/internal/base/regular"
)

const guardPause = 5 * time.Millisecond

// guard keeps other runs of olmgen away from w until release. The lock on a file in w ends with the process.
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
			if f.Truncate(0) == nil { // a file that does not say who has it locks as well
				_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			}
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

// guardedBy reports whether f, which is locked, is the guard of w: the run before this one may have removed that since.
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
	if err != nil {
		root, missing := os.Lstat(t.dir)
		inPlace := missing == nil && root.IsDir() &&
			(unmovable(err) || errors.Is(err, syscall.EROFS) || t.mustStay(root))
		if errors.Is(err, errAnother) || !inPlace {
			return nil, err
		}
	}
	if h.beside == nil || exists(string(t.inside)) {
		if err := h.needInside(d, t); err != nil {
			h.release()
			return nil, err
		}
	}
	return h, nil
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

// workName ends the name of every directory that olmgen works in.
const workName = ".olmgen-work"

// work is a directory that holds the files of olmgen while it writes. It has a .gitignore that covers all of it, so
// "git add -A" takes nothing that a killed run leaves.
type work string

func (w work) at(name string) string { return filepath.Join(string(w), name) }

const (
	ignoreName = ".gitignore"
	ignoreText = "*\n"
	guardName  = "lock"   // the running process holds a lock on it
	namedName  = "locked" // stands for that lock where the file system has none
	stageName  = "new"
	asideName  = "old"

	journalName = "journal.json"
)

// enter creates the directory, if it is not there, and its .gitignore. It starts again if another run, which is done,
// removes the directory meanwhile.
func (d *disk) enter(w work) error {
	for range 100 {
		if err := d.tryEnter(w); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.tryEnter(w)
}

func (d *disk) tryEnter(w work) error {
	if err := d.mkdir(string(w)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(string(w))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return refuse("remove it", "%s is not a directory", w)
	}
	if exists(w.at(ignoreName)) {
		return nil
	}
	// A .gitignore without its text does not work yet. Until then it has the one name that git never adds. Two runs
	// that do this at the same time write the same text.
	half := w.at(gitName)
	err = d.do("ignore", half, func() error {
		f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|noFollow, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		return d.do("ignore", half, func() error {
			_, err := f.WriteString(ignoreText)
			return err
		})
	})
	if err != nil {
		return err
	}
	if err := d.rename(half, w.at(ignoreName)); err != nil && !exists(w.at(ignoreName)) {
		return err
	}
	return nil
}

// leave removes the directory, unless it holds more than its .gitignore.
func (d *disk) leave(w work) {
	entries, err := os.ReadDir(string(w))
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Name() != ignoreName && e.Name() != gitName {
			return
		}
	}
	for _, e := range entries {
		_ = d.do("unignore", w.at(e.Name()), func() error { return os.Remove(w.at(e.Name())) })
	}
	_ = d.do("rmdir", string(w), func() error { return os.Remove(string(w)) })
}

// running reports whether a process holds the guard of w. It creates nothing.
func (w work) running() bool {
	if exists(w.at(namedName)) {
		return true
	}
	f, err := os.OpenFile(w.at(guardName), os.O_RDWR|noFollow, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(flock(f), errBusy)
}

// isWork reports whether a path of an output directory is, or is below, a directory that olmgen works in.
func isWork(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return fold(top) == fold(workName)
}

func cannotEnter(t target, w work, err error) error {
	if w == t.inside {
		return refuse("olmgen builds the new files there first: it must be able to write there",
			"cannot write in %s: %w", t.name, err)
	}
	return refuse("olmgen builds what is new beside what is old and swaps them: it must be able to write there",
		"cannot write beside %s: %w", t.name, err)
}
