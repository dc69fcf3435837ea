package output

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// patience is how long Check waits for a run that is writing.
const (
	patience    = 10 * time.Second
	stablePause = 5 * time.Millisecond
)

// readStable reads an output directory with read, and again if another run wrote to it meanwhile. The result is that of
// one tree, the old one or the new one.
func readStable[T any](dir string, read func() (T, error)) (T, error) {
	name, err := realDir(dir)
	if err != nil {
		return read()
	}
	t := newTarget(dir, name)
	for end := time.Now().Add(patience); ; time.Sleep(stablePause) {
		before := t.glance()
		result, err := read()
		after := t.glance()
		switch {
		case before.same(after) && !after.incomplete() && !errors.Is(err, fs.ErrNotExist):
			return result, err
		case before.same(after) && after.incomplete() && !after.running:
			return result, interrupted(t)
		case time.Now().After(end):
			return result, busy(t, t.beside)
		}
	}
}

// glance is what tells two states of an output directory apart.
type glance struct {
	root           fs.FileInfo // nil if there is none
	aside, journal bool        // a run is, or was killed, between two renames or in the middle of its files
	running        bool        // a run is at work, as far as aside and journal ask
}

func (t target) glance() glance {
	g := glance{aside: exists(t.aside), journal: exists(t.inside.at(journalName))}
	g.root, _ = os.Lstat(t.dir)
	g.running = g.journal && t.inside.running() || g.aside && t.beside.running()
	return g
}

// incomplete reports whether the directory may hold a part of a tree only.
func (g glance) incomplete() bool { return g.journal || g.aside && g.root == nil }

func (g glance) same(o glance) bool {
	switch {
	case g.journal != o.journal || g.running != o.running || (g.root == nil) != (o.root == nil):
		return false
	case g.root == nil:
		return true
	}
	return sameEntry(g.root, o.root, false) && g.root.ModTime().Equal(o.root.ModTime())
}

func interrupted(t target) error {
	return refuse("render again: that repairs it",
		"%s is incomplete: an earlier run was interrupted while it wrote", t.name)
}
