package output

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// inPlace writes the files of t.dir one by one. Everything that can fail for want of space or permission comes before
// the journal.
func (d *disk) inPlace(t target, p *plan) (Result, error) {
	j, err := d.prepare(t, p)
	if err != nil {
		_ = d.remove(t.work.at(stageName)) // or the next run does it
		return Result{}, err
	}
	fresh := j.freshDirs(t)
	edited, err := d.carryAll(t, j)
	if err != nil {
		if d.undo(t, j, p, fresh) == nil {
			return Result{}, fmt.Errorf("nothing is written, %s is as it was: %w", t.name, err)
		}
		return Result{}, incomplete(t, err)
	}
	if err := d.removeJournal(t); err != nil {
		return Result{}, incomplete(t, err)
	}
	if len(edited) > 0 {
		return Result{}, refuse("run olmgen again",
			"changed while olmgen was at work, so not written: %s", text.FirstOf(5, edited))
	}
	return p.result, nil
}

func incomplete(t target, err error) error {
	return refuse("solve that and run olmgen again: it finishes the write", "%s is incomplete: %w", t.name, err)
}

// prepare stages the new files and writes the journal.
func (d *disk) prepare(t target, p *plan) (*journal, error) {
	j, err := newJournal(t, p)
	if err != nil {
		return nil, err
	}
	if err := d.writable(t, j); err != nil {
		return nil, err
	}
	if err := d.mkdir(t.work.at(stageName)); err != nil {
		return nil, err
	}
	files := lists.By(p.files, func(f staged) string { return f.path })
	for i, s := range j.Steps {
		if s.Now == "" {
			continue
		}
		f := files[s.Path]
		if err := d.write(t.stagedAt(i), f.data, f.old); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	half := at(t.work.at(stageName), journalName)
	if err := d.write(half, data, nil); err != nil {
		return nil, err
	}
	d.syncDir(t.work.at(stageName))
	if err := p.old.verify(t); err != nil {
		return nil, err
	}
	if err := d.rename(half, t.work.at(journalName)); err != nil {
		return nil, err
	}
	d.syncDir(string(t.work))
	return j, nil
}

// writable refuses a write that would stop half-way at a directory without write permission.
func (d *disk) writable(t target, j *journal) error {
	asked := map[string]bool{}
	for _, s := range j.Steps {
		dir := filepath.Dir(at(t.dir, s.Path))
		for dir != t.dir && !isDir(dir) {
			dir = filepath.Dir(dir) // it is going to be created
		}
		if asked[dir] {
			continue
		}
		asked[dir] = true
		if err := d.access(dir); err != nil {
			return refuse("make it writable, or "+ownDirectory, "cannot write in %s: %w", dir, err)
		}
	}
	return nil
}

// carryAll carries out a journal. Some steps may be done already. It returns the files that are neither what they were
// nor what they should be: somebody edited them, and they stay.
func (d *disk) carryAll(t target, j *journal) (edited []string, err error) {
	for _, remove := range []bool{true, false} {
		for i, s := range j.Steps {
			if remove != (s.Now == "") {
				continue
			}
			ok, err := d.carryOut(t, i, s)
			if err != nil {
				return nil, err
			}
			if !ok {
				edited = append(edited, t.show(s.Path))
			}
		}
		if !remove {
			continue
		}
		if err := d.removeEmpty(t, j); err != nil {
			return nil, err
		}
	}
	d.syncParents(t, j)
	return edited, nil
}

// carryOut makes one step, unless it is done. It is not ok if the file was edited since the plan.
func (d *disk) carryOut(t target, i int, s step) (ok bool, err error) {
	if err := d.realParents(t, s); err != nil {
		return false, err
	}
	name, next, old := at(t.dir, s.Path), t.stagedAt(i), t.savedAt(i)
	now, err1 := stateOf(name)
	saved, err2 := stateOf(old)
	if err := cmp.Or(err1, err2); err != nil {
		return false, err
	}
	switch {
	case now == s.Now:
		return true, nil
	case now == "" && saved == s.Was: // nothing was there, or a run was killed between the two renames below
	case now != s.Was:
		return false, nil
	case s.Now == "":
		return d.setAside(name, old, s.Was)
	}
	if staged, err := stateOf(next); err != nil || staged != s.Now {
		return false, cmp.Or(err, fmt.Errorf("%s is not the file that the journal names", next))
	}
	if now != "" {
		ok, err := d.exchangeIf(next, name, s.Was)
		if !errors.Is(err, errors.ErrUnsupported) {
			return ok, err
		}
		if ok, err := d.setAside(name, old, s.Was); !ok {
			return false, err
		}
	}
	if err := d.place(next, name); !errors.Is(err, fs.ErrExist) {
		return true, err
	}
	return false, nil
}

// setAside takes a file away. It is not ok, and the file stays, if the file was edited at the last moment.
func (d *disk) setAside(name, aside, was string) (ok bool, err error) {
	if err := d.rename(name, aside); err != nil {
		return false, err
	}
	now, err := stateOf(aside)
	if err == nil && now == was {
		return true, nil
	}
	if back := d.place(aside, name); !errors.Is(back, fs.ErrExist) { // else it was saved once more
		err = errors.Join(err, back)
	}
	return false, err
}

// exchangeIf swaps the old file at name with the new one. It is not ok, and the file stays, if the file was edited at
// the last moment.
func (d *disk) exchangeIf(next, name, was string) (ok bool, err error) {
	if err := d.exchange(next, name); err != nil {
		return false, err
	}
	now, err := stateOf(next)
	if err != nil || now != was {
		return false, errors.Join(err, d.exchange(next, name))
	}
	return true, nil
}

// realParents creates the directories above the file of a step, and refuses a link or a file in place of one.
func (d *disk) realParents(t target, s step) error {
	for _, above := range parents(s.Path) {
		info, err := os.Lstat(at(t.dir, above))
		switch {
		case s.Now == "" && (missing(err) || err == nil && info.Mode().IsRegular()):
			return nil // the step is done; a later one may have put a file in place of the directory
		case missing(err):
			err = d.mkdir(at(t.dir, above))
		case err == nil && !info.IsDir():
			err = fmt.Errorf("%s is not a directory", t.show(above))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty removes directories that held files of olmgen only. One that holds something else stays. It is an error
// only if an empty one is in the way of a file.
func (d *disk) removeEmpty(t target, j *journal) error {
	for _, dir := range j.Dirs {
		name := at(t.dir, dir)
		if !isDir(name) || d.realParents(t, step{Path: dir}) != nil {
			continue
		}
		err := d.do("rmdir", name, func() error { return os.Remove(name) })
		inTheWay := slices.ContainsFunc(j.Steps, func(s step) bool { return s.Path == dir && s.Now != "" })
		if entries, no := os.ReadDir(name); err != nil && inTheWay && no == nil && len(entries) == 0 {
			return err
		}
	}
	return nil
}

func (d *disk) syncParents(t target, j *journal) {
	synced := map[string]bool{}
	for _, s := range j.Steps {
		if dir := path.Dir(s.Path); !synced[dir] && exists(at(t.dir, dir)) {
			synced[dir] = true
			d.syncDir(at(t.dir, dir))
		}
	}
	for _, dir := range t.made {
		d.syncDir(filepath.Dir(dir))
	}
}

// removeJournal removes the journal, then the rest of what was staged.
func (d *disk) removeJournal(t target) error {
	name := t.work.at(journalName)
	if err := d.do("remove", name, func() error { return os.Remove(name) }); err != nil && !missing(err) {
		return err
	}
	return d.remove(t.work.at(stageName))
}

// recover finishes what a killed run began to write. Only the holder of the guard may call it.
func (d *disk) recover(t target) error {
	j, err := readJournal(t)
	if err != nil {
		return err
	}
	if j == nil {
		return d.remove(t.work.at(stageName))
	}
	// What somebody edited since is seen again by the plan of this run.
	if _, err = d.carryAll(t, j); err == nil {
		err = d.removeJournal(t)
	}
	if err != nil {
		return refuse("solve that and run olmgen again: it finishes the write",
			"%s is incomplete: an earlier run was interrupted, and this one cannot finish it: %w", t.name, err)
	}
	return nil
}

func isDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// freshDirs returns the directories that a write creates, children first.
func (j *journal) freshDirs(t target) (fresh []string) {
	seen := map[string]bool{}
	for _, s := range j.Steps {
		for dir := path.Dir(s.Path); s.Now != "" && dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if !isDir(at(t.dir, dir)) {
				fresh = append(fresh, dir)
			}
		}
	}
	slices.Sort(fresh)
	slices.Reverse(fresh)
	return fresh
}

// undo puts back what a failed write changed. The new content returns to the stage: if undo fails too, or is killed,
// the next run finishes the write.
func (d *disk) undo(t target, j *journal, p *plan, fresh []string) error {
	for i, s := range slices.Backward(j.Steps) {
		if s.Now == "" {
			continue
		}
		if err := d.putBack(t, i, s); err != nil {
			return err
		}
	}
	for _, dir := range fresh {
		if isDir(at(t.dir, dir)) {
			// One that somebody put a file into stays.
			_ = d.do("rmdir", at(t.dir, dir), func() error { return os.Remove(at(t.dir, dir)) })
		}
	}
	for _, dir := range slices.Backward(j.Dirs) { // parents first
		if exists(at(t.dir, dir)) {
			continue
		}
		if err := d.mkdir(at(t.dir, dir)); err != nil {
			return err
		}
		if err := d.likeOld(at(t.dir, dir), p.old.info[dir]); err != nil {
			return err
		}
	}
	for i, s := range j.Steps {
		if s.Now != "" {
			continue
		}
		if err := d.putBack(t, i, s); err != nil {
			return err
		}
	}
	d.syncParents(t, j)
	return d.removeJournal(t)
}

// putBack undoes one step. A file that the write did not reach, or that somebody edited, stays as it is.
func (d *disk) putBack(t target, i int, s step) error {
	name, next, old := at(t.dir, s.Path), t.stagedAt(i), t.savedAt(i)
	now, err := stateOf(name)
	if err != nil || now == s.Was || now != s.Now && now != "" {
		return err
	}
	saved, err1 := stateOf(old)
	swapped, err2 := stateOf(next)
	switch {
	case cmp.Or(err1, err2) != nil:
		return cmp.Or(err1, err2)
	case s.Was != "" && saved == s.Was:
		if now != "" {
			if err := d.rename(name, next); err != nil {
				return err
			}
		}
		return d.rename(old, name)
	case now == "":
		return nil // somebody else removed it
	case s.Was == "":
		return d.rename(name, next)
	case swapped != s.Was:
		return fmt.Errorf("%s is not the file that was at %s", next, t.show(s.Path))
	}
	return d.exchange(next, name)
}
