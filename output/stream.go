package output

import (
	"bytes"
	"io"
	"path"
)

// Stream writes the files to w, in order, as one multi-document YAML stream. It leaves out kustomization.yaml,
// olmgen.lock and empty files. Documents are separated by "---" lines and end with a newline; otherwise their bytes
// do not change. The error is that of w.
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

// startsDocument reports whether data begins with a "---" line, after blank lines and comments. A second "---" before
// it would make an empty document of the comments.
func startsDocument(data []byte) bool {
	for line := range bytes.Lines(data) {
		text := bytes.TrimSpace(line)
		if len(text) > 0 && text[0] != '#' {
			return isMarker(line)
		}
	}
	return false
}

// isMarker reports whether a YAML document starts with line: "---", alone or followed by a space.
func isMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}
