package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WriteOptions are the options of Write.
type WriteOptions struct {
	// Sources are recorded in the locks, sorted.
	Sources []Source
	// Force overwrites and removes files of olmgen that were edited by hand. It does not touch files of others.
	Force bool
	// Replace removes the files of a directory that was made of other packages and of another source.
	Replace bool
}

// Result is what Write did. Every list holds slash-separated paths and is sorted. No list contains a lock.
type Result struct {
	Added, Changed, Unchanged, Removed []string
	// Kept are files of an earlier render that are not rendered any more and were edited by hand. They stay, and stay
	// recorded in the lock.
	Kept []string
}

// Write makes dir contain files, their locks, and what other programs and people put there. It creates dir and its
// parents. If nothing changes, nothing is written. A file that does not change keeps its inode.
//
// Write replaces an existing dir as a whole, in one step where the system can (Linux, macOS). It writes the files one
// by one, with a journal, where dir cannot be replaced: it is or contains a mount point, the current directory or a
// git repository, its parent is not writable, or the file system does not rename it. If an error stops it half-way,
// it puts the old files back. If olmgen is killed meanwhile, the next Write repairs dir.
//
// Write refuses, before it changes anything: paths that are not clean and relative or that clash; a file that olmgen
// did not write, or a symbolic link, in place of a file or its directory; a file that was edited by hand, unless
// o.Force is set; a dir that holds other packages of another source, unless o.Replace is set; the root of a file
// system; and a dir that another Write works on. Errors that a user can act on are of type *manifest.HintError.
//
// If the old tree could not be removed, Write returns an error and the result of a complete write.
func Write(dir string, files Files, o WriteOptions) (Result, error) {
	return newDisk().update(dir, files, o)
}

func (d *disk) update(dir string, files Files, o WriteOptions) (Result, error) {
	return d.updateBelow(dir, files, o, nil)
}

// updateBelow writes below the guards that the run holds, or takes its own.
func (d *disk) updateBelow(dir string, files Files, o WriteOptions, held *heldGuards) (Result, error) {
	if err := files.check(); err != nil {
		return Result{}, err
	}
	want := wantedOf(files)
	if _, err := newLock("", o.Sources, nil); err != nil {
		return Result{}, err
	}
	t, err := d.locate(dir)
	if err != nil {
		return Result{}, err
	}
	h := held
	if h == nil {
		switch p, ok, err := planWithoutGuard(t, want, o); {
		case ok && err != nil:
			return Result{}, err
		case ok && !p.changed:
			return p.result, nil
		}
		if h, err = d.guards(t); err != nil {
			return Result{}, err
		}
		defer h.release()
		if err := d.recover(t, h); err != nil {
			return Result{}, err
		}
	}
	p, err := makePlan(t, want, o)
	if err != nil {
		return Result{}, err
	}
	if !p.changed {
		return p.result, nil
	}
	if h.beside == nil || p.old != nil && p.old.stay {
		return d.inPlace(t, p, h)
	}
	return d.replace(t, p, h)
}

// CheckWrite returns the error with which Write would refuse, before a run says what it removes. It writes nothing, and
// asks nothing of a directory that another run works on or that was left incomplete.
func CheckWrite(dir string, files Files, o WriteOptions) error {
	real, err := realDir(dir)
	if err := cmp.Or(err, files.check()); err != nil {
		return err
	}
	_, ok, err := planWithoutGuard(newTarget(dir, real), wantedOf(files), o)
	if !ok {
		return nil
	}
	return err
}

// planWithoutGuard plans before the guard is taken, so that a run with nothing to do, or one that is refused, writes
// nothing. It is not ok if another run worked meanwhile: the plan may be of parts of two trees.
func planWithoutGuard(t target, want map[string]wanted, o WriteOptions) (p *plan, ok bool, err error) {
	before, _ := os.Lstat(t.dir)
	if !t.idle() {
		return nil, false, nil
	}
	p, err = makePlan(t, want, o)
	after, _ := os.Lstat(t.dir)
	switch {
	case !t.idle() || (before == nil) != (after == nil):
		return nil, false, nil
	case before == nil:
		return p, true, err
	}
	return p, sameEntry(before, after, false) && before.ModTime().Equal(after.ModTime()), err
}

// replace swaps the new tree with the old one, or writes the files one by one if the system refuses the swap.
func (d *disk) replace(t target, p *plan, h *heldGuards) (Result, error) {
	if err := d.install(t, p); err != nil {
		if !errors.Is(err, errNotBack) {
			_ = d.remove(t.stage) // or the next run does it
		}
		if errors.Is(err, errCannotSwap) && unmovable(err) && exists(t.dir) {
			return d.inPlace(t, p, h)
		}
		return Result{}, err
	}
	d.syncDir(filepath.Dir(t.dir))
	if err := d.remove(t.stage); err != nil {
		return p.result, refuse("remove it by hand",
			"%s is written, but its old content is still in %s: %w", t.name, t.stage, err)
	}
	return p.result, nil
}

var (
	errCannotSwap = errors.New("cannot replace")
	errNotBack    = errors.New("and the old tree could not be moved back from")
)

// install moves the new tree to its place. It leaves the old one, if there was one, at the stage.
func (d *disk) install(t target, p *plan) error {
	linked, err := d.build(t, p)
	if err != nil {
		return err
	}
	if p.old == nil {
		return d.rename(t.stage, t.dir)
	}
	if err := p.old.verify(t, t.dir, linked); err != nil {
		return err
	}
	if err := d.swap(t); err != nil {
		return fmt.Errorf("%w %s: %w", errCannotSwap, t.name, err)
	}
	// A file that somebody created in the old tree at the last moment must not be removed with it.
	if err := p.old.verify(t, t.stage, linked); err != nil {
		if back := d.swap(t); back != nil {
			return refuse("save that change before the next run removes it", "%w, %w %s: %w", err, errNotBack, t.stage,
				back)
		}
		return err
	}
	return nil
}

// build creates the new tree at the stage. It returns the files that are hard links to files of the old tree.
func (d *disk) build(t target, p *plan) (linked map[string]bool, err error) {
	if err := d.mkdir(t.stage); err != nil {
		return nil, err
	}
	for _, dir := range p.dirs {
		if err := d.mkdir(at(t.stage, dir)); err != nil {
			return nil, err
		}
	}
	linked = map[string]bool{}
	for _, f := range p.files {
		from, to := at(t.dir, f.path), at(t.stage, f.path)
		switch {
		case !f.keep:
			err = d.write(to, f.data, f.old)
		case f.old.Mode().Type() == fs.ModeSymlink:
			err = d.symlink(from, to)
		default:
			linked[f.path], err = d.link(from, to, f.old)
		}
		if err != nil {
			return nil, err
		}
	}
	// Modes are set last, children first: a mode may forbid to write.
	old := cmp.Or(p.old, newTree(nil))
	for _, dir := range slices.Backward(p.dirs) {
		info := old.info[dir]
		if info != nil && !info.IsDir() {
			info = nil
		}
		if err := d.finishDir(at(t.stage, dir), info); err != nil {
			return nil, err
		}
	}
	return linked, d.finishDir(t.stage, old.root)
}

func (d *disk) finishDir(path string, old fs.FileInfo) error {
	d.syncDir(path)
	if old == nil {
		return nil
	}
	return d.likeOld(path, old)
}

// Held is a directory or a file that no other run of olmgen writes until Release.
type Held struct {
	d       *disk
	t       target
	guards  *heldGuards // nil: olmgen may not write there, and so does nobody
	parents []string    // that Hold made, the lowest first
	why     error       // nothing can be written there; nil if that is not known
}

// Hold keeps other runs of olmgen from writing name, a directory or a file. A run that reads what it will write
// holds it from before the first read; a second run gets an error that says so. What a killed run left is repaired.
// Hold makes the parents of name.
func Hold(name string) (*Held, error) { return newDisk().hold(name) }

func (d *disk) hold(name string) (*Held, error) {
	h := &Held{d: d}
	for dir := filepath.Dir(filepath.Clean(name)); !exists(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		h.parents = append(h.parents, dir)
	}
	var err error
	if h.t, h.why = d.locate(name); h.why == nil {
		h.guards, err = d.guards(h.t)
	}
	switch {
	case h.why != nil: // reading needs no guard, and the write says it
	case err == nil:
		err = d.recover(h.t, h.guards)
	case !errors.Is(err, errAnother):
		err = nil
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// Release lets other runs write. It removes parents that Hold made and that nothing was written to.
func (h *Held) Release() {
	if h.guards != nil {
		h.guards.release()
	}
	for _, dir := range h.parents {
		_ = os.Remove(dir)
	}
}

// Write is the function Write for the directory that is held.
func (h *Held) Write(files Files, o WriteOptions) (Result, error) {
	return h.d.updateBelow(h.t.name, files, o, h.guards)
}

// Content is what WriteFiles makes of a file that is held.
type Content struct {
	File *Held
	Data []byte
}

// WriteFiles makes files that are held have their data, each whole or not at all, and if one cannot be written, none.
// The mode and owner of one that is there stay, and a symbolic link stays one. Without replace, a file that is there is
// an error that matches fs.ErrExist. What is there and no file is an error in any case.
func WriteFiles(files []Content, replace bool) error {
	old := make([]fs.FileInfo, len(files))
	for i, f := range files {
		h := f.File
		if h.why != nil {
			return h.why
		}
		info, err := os.Stat(h.t.dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			info = nil
		case err != nil:
			return err
		case info.IsDir():
			return refuse("name a file", "%s is a directory", h.t.name)
		case !info.Mode().IsRegular():
			return refuse("name a file", "%s is not a regular file", h.t.name)
		case !replace:
			return &fs.PathError{Op: "create", Path: h.t.name, Err: fs.ErrExist}
		}
		old[i] = info
	}
	var err error
	for _, f := range files {
		if h := f.File; h.guards == nil && err == nil {
			h.guards, err = h.d.guards(h.t)
		}
	}
	if err != nil {
		return err
	}
	for i, f := range files {
		err = errors.Join(err, f.File.d.write(f.File.t.stage, f.Data, old[i]))
	}
	for _, f := range files {
		if err == nil {
			err = f.File.d.rename(f.File.t.stage, f.File.t.dir)
		}
	}
	for _, f := range files {
		if err != nil {
			err = errors.Join(err, f.File.d.remove(f.File.t.stage))
		}
	}
	return err
}
