package manifest

import "bytes"

// What a reader says of a file with the markers of an unresolved merge.
const (
	ConflictMessage = "a Git conflict that is not resolved"
	conflictTip     = "edit the file so that it has one of the two sides, or take either side of a file that olmgen " +
		"writes and render again"
)

// ConflictLine returns the first line, 1-based, that is a marker of a Git conflict; 0 if there is none. Call it for a
// text that is not YAML: in YAML, a text block can hold such a line, but only indented.
func ConflictLine(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			rest, ok := bytes.CutPrefix(line, []byte(marker))
			if rest = bytes.TrimRight(rest, "\r\n"); ok && (len(rest) == 0 || rest[0] == ' ') {
				return n
			}
		}
	}
	return 0
}
