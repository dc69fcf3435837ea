package output

import (
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/text"
)

// State is how a file in an output directory differs from what Write would make of it.
type State string

// The states.
const (
	StateMissing  State = "missing"        // it is not there
	StateStale    State = "out of date"    // it is what an earlier run wrote
	StateEdited   State = "edited by hand" // it is not what an earlier run wrote
	StateForeign  State = "not olmgen's"   // it is not in the lock
	StateLeftOver State = "not rendered"   // an earlier run wrote it, and it is not part of the tree any more
	StateKept     State = "edited by hand and not rendered any more"
	StateKeptLink State = "a symbolic link in place of a file, and not rendered any more"
	StateLink     State = "a symbolic link in place of a file"
	StateDir      State = "a directory in place of a file"
	StateInLink   State = "not there: a symbolic link is in place of its directory"
	StateInFile   State = "not there: a file that is not olmgen's is in place of its directory"
)

// Difference is a file that Write would change, or would refuse to.
type Difference struct {
	Path              string // slash-separated, below the output directory
	State             State
	Diff              []byte // unified, from what is there to what would be
	Inserted, Deleted int    // lines of the diff
}

// Check compares dir with what Write would make of it, and writes nothing. The differences are sorted by path; those of
// locks are among them if only locks differ. Errors are those of Write, apart from those for files in the way or edited
// by hand: these are differences.
//
// Check waits for another run that is writing to dir, and refuses a directory that an interrupted run left incomplete.
func Check(dir string, files Files, sources []Source) ([]Difference, error) {
	return readStable(dir, func() ([]Difference, error) { return compare(dir, files, sources) })
}

func compare(dir string, files Files, sources []Source) ([]Difference, error) {
	if err := files.check(); err != nil {
		return nil, err
	}
	t, old, err := inspect(dir)
	if err != nil {
		return nil, err
	}
	want, digests := map[string][]byte{}, map[string]map[string]string{}
	for _, f := range files {
		if digests[f.Lock] == nil {
			digests[f.Lock] = map[string]string{}
		}
		want[f.Path], digests[f.Lock][f.Path] = f.Data, digestOf(f.Data)
	}
	locks, err := newLocks(sources, digests)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for _, path := range slices.Sorted(maps.Keys(want)) {
		d, err := old.compare(t, path, want[path])
		if err != nil {
			return nil, err
		}
		if d != nil {
			out = append(out, *d)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(old.files)) {
		// the file is gone; a directory is not olmgen's
		if _, ok := want[path]; ok || old.info[path] == nil || old.info[path].IsDir() {
			continue
		}
		d, err := old.leftOver(t, path)
		if err != nil {
			return nil, err
		}
		out = append(out, *d)
	}
	if len(out) == 0 {
		out = locks.differences(old.locks)
	}
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Recorded returns the files of a directory that its locks record, slash-separated and sorted. A directory that is not
// there has none.
func Recorded(dir string) ([]string, error) {
	_, old, err := inspect(dir)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(old.files)), nil
}

// RecordedSources returns the bundles that the locks of a directory record. A directory that is not there has none.
func RecordedSources(dir string) ([]Source, error) {
	_, old, err := inspect(dir)
	if err != nil {
		return nil, err
	}
	return old.locks.sources(), nil
}

// inspect reads the output directory without creating anything. A directory that is not there is empty.
func inspect(name string) (target, *tree, error) {
	real, err := realDir(name)
	if err != nil {
		return target{}, nil, err
	}
	t := newTarget(name, real)
	old, err := readTree(t)
	if old == nil && err == nil {
		old = newTree(nil)
	}
	return t, old, err
}

// compare returns the difference of a file that is part of the tree, or nil.
func (tr *tree) compare(t target, path string, want []byte) (*Difference, error) {
	info := tr.info[path]
	if info == nil {
		if state := tr.inTheWay(path); state != "" {
			return &Difference{Path: path, State: state}, nil
		}
		return (&Difference{Path: path, State: StateMissing}).unified(nil, want, false, true), nil
	}
	switch {
	case info.IsDir():
		return &Difference{Path: path, State: StateDir}, nil
	case info.Mode().Type() == fs.ModeSymlink:
		return &Difference{Path: path, State: StateLink}, nil
	}
	have, err := readRegular(at(t.dir, path))
	if err != nil {
		return nil, err
	}
	have = text.LF(have)
	if string(have) == string(text.LF(want)) {
		return nil, nil
	}
	state := StateForeign
	if recorded, ok := tr.files[path]; ok {
		state = StateEdited
		if recorded == digestOf(have) {
			state = StateStale
		}
	}
	return (&Difference{Path: path, State: state}).unified(have, want, true, true), nil
}

// inTheWay returns what is in place of a directory above path, or "". A file that olmgen wrote is a difference of its
// own.
func (tr *tree) inTheWay(path string) State {
	for _, above := range parents(path) {
		info := tr.info[above]
		if info == nil || info.IsDir() {
			continue
		}
		if info.Mode().Type() == fs.ModeSymlink {
			return StateInLink
		}
		if _, owned := tr.files[above]; !owned {
			return StateInFile
		}
	}
	return ""
}

// leftOver returns the difference of a file that is not part of the tree any more.
func (tr *tree) leftOver(t target, path string) (*Difference, error) {
	if tr.info[path].Mode().Type() == fs.ModeSymlink {
		return &Difference{Path: path, State: StateKeptLink}, nil
	}
	have, err := readRegular(at(t.dir, path))
	if err != nil {
		return nil, err
	}
	if tr.files[path] != digestOf(have) {
		return &Difference{Path: path, State: StateKept}, nil // Write leaves it as it is
	}
	return (&Difference{Path: path, State: StateLeftOver}).unified(have, nil, true, false), nil
}
