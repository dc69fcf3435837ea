package output

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// keepOld links the files that a journal replaces or removes into the stage, for undo. On a file system
// without hard links it copies them.
func (d *disk) keepOld(t target, j *journal, p *plan) error {
	for i, s := range j.Steps {
		info := p.old.info[s.Path]
		if s.Was == "" || info == nil {
			continue
		}
		from, err := at(t.dir, s.Path), error(nil)
		switch info.Mode().Type() {
		case 0:
			_, err = d.link(from, t.savedAt(i), info)
		case fs.ModeSymlink:
			err = d.symlink(from, t.savedAt(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
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
		if err := d.putBack(t, i, s, p); err != nil {
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
		if err := d.putBack(t, i, s, p); err != nil {
			return err
		}
	}
	d.syncParents(t, j)
	return d.removeJournal(t)
}

// putBack undoes one step. A file that the write did not reach, or that somebody edited, stays as it is.
func (d *disk) putBack(t target, i int, s step, p *plan) error {
	name := at(t.dir, s.Path)
	now, err := stateOf(name)
	if err != nil || now == s.Was || now != s.Now {
		return err
	}
	if s.Was == "" {
		return d.rename(name, t.stagedAt(i))
	}
	saved, err := stateOf(t.savedAt(i))
	if err != nil {
		return err
	}
	if saved != s.Was {
		return fmt.Errorf("%s is not the file that was at %s", t.savedAt(i), t.show(s.Path))
	}
	if s.Now != "" {
		if _, err := d.link(name, t.stagedAt(i), p.old.info[s.Path]); err != nil {
			return err
		}
	}
	return d.rename(t.savedAt(i), name)
}
