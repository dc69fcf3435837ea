package output

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
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

// differing is a difference with the texts of which it has a diff.
type differing struct {
	Difference
	have, want []byte
}

// Check compares dir with what Write would make of it, and writes nothing. The differences are sorted by path; those of
// locks are among them if only locks differ. Errors are those of Write, apart from those for files in the way or edited
// by hand: these are differences.
//
// Check waits for another run that is writing to dir, and refuses a directory that an interrupted run left incomplete.
func Check(dir string, files Files, sources []Source) ([]Difference, error) {
	p, err := compare(dir, files, WriteOptions{Sources: sources})
	if err != nil {
		return nil, err
	}
	differs := p.differs
	if len(differs) == 0 {
		differs = p.locks.differences(p.old.locks)
	}
	out := lists.Map(differs, differing.diff)
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// compare returns the plan of a write, up to what would refuse it.
func compare(dir string, files Files, o WriteOptions) (*planner, error) {
	return readStable(dir, func() (*planner, error) {
		if err := files.check(); err != nil {
			return nil, err
		}
		t, old, err := inspect(dir)
		if err != nil {
			return nil, err
		}
		return newPlanner(t, old, wantedOf(files), o)
	})
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

// state returns how the file at a path differs from the one of the tree, or from that of an earlier run which is not part
// of the tree any more; "" if it does not. It also returns the text that is there.
func (tr *tree) state(t target, path string, want []byte, isWanted bool) (State, []byte, error) {
	info := tr.info[path]
	switch {
	case info == nil:
		return cmp.Or(tr.inTheWay(path), StateMissing), nil, nil
	case info.IsDir():
		return StateDir, nil, nil
	case info.Mode().Type() == fs.ModeSymlink && isWanted:
		return StateLink, nil, nil
	case info.Mode().Type() == fs.ModeSymlink:
		return StateKeptLink, nil, nil
	}
	have, err := readRegular(at(t.dir, path))
	if err != nil {
		return "", nil, err
	}
	have = text.LF(have)
	recorded, owned := tr.files[path]
	switch {
	case isWanted && string(have) == string(text.LF(want)):
		return "", nil, nil
	case !owned:
		return StateForeign, have, nil
	case recorded != digestOf(have) && isWanted:
		return StateEdited, have, nil
	case recorded != digestOf(have):
		return StateKept, nil, nil // Write leaves it as it is
	case isWanted:
		return StateStale, have, nil
	}
	return StateLeftOver, have, nil
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
