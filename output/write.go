package output

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
)

// WriteOptions are the options of Write.
type WriteOptions struct {
	// Sources are recorded in the locks, sorted.
	Sources []Source
	// Force overwrites and removes files of olmgen that were edited by hand. It does not touch files of others.
	Force bool
	// Replace removes the files of other packages that another RenderConfig or source made.
	Replace bool
}

// Result is what Write did. Every list holds slash-separated paths and is sorted. No list contains a lock.
type Result struct {
	Added, Changed, Unchanged, Removed []string
	// Kept are files of an earlier render that are not rendered any more and were edited by hand. They stay, and stay
	// recorded in the lock.
	Kept []string
	// Refused are the files that Write would refuse to replace. Only NewPreview has them.
	Refused []string
}

// Write makes dir contain files, their locks, and what other programs and people put there. It creates dir and its
// parents. If nothing changes, nothing is written. A file that does not change keeps its inode.
//
// Write replaces each file in one step where the system can (Linux, macOS), and keeps a journal. If an error stops it
// half-way, it puts the old files back. If olmgen is killed meanwhile, Check says that dir is incomplete, and the next
// Write finishes it.
//
// Write refuses, before it changes anything: paths that are not clean and relative or that clash; a file that olmgen
// did not write, or a symbolic link, in place of a file or its directory; a file that was edited by hand, unless
// o.Force is set; a dir with other packages of another RenderConfig or source, unless o.Replace is set; the root of a
// file system; a file system without locks; and a dir that another Write works on. Errors that a user can act on are of
// type *manifest.HintError.
func Write(dir string, files Files, o WriteOptions) (Result, error) {
	return newDisk().update(dir, files, o)
}

func (d *disk) update(dir string, files Files, o WriteOptions) (Result, error) {
	want, err := wantedOf(files)
	if err != nil {
		return Result{}, err
	}
	t, err := locate(dir, false)
	if err != nil {
		return Result{}, err
	}
	switch p, ok, err := planWithoutGuard(t, want, o); {
	case ok && err != nil:
		return Result{}, err
	case ok && !p.changed:
		return p.result, nil
	}
	release, err := d.guard(t)
	if err != nil {
		return Result{}, err
	}
	defer release()
	if err := d.recover(t); err != nil {
		return Result{}, err
	}
	return d.updateGuarded(t, want, o)
}

func (d *disk) updateGuarded(t target, want map[string]wanted, o WriteOptions) (Result, error) {
	p, err := makePlan(t, want, o)
	if err != nil {
		return Result{}, err
	}
	if !p.changed {
		return p.result, nil
	}
	return d.inPlace(t, p)
}

// CheckWrite returns the error with which Write would refuse, before a run says what it removes. It writes nothing, and
// asks nothing of a directory that another run works on or that was left incomplete.
func CheckWrite(dir string, files Files, o WriteOptions) error {
	want, err1 := wantedOf(files)
	real, err2 := realDir(dir)
	if err := cmp.Or(err2, err1); err != nil {
		return err
	}
	_, ok, err := planWithoutGuard(newTarget(dir, real), want, o)
	if !ok {
		return nil
	}
	return err
}

// planWithoutGuard plans before the guard is taken, so that a run with nothing to do, or one that is refused, writes
// nothing. It is not ok if another run worked meanwhile: the plan may be of parts of two trees.
func planWithoutGuard(t target, want map[string]wanted, o WriteOptions) (p *plan, ok bool, err error) {
	before := t.glance()
	if !t.idle() {
		return nil, false, nil
	}
	p, err = makePlan(t, want, o)
	return p, t.idle() && before.same(t.glance()), err
}

// Held is a directory or a file that no other run of olmgen writes until Release.
type Held struct {
	d       *disk
	t       target
	release func() // nil: olmgen may not write there, and so does nobody
	why     error  // nothing can be written there; nil if that is not known
}

// Hold keeps other runs of olmgen from writing a directory. A run that reads what it will write holds it from before
// the first read; a second run gets an error that says so. What a killed run left is repaired. Hold makes the
// directory.
func Hold(dir string) (*Held, error) { return newDisk().hold(dir, false) }

// HoldFile is Hold for a file. It makes the parents of the file.
func HoldFile(file string) (*Held, error) { return newDisk().hold(file, true) }

func (d *disk) hold(name string, file bool) (*Held, error) {
	h := &Held{d: d}
	var err error
	if h.t, h.why = locate(name, file); h.why != nil {
		return h, nil //nolint:nilerr // reading needs no guard, and the write says it
	}
	h.release, err = d.guard(h.t)
	switch {
	case err == nil:
		err = d.recover(h.t)
	case !errors.Is(err, errAnother):
		return h, nil
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// Release lets other runs write. It removes directories that Hold made and that nothing was written to.
func (h *Held) Release() {
	if h.release != nil {
		h.release()
	}
}

// Write is the function Write for the directory that is held.
func (h *Held) Write(files Files, o WriteOptions) (Result, error) {
	switch {
	case h.why != nil:
		return Result{}, h.why
	case h.release == nil:
		return h.d.update(h.t.name, files, o)
	}
	want, err := wantedOf(files)
	if err != nil {
		return Result{}, err
	}
	return h.d.updateGuarded(h.t, want, o)
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
		if h := f.File; h.release == nil && err == nil {
			h.release, err = h.d.guard(h.t)
		}
	}
	if err != nil {
		return err
	}
	stage := func(h *Held) string { return h.t.work.at(stageName) }
	for i, f := range files {
		err = errors.Join(err, f.File.d.write(stage(f.File), f.Data, old[i]))
	}
	for _, f := range files {
		if err == nil {
			err = f.File.d.rename(stage(f.File), f.File.t.dir)
		}
	}
	for _, f := range files {
		if err != nil {
			err = errors.Join(err, f.File.d.remove(stage(f.File)))
		}
	}
	return err
}
