package output

import (
	"bytes"
	"io"
	"path"
)

// Stream writes the files to w, in their order, as one multi-document YAML stream. Files named kustomization.yaml or
// olmgen.lock and files without content are left out. Documents are separated by a line "---" and each ends with a
// newline; apart from that their bytes are written as they are. The error is the one of w.
func Stream(w io.Writer, files Files) error {
	first := true
	for _, f := range files {
		name := path.Base(f.Path)
		if name == kustomizationName || name == LockName || len(bytes.TrimSpace(f.Data)) == 0 {
			continue
		}
		var parts [][]byte
		if !first && !startsDocument(f.Data) {
			parts = append(parts, []byte("---\n"))
		}
		parts = append(parts, f.Data)
		if !bytes.HasSuffix(f.Data, []byte("\n")) {
			parts = append(parts, []byte("\n"))
		}
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		first = false
	}
	return nil
}

// startsDocument tells whether data, after blank lines and comments, begins with a "---" line of its own. One more
// before it would make the comments a document, and an empty one.
func startsDocument(data []byte) bool {
	for line := range bytes.Lines(data) {
		text := bytes.TrimSpace(line)
		if len(text) > 0 && text[0] != '#' {
			return isMarker(line)
		}
	}
	return false
}

// isMarker tells whether line starts a YAML document: "---", alone or with something after a space.
func isMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}
