package output

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

const ownDirectory = "name a directory of its own"

// target is a directory or a file that is written, and where Write works.
type target struct {
	name string   // as the user wrote it: for messages
	dir  string   // the real directory or file, no symbolic link in it
	work work     // in a directory, beside a file
	made []string // directories that were not there and that work needs, the lowest first
}

// locate resolves name. It creates nothing.
func locate(name string, file bool) (target, error) {
	real, err := realDir(name)
	if err != nil {
		return target{}, err
	}
	if exists(real) {
		if _, err := filepath.EvalSymlinks(real); err != nil {
			return target{}, refuse("remove the link or make what it points to", "%s: %w", name, err)
		}
	}
	t := newTarget(name, real)
	if file {
		t.work = work(filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+workName))
	}
	for dir := filepath.Dir(string(t.work)); !exists(dir); dir = filepath.Dir(dir) {
		t.made = append(t.made, dir)
	}
	return t, nil
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
	return target{name: name, dir: real, work: work(filepath.Join(real, workName))}
}

// idle reports whether no run is working and none was killed.
func (t target) idle() bool { return !exists(string(t.work)) }

// show returns the name of a file of the directory for messages.
func (t target) show(path string) string {
	return filepath.Join(t.name, filepath.FromSlash(path))
}

func at(root, path string) string {
	return filepath.Join(root, filepath.FromSlash(path))
}

// otherDevice reports whether a directory is on another file system than its parent. It does not ask about files: an
// overlay file system shows them with the device numbers of its layers.
func otherDevice(info, parent fs.FileInfo) bool {
	a, ok1 := device(info)
	b, ok2 := device(parent)
	return ok1 && ok2 && info.IsDir() && a != b
}
