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

const ownDirectory = "render into a directory of its own"

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
	if name == "" {
		return target{}, errors.New("no output directory given")
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return target{}, err
	}
	_, err = os.Lstat(abs)
	if err == nil {
		real, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return target{},
				refuse("remove the link or make the directory it points to", "output directory %s: %w", name, err)
		}
		return newTarget(name, real), refuseGit(name, real)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return target{}, fmt.Errorf("output directory %s: %w", name, err)
	}
	if err := refuseGit(name, abs); err != nil {
		return target{}, err
	}
	parent := filepath.Dir(abs)
	if err := d.do("mkdirall", parent, func() error { return os.MkdirAll(parent, 0o777) }); err != nil {
		return target{}, fmt.Errorf("output directory %s: %w", name, err)
	}
	real, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return target{}, fmt.Errorf("output directory %s: %w", name, err)
	}
	return newTarget(name, filepath.Join(real, filepath.Base(abs))), refuseGit(name, real)
}

// NotGit returns an error for a directory in which Git keeps a repository.
func NotGit(name string) error {
	real, err := realDir(name)
	if err != nil {
		return err
	}
	return refuseGit(name, real)
}

func refuseGit(name, real string) error {
	if slices.Contains(strings.Split(filepath.ToSlash(real), "/"), gitName) {
		return refuse(ownDirectory, "output directory %s: Git keeps a repository in %s", name, gitName)
	}
	return nil
}

// realDir resolves name and creates nothing.
func realDir(name string) (string, error) {
	if name == "" {
		return "", errors.New("no output directory given")
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return abs, nil
	case err != nil:
		return "", fmt.Errorf("output directory %s: %w", name, err)
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
	if filepath.Dir(t.dir) == t.dir {
		return refuse(ownDirectory, "%s is the root of a file system", t.name)
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
