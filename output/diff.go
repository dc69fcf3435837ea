package output

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// Patch returns how the text of a file changes, in a form that patch and git apply take. It is empty if nothing does.
func Patch(path string, before, after []byte) []byte {
	return differing{Difference{Path: path}, before, after}.diff().Diff
}

// diff returns the difference with the diff of its texts, in a form that patch and git apply take. What Write would
// refuse to look at has none.
func (d differing) diff() Difference {
	hunks := textdiff.Hunks(d.have, d.want, textdiff.IndentHeuristic())
	if len(hunks) == 0 || slices.Contains([]State{StateDir, StateLink, StateInLink, StateInFile}, d.State) {
		return d.Difference
	}
	from, to := "a/"+d.Path, "b/"+d.Path
	switch d.State {
	case StateMissing:
		from = "/dev/null"
	case StateLeftOver:
		to = "/dev/null"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", lines(h.LineNoX, h.EndLineNoX), lines(h.LineNoY, h.EndLineNoY))
		for _, e := range h.Edits {
			d.edit(&b, e)
		}
	}
	d.Diff = b.Bytes()
	return d.Difference
}

func (d *Difference) edit(b *bytes.Buffer, e textdiff.Edit[[]byte]) {
	switch e.Op {
	case diff.Delete:
		d.Deleted++
		b.WriteByte('-')
	case diff.Insert:
		d.Inserted++
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
