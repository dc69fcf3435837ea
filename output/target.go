package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const ownDirectory = "name a directory of its own"

// target is the output directory, and where Write works.
type target struct {
	name   string // as the user wrote it: for messages
	dir    string // the real directory, no symbolic link in it
	beside work   // where a new tree is built that replaces the directory
	inside work   // where files are built that go into the directory one by one
	stage  string // in beside: the new tree while it is built; the old one while it is removed
	aside  string // in beside: the old tree, complete, between two renames where no exchange is possible
}

// locate resolves name and creates its parents.
func (d *disk) locate(name string) (target, error) {
	real, err := realDir(name)
	if err != nil {
		return target{}, err
	}
	if exists(real) {
		if _, err := filepath.EvalSymlinks(real); err != nil {
			return target{}, refuse("remove the link or make what it points to", "%s: %w", name, err)
		}
		return newTarget(name, real), nil
	}
	parent := filepath.Dir(real)
	if err := d.do("mkdirall", parent, func() error { return os.MkdirAll(parent, 0o777) }); err != nil {
		return target{}, fmt.Errorf("%s: %w", name, err)
	}
	return newTarget(name, real), nil
}

// CheckTarget returns an error for a directory or a file that nothing is written to, whether it is there or not: one in
// the directory in which Git keeps a repository, and the root of a file system.
func CheckTarget(name string) error {
	_, err := realDir(name)
	return err
}

// realDir resolves name, of which the last parts need not be there. It creates nothing.
func realDir(name string) (string, error) {
	if name == "" {
		return "", errors.New("no output directory given")
	}
	real, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	missing := ""
	for {
		there, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(there, missing)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || real == filepath.Dir(real) {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		real, missing = filepath.Dir(real), filepath.Join(filepath.Base(real), missing)
	}
	switch {
	case slices.Contains(strings.Split(filepath.ToSlash(real), "/"), gitName):
		return "", refuse(ownDirectory, "%s: Git keeps a repository in %s", name, gitName)
	case real == filepath.Dir(real):
		return "", refuse(ownDirectory, "%s is the root of a file system", name)
	}
	return real, nil
}

func newTarget(name, real string) target {
	beside := work(filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+workName))
	return target{name: name, dir: real, beside: beside, inside: work(filepath.Join(real, workName)),
		stage: beside.at(stageName), aside: beside.at(asideName)}
}

// idle reports whether no run is working and none was killed.
func (t target) idle() bool {
	return !exists(string(t.beside)) && !exists(string(t.inside))
}

// show returns the name of a file of the directory for messages.
func (t target) show(path string) string {
	return filepath.Join(t.name, filepath.FromSlash(path))
}

func at(root, path string) string {
	return filepath.Join(root, filepath.FromSlash(path))
}

// checkDirectory refuses what cannot be an output directory.
func (t target) checkDirectory(info fs.FileInfo) error {
	if !info.IsDir() {
		return refuse("name a directory, or - for standard output", "%s is not a directory", t.name)
	}
	return nil
}

// mustStay reports whether the directory cannot be replaced as a whole: something is mounted there, or a process, such
// as the shell of the user, stands in it.
func (t target) mustStay(info fs.FileInfo) bool {
	parent, err := os.Lstat(filepath.Dir(t.dir))
	return err != nil || isMount(t.dir, info, parent) || holdsWorkingDirectory(info)
}

func holdsWorkingDirectory(dir fs.FileInfo) bool {
	wd, err := os.Getwd()
	if err != nil {
		return false
	}
	if wd, err = filepath.EvalSymlinks(wd); err != nil {
		return false
	}
	for ; ; wd = filepath.Dir(wd) {
		if i, err := os.Stat(wd); err == nil && os.SameFile(i, dir) {
			return true
		}
		if wd == filepath.Dir(wd) {
			return false
		}
	}
}

// otherDevice reports whether a directory is on another file system than its parent. It does not ask about files: an
// overlay file system shows them with the device numbers of its layers.
func otherDevice(info, parent fs.FileInfo) bool {
	a, ok1 := device(info)
	b, ok2 := device(parent)
	return ok1 && ok2 && info.IsDir() && a != b
}
