package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

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
	Path  string // slash-separated, below the output directory
	State State
	Diff  []byte // unified, from what is there to what would be
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

// compare returns the plan of a write, up to what would refuse it. It plans again if another run wrote meanwhile: the
// plan is that of one tree, the old one or the new one.
func compare(dir string, files Files, o WriteOptions) (*planner, error) {
	want, err1 := wantedOf(files)
	real, err2 := realDir(dir)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	t := newTarget(dir, real)
	for end := time.Now().Add(patience); ; time.Sleep(stablePause) {
		before := t.glance()
		var p *planner
		old, err := readTree(t)
		if err == nil {
			p, err = newPlanner(t, old, want, o)
		}
		after := t.glance()
		switch {
		case before.same(after) && !after.journal && !errors.Is(err, fs.ErrNotExist):
			return p, err
		case before.same(after) && after.journal && !after.running:
			return nil, refuse("render again: that repairs it",
				"%s is incomplete: an earlier run was interrupted while it wrote", t.name)
		case time.Now().After(end):
			return nil, busy(t)
		}
	}
}

// Recorded returns the files that the locks of a directory, if it exists, record: slash-separated and sorted.
func Recorded(dir string) ([]string, error) {
	old, err := inspect(dir)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(old.files)), nil
}

// RecordedSources returns the bundles that the locks of a directory record. A directory that is not there has none.
func RecordedSources(dir string) ([]Source, error) {
	old, err := inspect(dir)
	if err != nil {
		return nil, err
	}
	return old.locks.sources(), nil
}

// inspect reads the output directory without creating anything. A directory that is not there is empty.
func inspect(name string) (*tree, error) {
	real, err := realDir(name)
	if err != nil {
		return nil, err
	}
	return readTree(newTarget(name, real))
}

// state returns how the file at a path differs from the one of the tree, or from that of an earlier run which is not
// part of the tree any more; "" if it does not. It also returns the text that is there.
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

// inTheWay returns what is in place of a directory above path, or "". A file of olmgen's is a difference of its own.
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

// NewPreview returns what Write would do, and writes nothing. Errors are those of Check, and that
// of Write for a directory that holds other packages.
func NewPreview(dir string, files Files, o WriteOptions) (Result, error) {
	p, err := compare(dir, files, o)
	if err != nil {
		return Result{}, err
	}
	preview := p.result
	preview.Refused = slices.Concat(p.blocked, p.links, p.foreign, p.edited)
	slices.Sort(preview.Refused)
	preview.Added = slices.DeleteFunc(preview.Added, func(path string) bool { return slices.Contains(p.blocked, path) })
	if o.Replace {
		return preview, nil
	}
	return preview, checkOwner(dir, p.old.locks.sources(), o.Sources, len(preview.Removed))
}

// Patch returns how the text of a file changes, in a form that patch and git apply take. It is empty if nothing does.
func Patch(path string, before, after []byte) []byte {
	return differing{Difference{Path: path}, before, after}.diff().Diff
}

// diff returns the difference with the diff of its texts, as patch and git apply take it, unless Write would not look.
func (d differing) diff() Difference {
	hunks := textdiff.Hunks(d.have, d.want, textdiff.IndentHeuristic())
	if len(hunks) == 0 || slices.Contains([]State{StateDir, StateLink, StateInLink, StateInFile}, d.State) {
		return d.Difference
	}
	b := bytes.NewBuffer(d.header())
	for _, h := range hunks {
		fmt.Fprintf(b, "@@ -%s +%s @@\n", lines(h.LineNoX, h.EndLineNoX), lines(h.LineNoY, h.EndLineNoY))
		for _, e := range h.Edits {
			writeEdit(b, e)
		}
	}
	d.Diff = b.Bytes()
	return d.Difference
}

// header returns the lines with the names of both sides.
func (d Difference) header() []byte {
	from, to := "a/"+d.Path, "b/"+d.Path
	switch d.State {
	case StateMissing:
		from = "/dev/null"
	case StateLeftOver:
		to = "/dev/null"
	}
	return fmt.Appendf(nil, "--- %s\n+++ %s\n", from, to)
}

// Below returns the difference with dir, slash-separated, before its path: that of a file below a directory above.
func (d Difference) Below(dir string) Difference {
	hunks, ok := bytes.CutPrefix(d.Diff, d.header())
	d.Path = strings.TrimPrefix(path.Join(dir, d.Path), "/")
	if ok {
		d.Diff = append(d.header(), hunks...)
	}
	return d
}

func writeEdit(b *bytes.Buffer, e textdiff.Edit[[]byte]) {
	switch e.Op {
	case diff.Delete:
		b.WriteByte('-')
	case diff.Insert:
		b.WriteByte('+')
	default:
		b.WriteByte(' ')
	}
	b.Write(e.Line)
	if !bytes.HasSuffix(e.Line, []byte("\n")) {
		b.WriteString("\n\\ No newline at end of file\n")
	}
}

// lines prints the lines [from, to), counted from 0, as a hunk's header has them: no line is behind the one before it.
func lines(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0"
	case 1:
		return strconv.Itoa(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

// patience is how long Check waits for a run that is writing.
const (
	patience    = 10 * time.Second
	stablePause = 5 * time.Millisecond
)

// glance is what tells two states of an output directory apart.
type glance struct {
	root    fs.FileInfo // nil if there is none
	journal bool        // a run is, or was killed, in the middle of its files: they may be a part of a tree only
	running bool        // a run is at work on that journal
}

func (t target) glance() glance {
	g := glance{journal: exists(t.work.at(journalName))}
	g.root, _ = os.Lstat(t.dir)
	g.running = g.journal && t.work.running()
	return g
}

func (g glance) same(o glance) bool {
	switch {
	case g.journal != o.journal || g.running != o.running || (g.root == nil) != (o.root == nil):
		return false
	case g.root == nil:
		return true
	}
	return sameEntry(g.root, o.root) && g.root.ModTime().Equal(o.root.ModTime())
}
