package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// disk makes every change to the file system, and nothing else does.
type disk struct {
	// renameAs renames a file as how says. It fails with errors.ErrUnsupported where the system cannot.
	renameAs func(from, to string, how uint) error
	// lock locks a file until it is closed. It fails with errBusy if another process has it.
	lock func(f *os.File) error
	// access tells whether files can be created in a directory.
	access func(dir string) error
	// before is called before every change. If it returns an error, the change does not happen. Tests use it to stop
	// where a kill would. It may be nil.
	before func(op, path string) error
}

func newDisk() *disk { return &disk{renameAs: renameAs, lock: flock, access: access} }

func (d *disk) do(op, path string, change func() error) error {
	if d.before != nil {
		if err := d.before(op, path); err != nil {
			return err
		}
	}
	return change()
}

func (d *disk) mkdir(path string) error {
	return d.do("mkdir", path, func() error { return os.Mkdir(path, 0o777) })
}

func (d *disk) rename(from, to string) error {
	return d.do("rename", to, func() error { return os.Rename(from, to) })
}

// write creates a file that must not exist yet, syncs it, and gives it the mode and owner of old if that is not nil.
func (d *disk) write(path string, data []byte, old fs.FileInfo) error {
	var f *os.File
	err := d.do("create", path, func() (err error) {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		return err
	}
	defer f.Close()
	err = d.do("write", path, func() error {
		_, err := f.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.do("sync", path, f.Sync); err != nil {
		return err
	}
	if err := f.Close(); err != nil || old == nil {
		return err
	}
	return d.likeOld(path, old)
}

// likeOld sets the mode and, if permitted, the owner of a new file or directory to those of the old one.
func (d *disk) likeOld(path string, old fs.FileInfo) error {
	mode := old.Mode().Perm()
	if old.IsDir() {
		mode |= old.Mode() & (fs.ModeSetgid | fs.ModeSticky)
	}
	return d.do("chmod", path, func() error {
		copyOwner(path, old)
		return os.Chmod(path, mode)
	})
}

// remove removes a tree, if it exists. It does not follow links.
func (d *disk) remove(root string) error {
	if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.do("remove", root, func() error {
		// Entries of a directory without write permission cannot be removed. An error of Chmod shows up in RemoveAll.
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				if i, err := e.Info(); err == nil && i.Mode().Perm()&0o700 != 0o700 {
					_ = os.Chmod(path, 0o700)
				}
			}
			return nil
		})
		return os.RemoveAll(root)
	})
}

// syncDir syncs the names in a directory. That matters when the power fails, not when olmgen is killed. Not every
// system can do it, so errors are ignored.
func (d *disk) syncDir(path string) {
	_ = d.do("syncdir", path, func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Sync()
	})
}

// place renames a new file to a name that must not be taken, where the system can ask that in one step.
func (d *disk) place(from, to string) error {
	return d.do("rename", to, func() error {
		err := d.renameAs(from, to, renameNew)
		if errors.Is(err, errors.ErrUnsupported) {
			return os.Rename(from, to)
		}
		return err
	})
}

// exchange swaps two files, so that no moment is without one. It fails with errors.ErrUnsupported where the system
// cannot.
func (d *disk) exchange(a, b string) error {
	return d.do("exchange", b, func() error { return d.renameAs(a, b, renameSwap) })
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
