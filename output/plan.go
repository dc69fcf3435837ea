package output

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
)

type plan struct {
	result  Result
	changed bool            // whether there is anything to do
	old     *tree           // what is there now
	entries map[string]bool // of the new tree: whether each is a directory
	files   []staged        // of the new tree, that are not there already
}

type staged struct {
	path string
	data []byte
	old  fs.FileInfo // the file that is there now, nil if none is
}

// planner decides for each path what happens to the old and the new file.
type planner struct {
	plan
	target  target
	options WriteOptions
	want    map[string]wanted
	record  map[string]map[string]string // the files of the new locks, by the directory of the lock
	locks   locks                        // the new locks
	differs []differing
	// what stays of the old tree although the new one does not have it, directories included
	carry map[string]fs.FileInfo

	links, foreign, edited, blocked []string // what is in the way, and whose way is blocked
}

type wanted struct {
	data   []byte
	digest string
	lock   string // the directory of the lock that records it
}

// wantedOf returns the files by path, or what refuses them.
func wantedOf(files Files) (map[string]wanted, error) {
	if err := files.check(); err != nil {
		return nil, err
	}
	want := make(map[string]wanted, len(files))
	for _, f := range files {
		want[f.Path] = wanted{f.Data, digestOf(f.Data), f.Lock}
	}
	return want, nil
}

// newPlanner compares every file that is wanted, or that the old locks record, with what is at its path.
func newPlanner(t target, old *tree, want map[string]wanted, o WriteOptions) (*planner, error) {
	p := &planner{plan: plan{old: old, entries: map[string]bool{}}, target: t, options: o, want: want,
		record: map[string]map[string]string{},
		carry:  map[string]fs.FileInfo{}}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		w, info := want[path], old.info[path]
		p.note(w.lock, path, w.digest)
		state, err := p.compare(path, true)
		if err != nil {
			return nil, err
		}
		if info != nil && !info.Mode().IsRegular() {
			info = nil
		}
		if state != "" {
			p.files = append(p.files, staged{path, w.data, info})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(old.files)) {
		// the file is gone; a directory is not olmgen's
		if _, ok := want[path]; ok || old.info[path] == nil || old.info[path].IsDir() {
			continue
		}
		state, err := p.compare(path, false)
		if err != nil {
			return nil, err
		}
		if state != StateLeftOver {
			p.note(old.lockOf[path], path, old.files[path])
		}
	}
	var err error
	if p.locks, err = newLocks(o.Sources, p.record); err != nil {
		return nil, fmt.Errorf("cannot record the render in %s: %w", t.show(LockName), err)
	}
	return p, nil
}

func (p *planner) note(dir, path, digest string) {
	if p.record[dir] == nil {
		p.record[dir] = map[string]string{}
	}
	p.record[dir][path] = digest
}

// forced is what Force takes edits for.
var forced = map[State]State{StateEdited: StateStale, StateKept: StateLeftOver, StateKeptLink: StateLeftOver}

// compare returns how a file differs from what is wanted, "" if it does not, and notes what becomes of it.
func (p *planner) compare(path string, isWanted bool) (State, error) {
	d := differing{Difference: Difference{Path: path}, want: p.want[path].data}
	var err error
	if d.State, d.have, err = p.old.state(p.target, path, d.want, isWanted); err != nil {
		return "", err
	}
	as := d.State
	if p.options.Force {
		as = cmp.Or(forced[as], as)
	}
	r := &p.result
	put := func(list *[]string) { *list = append(*list, path) }
	switch as {
	case "":
		put(&r.Unchanged)
		return "", nil
	case StateDir, StateInLink, StateInFile: // whether what is in the way goes is seen in obstacles
		put(&p.blocked)
		put(&r.Added)
	case StateMissing:
		put(&r.Added)
	case StateLink:
		put(&p.links)
	case StateForeign:
		put(&p.foreign)
	case StateStale:
		put(&r.Changed)
	case StateEdited:
		put(&p.edited)
	case StateLeftOver:
		put(&r.Removed)
	case StateKept, StateKeptLink:
		put(&r.Kept)
	}
	p.differs = append(p.differs, d)
	return as, nil
}

// makePlan compares the directory of t with want. It changes nothing.
func makePlan(t target, want map[string]wanted, o WriteOptions) (*plan, error) {
	old, err := readTree(t)
	if err != nil {
		return nil, err
	}
	p, err := newPlanner(t, old, want, o)
	if err != nil {
		return nil, err
	}
	p.carriedEntries()
	if err := p.obstacles(); err != nil {
		return nil, err
	}
	if !o.Replace {
		if err := checkOwner(t.name, p.old.locks.sources(), o.Sources, len(p.result.Removed)); err != nil {
			return nil, err
		}
	}
	p.finish()
	return &p.plan, nil
}

// carriedEntries collects what stays: entries that olmgen did not write, files that it keeps, and the directories of
// both. A directory that only had files of olmgen does not stay.
func (p *planner) carriedEntries() {
	owned := p.old.ownedDirs()
	for _, path := range p.old.paths {
		info := p.old.info[path]
		_, wanted := p.want[path]
		_, removed := slices.BinarySearch(p.result.Removed, path)
		switch {
		case p.old.isLock(path), info.IsDir() && owned[path], !info.IsDir() && (wanted || removed):
			continue
		}
		p.carry[path] = info
		for _, d := range parents(path) {
			p.carry[d] = p.old.info[d]
		}
	}
}

// obstacles refuses a new tree that would replace what it must not.
func (p *planner) obstacles() error {
	paths := slices.AppendSeq(slices.Clone(p.result.Removed), maps.Keys(p.want))
	for dir := range p.locks {
		paths = append(paths, lockPath(dir))
	}
	slices.Sort(paths)
	for _, path := range paths {
		for _, above := range append(parents(path), path) {
			if p.old.mounts[above] { // no rename reaches what is there or below
				return refuse("unmount it, or "+ownDirectory, "%s is a mount point", p.target.show(above))
			}
			info := p.carry[above]
			switch {
			case info == nil, info.IsDir() && above != path:
			case info.Mode().Type() == fs.ModeSymlink:
				p.links = append(p.links, above)
			case slices.Contains(p.result.Kept, above):
				p.edited = append(p.edited, above)
			default:
				p.foreign = append(p.foreign, above)
			}
		}
	}
	switch {
	case len(p.links) > 0:
		return refuse("remove the link, or "+ownDirectory,
			"olmgen does not write through symbolic links: %s", p.show(p.links))
	case len(p.foreign) > 0:
		return refuse("move it away, or "+ownDirectory, "in the way, and not written by olmgen: %s", p.show(p.foreign))
	case len(p.edited) > 0:
		return refuseOption(option.Force, "move your change elsewhere, such as into an overlay, or overwrite it",
			"edited by hand since olmgen wrote it: %s", p.show(p.edited))
	}
	return nil
}

func (p *planner) show(paths []string) string {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	for i := range paths {
		paths[i] = p.target.show(paths[i])
	}
	return text.FirstOf(5, paths)
}

// finish adds to the new tree the entries that stay, the locks, and the directories.
func (p *planner) finish() {
	p.changed = len(p.result.Added)+len(p.result.Changed)+len(p.result.Removed) > 0 || len(p.locks) != len(p.old.locks)
	for dir, lock := range p.locks {
		path := lockPath(dir)
		if before, ok := p.old.locks[dir]; !ok || !bytes.Equal(lock.data, before.data) {
			p.changed = true
			p.files = append(p.files, staged{path, lock.data, p.old.info[path]})
		}
		p.enter(path, false)
	}
	for path, info := range p.carry {
		p.enter(path, info.IsDir())
	}
	for path := range p.want {
		p.enter(path, false)
	}
	slices.SortFunc(p.files, func(a, b staged) int { return strings.Compare(a.path, b.path) })
}

func (p *planner) enter(path string, dir bool) {
	p.entries[path] = dir
	for _, d := range parents(path) {
		p.entries[d] = true
	}
}
