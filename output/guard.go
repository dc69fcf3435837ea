package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/olmgen/olmgen/internal/base/regular"
)

const guardPause = 5 * time.Millisecond

// guard keeps other runs of olmgen away from t until release. The lock on a file in t.work ends with the process.
func (d *disk) guard(t target) (release func(), err error) {
	w := t.work
	for missed, taken := 0, 0; missed < 200 && taken < 10; {
		var f *os.File
		f, err = d.openGuard(w)
		if errors.Is(err, fs.ErrNotExist) {
			missed++
			time.Sleep(guardPause) // the run before this one removes the directory
			continue
		}
		if err != nil {
			d.leave(t)
			return nil, cannotEnter(t, err)
		}
		err = d.lock(f)
		if err == nil && w.guardedBy(f) {
			if err := d.enter(w); err != nil { // its .gitignore may be gone since openGuard
				d.releaseGuard(t, f)
				return nil, cannotEnter(t, err)
			}
			if f.Truncate(0) == nil { // a file that does not say who has it locks as well
				_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			}
			return func() { d.releaseGuard(t, f) }, nil
		}
		f.Close()
		taken++
		switch {
		case errors.Is(err, errBusy):
			time.Sleep(guardPause) // Check takes the lock for a moment, to see whether a run is at work
		case err != nil:
			_ = d.do("unguard", w.at(guardName), func() error { return os.Remove(w.at(guardName)) })
			d.leave(t)
			return nil, refuse("write to a file system that has locks, and copy the files",
				"cannot lock %s: %w", w.at(guardName), err)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cannotEnter(t, err)
	}
	return nil, busy(t)
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
func busy(t target) error {
	who := ""
	f, err := regular.Open(t.work.at(guardName))
	if err == nil {
		defer f.Close()
		data, _ := io.ReadAll(io.LimitReader(f, 20))
		if _, err := strconv.Atoi(string(data)); err == nil {
			who = fmt.Sprintf(" (process %s)", data)
		}
	}
	return refuse("wait for it to end and try again", "%w %s%s", errAnother, t.name, who)
}

func (d *disk) releaseGuard(t target, f *os.File) {
	// Windows cannot remove an open file. Elsewhere the name goes first: after the unlock it may be another run's.
	if runtime.GOOS == "windows" {
		f.Close()
	} else {
		defer f.Close()
	}
	_ = d.do("unguard", t.work.at(guardName), func() error { return os.Remove(t.work.at(guardName)) })
	d.leave(t)
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
	guardName  = "lock" // the running process holds a lock on it
	stageName  = "new"

	journalName = "journal.json"
)

// enter creates the directory, if it is not there, what is above it, and its .gitignore. It starts again if another
// run, which is done, removes the directory meanwhile.
func (d *disk) enter(w work) error {
	for range 100 {
		err := d.tryEnter(w) // MkdirAll says that a directory exists which is removed before it looks at it
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return d.tryEnter(w)
}

func (d *disk) tryEnter(w work) error {
	if err := d.do("mkdirall", string(w), func() error { return os.MkdirAll(string(w), 0o777) }); err != nil {
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

// leave removes the directory, unless it holds more than its .gitignore, and what was made above it and is empty.
func (d *disk) leave(t target) {
	gone := []string{ignoreName, gitName}
	entries, _ := os.ReadDir(string(t.work))
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(gone, e.Name()) }) {
		return
	}
	for _, e := range entries {
		name := t.work.at(e.Name())
		_ = d.do("unignore", name, func() error { return os.Remove(name) })
	}
	for _, dir := range append([]string{string(t.work)}, t.made...) {
		_ = d.do("rmdir", dir, func() error { return os.Remove(dir) })
	}
}

// running reports whether a process holds the guard of w. It creates nothing.
func (w work) running() bool {
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

func cannotEnter(t target, err error) error {
	return refuse("olmgen builds what is new in "+string(t.work)+" first: it must be able to write there",
		"cannot write %s: %w", t.name, err)
}
