// Package regular opens files that were regular when they were listed. Somebody may have put a pipe, a device or a
// directory in their place since: opening a pipe would wait for a writer.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Open opens a regular file. It does not wait.
func Open(name string) (*os.File, error) {
	return opened(os.OpenFile, name, false)
}

// OpenIn opens a regular file or a directory in root. It does not wait.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return opened(root.OpenFile, name, true)
}

// Reason returns the cause of an error of the file system without the path, which a message has already.
func Reason(err error) string {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return err.Error()
}

// absent begins the target of a symbolic link that Absent makes.
const absent = "/.olmgen-absent: "

// NotThere is what Missing returns for a path that nothing stands for.
const NotThere = "does not exist"

// Submodule is why the directory of a submodule of Git does not exist in a revision.
const Submodule = "is a submodule, which is another repository"

// Absent makes a symbolic link that leads nowhere. Missing returns why.
func Absent(path, why string) error { return os.Symlink(absent+why, path) }

// IsAbsent reports whether Absent made a path.
func IsAbsent(path string) bool {
	to, err := os.Readlink(path)
	return err == nil && strings.HasPrefix(to, absent)
}

// Missing returns why a path, or what it is below, does not exist.
func Missing(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		if to, err := os.Readlink(at); err == nil && IsAbsent(at) {
			return strings.TrimPrefix(to, absent)
		}
		if at == filepath.Dir(at) {
			return NotThere
		}
	}
}

// Files returns the regular files below a directory. What cannot be read is not there.
func Files(dir string) (list []string) {
	_ = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			list = append(list, file)
		}
		return nil
	})
	return list
}

// Below reports whether a path is a directory or below it, by their names. Both are absolute.
func Below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// ErrOutside is about a path that leads out of its repository.
var ErrOutside = errors.New("is outside of the repository, or a symbolic link leads there")

// Inside returns a path below a directory without symbolic links, or ErrOutside. An empty directory is no limit.
func Inside(dir, path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	at := real
	if err != nil { // what does not exist must not say what is outside
		at = filepath.Clean(path)
	}
	if dir != "" && !Below(dir, at) {
		return "", ErrOutside
	}
	return real, err
}

func opened(open func(string, int, fs.FileMode) (*os.File, error), name string, dirs bool) (*os.File, error) {
	f, err := open(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular(), dirs && info.IsDir():
		return f, nil
	case info.IsDir():
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("is a directory")}
	default:
		err = fmt.Errorf("neither file nor directory (%s)", info.Mode().Type())
		err = &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f.Close()
	return nil, err
}
