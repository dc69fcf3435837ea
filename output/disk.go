package output

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk makes every change to the file system, and nothing else does.
type disk struct {
	// exchange swaps two directories in one step. It fails with errors.ErrUnsupported where that is not possible.
	exchange func(a, b string) error
	// hardlink returns a file a second name.
	hardlink func(from, to string) error
	// access tells whether files can be created in a directory.
	access func(dir string) error
	// before is called before every change. If it returns an error, the change does not happen. Tests use it to stop
	// where a kill would. It may be nil.
	before func(op, path string) error
}

func newDisk() *disk { return &disk{exchange: exchange, hardlink: os.Link, access: access} }

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

// create writes a file that must not exist yet, and syncs it.
func (d *disk) create(path string, from io.Reader) error {
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
		_, err := io.Copy(f, from)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.do("sync", path, f.Sync); err != nil {
		return err
	}
	return f.Close()
}

// write creates a file with data, and with the mode and owner of old if that is not nil.
func (d *disk) write(path string, data []byte, old fs.FileInfo) error {
	if err := d.create(path, bytes.NewReader(data)); err != nil || old == nil {
		return err
	}
	return d.likeOld(path, old)
}

// link creates the hard link to, or a copy where the file system or its rules allow no hard link.
func (d *disk) link(from, to string, old fs.FileInfo) (linked bool, err error) {
	err = d.do("link", to, func() error {
		linked = d.hardlink(from, to) == nil
		return nil
	})
	if err != nil || linked {
		return linked, err
	}
	in, err := openRegular(from)
	if err != nil {
		return false, err
	}
	defer in.Close()
	if err := d.create(to, in); err != nil {
		return false, err
	}
	if err := d.likeOld(to, old); err != nil {
		return false, err
	}
	return false, d.do("chtimes", to, func() error { return os.Chtimes(to, old.ModTime(), old.ModTime()) })
}

func (d *disk) symlink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return d.do("symlink", to, func() error { return os.Symlink(target, to) })
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

// swap replaces the tree at dir by the one at stage. The old tree ends up at stage.
func (d *disk) swap(t target) error {
	err := d.do("exchange", t.dir, func() error { return d.exchange(t.stage, t.dir) })
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	// For a moment there is no dir. If olmgen is killed then, the next run moves the old tree back: see
	// recoverBeside.
	if err := d.rename(t.dir, t.aside); err != nil {
		return err
	}
	if err := d.rename(t.stage, t.dir); err != nil {
		if back := d.rename(t.aside, t.dir); back != nil {
			return refuse("move it back, or run olmgen again, which does", "%w: the old tree is at %s now", err,
				t.aside)
		}
		return err
	}
	return d.rename(t.aside, t.stage)
}

// recover cleans up after a run that was killed, as far as h holds the guards.
func (d *disk) recover(t target, h *heldGuards) error {
	if h.beside != nil {
		if err := d.recoverBeside(t); err != nil {
			return err
		}
	}
	if h.inside != nil {
		return d.recoverInside(t)
	}
	return nil
}

func (d *disk) recoverBeside(t target) error {
	if exists(t.aside) {
		var err error
		switch {
		case !exists(t.dir):
			err = d.rename(t.aside, t.dir)
		case !exists(t.stage):
			err = d.rename(t.aside, t.stage) // the new tree is in place, this is the old one
		default:
			err = refuse("compare them, keep what you need and remove "+t.aside,
				"%s and %s both exist: an earlier run was interrupted while it replaced the directory", t.dir, t.aside)
		}
		if err != nil {
			return err
		}
	}
	if err := d.remove(t.stage); err != nil {
		return refuse("remove it by hand", "cannot remove %s, left over by an earlier run: %w", t.stage, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
