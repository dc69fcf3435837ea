package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

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

// WriteFile makes the file that is held have data, whole or not at all. The mode and owner of one that is there stay,
// and a symbolic link stays one. Without replace, a file that is there is an error that matches fs.ErrExist.
func (h *Held) WriteFile(data []byte, replace bool) error {
	if h.why != nil {
		return h.why
	}
	guards := h.guards
	if guards == nil {
		var err error
		if guards, err = h.d.guards(h.t); err != nil {
			return err
		}
		defer guards.release()
	}
	old, err := os.Stat(h.t.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !replace:
		return &fs.PathError{Op: "create", Path: h.t.name, Err: fs.ErrExist}
	}
	if err = h.d.write(h.t.stage, data, old); err == nil {
		err = h.d.rename(h.t.stage, h.t.dir)
	}
	if err != nil {
		return errors.Join(err, h.d.remove(h.t.stage))
	}
	return nil
}

// WriteFile is Held.WriteFile for a file that was not read.
func WriteFile(name string, data []byte, replace bool) error {
	h, err := Hold(name)
	if err != nil {
		return err
	}
	defer h.Release()
	return h.WriteFile(data, replace)
}
