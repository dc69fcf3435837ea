package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

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

// cannotEnter explains why a run cannot work in w.
func cannotEnter(t target, w work, err error) error {
	if w == t.inside {
		return refuse("olmgen builds the new files there first: it must be able to write there",
			"cannot write in %s: %w", t.name, err)
	}
	return refuse("olmgen builds what is new beside what is old and swaps them: it must be able to write there",
		"cannot write beside %s: %w", t.name, err)
}
