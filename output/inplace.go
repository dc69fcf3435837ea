package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// inPlace writes the files of t.dir one by one, for a directory that cannot be replaced as a whole. Everything that can
// fail for want of space or permission comes before the journal.
func (d *disk) inPlace(t target, p *plan, h *heldGuards) (Result, error) {
	if err := h.needInside(d, t); err != nil {
		return Result{}, err
	}
	p.old.works = true
	j, err := d.prepare(t, p)
	if err != nil {
		_ = d.remove(t.inside.at(stageName)) // or the next run does it
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

// prepare stages the new files, keeps the old ones, and writes the journal.
func (d *disk) prepare(t target, p *plan) (*journal, error) {
	j, err := newJournal(t, p)
	if err != nil {
		return nil, err
	}
	if err := d.writable(t, j); err != nil {
		return nil, err
	}
	if err := d.mkdir(t.inside.at(stageName)); err != nil {
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
	if err := d.keepOld(t, j, p); err != nil {
		return nil, err
	}
	data, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	half := at(t.inside.at(stageName), journalName)
	if err := d.write(half, data, nil); err != nil {
		return nil, err
	}
	d.syncDir(t.inside.at(stageName))
	if err := p.old.verify(t, t.dir, nil); err != nil {
		return nil, err
	}
	if err := d.rename(half, t.inside.at(journalName)); err != nil {
		return nil, err
	}
	d.syncDir(string(t.inside))
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
	name := at(t.dir, s.Path)
	now, err := stateOf(name)
	switch {
	case err != nil:
		return false, err
	case now == s.Now:
		return true, nil
	case now != s.Was:
		return false, nil
	case s.Now == "":
		return true, d.do("remove", name, func() error { return os.Remove(name) })
	}
	staged, err := stateOf(t.stagedAt(i))
	if err != nil {
		return false, err
	}
	if staged != s.Now {
		return false, fmt.Errorf("%s is not the file that the journal names", t.stagedAt(i))
	}
	return true, d.rename(t.stagedAt(i), name)
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
}

// removeJournal removes the journal, then the rest of what was staged.
func (d *disk) removeJournal(t target) error {
	name := t.inside.at(journalName)
	if err := d.do("remove", name, func() error { return os.Remove(name) }); err != nil && !missing(err) {
		return err
	}
	return d.remove(t.inside.at(stageName))
}

// recoverInside finishes what a killed run began to write. Only the holder of the guard in t.inside may call it.
func (d *disk) recoverInside(t target) error {
	j, err := readJournal(t)
	if err != nil {
		return err
	}
	if j == nil {
		return d.remove(t.inside.at(stageName))
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

// journal lists the steps of a write of the files of a directory one by one. Once the journal has its name, the write
// goes on to its end: in this run, or in the next one if this one is killed.
type journal struct {
	Steps []step   `json:"steps"`          // removals first, locks last
	Dirs  []string `json:"dirs,omitempty"` // to remove after the removals, if they are empty
}

// step writes or removes one file.
type step struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"` // state before; empty if there is no file
	Now  string `json:"now,omitempty"` // digest of the staged file; empty if the step removes the file
}

// A journal has a few hundred bytes for each file of the lock.
const maxJournalSize = 4 * maxLockSize

func newJournal(t target, p *plan) (*journal, error) {
	j, stays := &journal{}, map[string]bool{} // whether it is a directory
	for _, f := range p.files {
		stays[f.path] = false
	}
	for _, dir := range p.dirs {
		stays[dir] = true
	}
	for _, name := range p.old.paths {
		isDir := p.old.info[name].IsDir()
		if dir, ok := stays[name]; ok && dir == isDir {
			continue
		}
		if isDir {
			j.Dirs = append(j.Dirs, name)
		} else {
			j.Steps = append(j.Steps, step{Path: name})
		}
	}
	slices.Reverse(j.Dirs) // children first
	for _, last := range []bool{false, true} {
		for _, f := range p.files {
			if !f.keep && last == (path.Base(f.path) == LockName) {
				j.Steps = append(j.Steps, step{Path: f.path, Now: digestOf(f.data)})
			}
		}
	}
	for i, s := range j.Steps {
		if info := p.old.info[s.Path]; info != nil && info.IsDir() {
			continue // it is in Dirs
		}
		var err error
		if j.Steps[i].Was, err = stateOf(at(t.dir, s.Path)); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// stateOf returns what is at name: nothing, a digest, or words for what is no regular file.
func stateOf(name string) (string, error) {
	info, err := os.Lstat(name)
	switch {
	case missing(err):
		return "", nil
	case err != nil:
		return "", err
	case info.Mode().IsRegular():
		return readDigest(name)
	case info.Mode().Type() == fs.ModeSymlink:
		to, err := os.Readlink(name)
		return "link to " + to, err
	}
	return "mode " + info.Mode().Type().String(), nil
}

// stagedAt is where the new content of a step lies until it is written.
func (t target) stagedAt(i int) string { return at(t.inside.at(stageName), strconv.Itoa(i)) }

// savedAt is where the old content of a step lies until the write is complete.
func (t target) savedAt(i int) string { return t.stagedAt(i) + ".old" }

// readJournal returns the journal of an interrupted run, nil if there is none.
func readJournal(t target) (*journal, error) {
	name := t.inside.at(journalName)
	info, err := os.Lstat(name)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := &journal{}
	if err = j.read(name, info); err == nil {
		err = j.check()
	}
	if err != nil {
		return nil, refuse("remove it, render again, and look at the difference in version control",
			"%s, left by an earlier run: %w", name, err)
	}
	return j, nil
}

func (j *journal) read(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("is not a regular file")
	}
	data, err := readMost(name, maxJournalSize)
	if err != nil {
		return err
	}
	if len(data) > maxJournalSize {
		return fmt.Errorf("is larger than %d MiB", maxJournalSize>>20)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(j)
}

// check refuses paths that lead out of the output directory.
func (j *journal) check() error {
	for _, s := range j.Steps {
		if s.Now != "" && !fileDigest().MatchString(s.Now) {
			return fmt.Errorf("%q is not a digest", s.Now)
		}
		if s.Path == LockName {
			continue
		}
		if err := checkPath(s.Path); err != nil {
			return err
		}
	}
	for _, dir := range j.Dirs {
		if err := checkPath(dir); err != nil {
			return err
		}
	}
	return nil
}

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
