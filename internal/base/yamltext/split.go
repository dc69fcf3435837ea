package yamltext

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Chunk is the text of one document of a stream.
type Chunk struct {
	Data   []byte // with the document's "---" line, if it has one
	Line   int    // of the first line in the stream, 1-based
	Offset int64  // of the first byte in the stream
}

// ErrLargeDocument is the error of Split and ReadLine for a document or line that is larger than it may be.
var ErrLargeDocument = errors.New("the document is too large")

// Split returns the documents of a stream one after the other, so that the stream never has to fit in memory. Blank
// documents are left out. Data is valid until the next document is asked for. A read error, or ErrLargeDocument for a
// document of more than most bytes, ends the sequence: its chunk has the first line of that document.
func Split(r io.Reader, most int64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		lines, c, chunk := bufio.NewReader(r), cutter{}, Chunk{Line: 1}
		flush := func() bool {
			blank := len(bytes.TrimSpace(chunk.Data)) == 0
			ok := blank || yield(chunk, nil)
			chunk.Data = chunk.Data[:0]
			return ok
		}
		for number, at := 1, int64(0); ; number++ {
			line, err := ReadLine(lines, most)
			start := at
			at += int64(len(line))
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Chunk{Line: number}, err)
				return
			}
			switch c.next(line) {
			case cutBefore:
				if !flush() {
					return
				}
				chunk.Line, chunk.Offset = number, start
			case cutAt:
				if !flush() {
					return
				}
				chunk.Line, chunk.Offset, line = number+1, at, nil
			}
			if int64(len(chunk.Data)+len(line)) > most {
				yield(Chunk{Line: chunk.Line}, ErrLargeDocument)
				return
			}
			chunk.Data = append(chunk.Data, line...)
			if err != nil {
				flush()
				return
			}
		}
	}
}

// ReadLine reads a line of no more than most bytes. It is valid until the next read.
func ReadLine(r *bufio.Reader, most int64) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if int64(len(line)) > most {
			return nil, ErrLargeDocument
		}
		var rest []byte
		rest, err = r.ReadSlice('\n')
		line = append(line, rest...)
	}
	return line, err
}

// Chunks is Split for text that is in memory. The chunks share it.
func Chunks(data []byte) []Chunk {
	out := make([]Chunk, 0, 1+bytes.Count(data, []byte("\n---")))
	var c cutter
	start, startLine := 0, 1
	cut := func(end, next, nextLine int) {
		if text := data[start:end]; len(bytes.TrimSpace(text)) > 0 {
			out = append(out, Chunk{text, startLine, int64(start)})
		}
		start, startLine = next, nextLine
	}
	for at, line := 0, 1; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if mark := data[at]; !c.open || mark == '-' || mark == '.' { // no other line matters
			switch c.next(data[at:end]) {
			case cutBefore:
				cut(at, at, line)
			case cutAt:
				cut(at, end, line+1)
			}
		}
		at = end
	}
	cut(len(data), len(data), 0)
	return out
}

// cutter finds where one document ends and the next begins. A line that begins with "---", which belongs to what it
// opens, or "..." is a marker wherever it stands: YAML forbids it inside scalars (YAML 1.2.2, 9.1.2).
//
// Directives and blank lines belong to the "---" line that follows. A comment does not: before a "---" line it is a
// document of its own, and OLM fails on that.
type cutter struct {
	open bool // the document has more than directives and blank lines
}

const (
	inside = iota
	cutBefore
	cutAt
)

func (c *cutter) next(line []byte) int {
	switch {
	case IsMarker(line, "---"):
		was := c.open
		c.open = true
		if was {
			return cutBefore
		}
	case IsMarker(line, "..."):
		c.open = false
		return cutAt
	case !c.open:
		text := bytes.TrimSpace(line)
		c.open = len(text) > 0 && text[0] != '%'
	}
	return inside
}

// IsMarker reports whether a line is a marker, "---" or "...".
func IsMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}
