package catalog

import (
	"bytes"
	"io"
	"io/fs"
	"strings"
)

// slimFS has the files of a bundle without the schemas of its CRDs, which are most of its text and say nothing about
// names, versions, updates and APIs. They are read when the bundle is opened.
type slimFS struct{ fs.FS }

// Open opens a file.
func (s slimFS) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") {
		return f, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return f, err
	}
	return &slimFile{File: f, limit: info.Size()}, nil
}

// slimFile is a file whose text is read and made slim by the first who reads it.
type slimFile struct {
	fs.File
	limit int64
	text  io.Reader
}

// Read reads the text without schemas.
func (f *slimFile) Read(p []byte) (int, error) {
	if f.text == nil {
		var all bytes.Buffer
		all.Grow(int(f.limit) + bytes.MinRead)
		if _, err := all.ReadFrom(io.LimitReader(f.File, f.limit+1)); err != nil {
			return 0, err
		}
		f.text = bytes.NewReader(withoutSchemas(all.Bytes()))
	}
	return f.text.Read(p)
}

var schemaKey = []byte("openAPIV3Schema:")

// withoutSchemas empties each block openAPIV3Schema of a YAML text, whose lines stay, so that places are right. A text
// of another form stays as it is. It writes over the text.
func withoutSchemas(text []byte) []byte {
	if !bytes.Contains(text, schemaKey) {
		return text
	}
	out := text[:0]
	inside := -1 // the indentation of the key whose block is emptied
	for len(text) > 0 {
		line, rest, found := bytes.Cut(text, []byte("\n"))
		text = rest
		trimmed := bytes.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		blank := len(bytes.TrimSpace(line)) == 0
		switch {
		case inside >= 0 && (blank || indent > inside):
			line = nil
		case bytes.Equal(bytes.TrimRight(trimmed, " \r"), schemaKey):
			inside = indent
		default:
			inside = -1
		}
		out = append(out, line...)
		if found {
			out = append(out, '\n')
		}
	}
	return out
}
