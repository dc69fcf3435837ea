package used

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// Read adds a log: events of audit.k8s.io/v1, one in a line, or lists of them, also compressed by gzip. What stands
// before the object of a line is passed over, as "oc adm node-logs" writes the node there. An event may be a field of
// another object, or the text of one, as in exports of clouds. The error is a *manifest.Error.
func (l *Log) Read(name string, r io.Reader) error {
	before := l.Events
	if err := l.read(r); err != nil {
		return &manifest.Error{File: name, Msg: "cannot be read as an audit log: " + err.Error(),
			Tip: "give the whole file, as the API server has written it"}
	}
	if l.Events == before {
		return &manifest.Error{File: name, Msg: "has no event of audit.k8s.io/v1",
			Tip: "give the file that the API server writes, or an export with these events"}
	}
	l.Files, l.Gaps = append(l.Files, name), l.gaps()
	return nil
}

const headSize = 4 << 10 // what shows the form of a log

func (l *Log) read(r io.Reader) error {
	b := bufio.NewReaderSize(r, 1<<20)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return err
		}
		b = bufio.NewReaderSize(z, 1<<20)
	}
	if head, _ := b.Peek(3); bytes.Equal(head, []byte("\ufeff")) {
		_, _ = b.Discard(3)
	}
	head, err := b.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	head = bytes.TrimSpace(head)
	first, _, _ := bytes.Cut(head, []byte("\n"))
	items, id := bytes.Index(head, []byte(`"items"`)), bytes.Index(head, []byte(`"auditID"`))
	list := bytes.HasPrefix(head, []byte("{")) && items >= 0 && (id < 0 || items < id)
	if list || bytes.HasPrefix(first, []byte("[")) || string(bytes.TrimSpace(first)) == "{" {
		return l.readDocuments(b)
	}
	return l.readLines(b)
}

// readLines reads one object in each line. A line that is too long is skipped.
func (l *Log) readLines(r io.Reader) error {
	s, tooLong := bufio.NewScanner(r), false
	s.Buffer(make([]byte, 1<<20), mostLine+1)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, atEOF)
		switch {
		case n == 0 && len(data) >= mostLine:
			tooLong = true
			return len(data), nil, nil
		case n > 0 && tooLong:
			tooLong, line = false, []byte{} // a nil token at the end of the input would drop what follows
			l.Skipped++
		}
		return n, line, err
	})
	for s.Scan() {
		l.line(s.Bytes())
	}
	return s.Err()
}

// bounded fails when one value takes too many bytes.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a value has more than %d MiB", mostLine>>20)
	}
	n, err := b.r.Read(p[:min(len(p), 1<<20)])
	b.left -= n
	return n, err
}

// readDocuments reads events wherever lines end: the documents, and what they list in arrays or in a field items.
func (l *Log) readDocuments(r io.Reader) error {
	in := &bounded{r: r}
	d := jsontext.NewDecoder(in, lenient)
	var plain bytes.Buffer
	add := func(v jsontext.Value, err error) error {
		plain.Reset()
		if err = cmp.Or(err, json.Compact(&plain, v)); err == nil {
			l.line(plain.Bytes())
		}
		return err
	}
	var document []byte // without its items
	items := false
	for {
		in.left = 2*mostLine - len(document)
		depth, next := d.StackDepth(), d.PeekKind()
		parent, length := d.StackIndex(depth)
		var err error
		switch {
		case next == '{' && parent == '[':
			err = add(d.ReadValue())
		case next == '"' && depth == 1 && parent == '{' && length%2 == 0:
			var name, value jsontext.Value
			if name, err = d.ReadValue(); err != nil || string(name) == `"items"` {
				items = err == nil
				break
			}
			document = append(append(append(document, ','), name...), ':')
			value, err = d.ReadValue()
			document = append(document, value...)
		default:
			_, err = d.ReadToken()
			switch {
			case next == '{' && depth == 0:
				document, items = document[:0], false
			case next == '}' && depth == 1 && err == nil && len(document) > 0 && !items:
				document[0] = '{'
				err = add(append(document, '}'), nil)
			}
		}
		switch {
		case errors.Is(err, io.EOF) && d.StackDepth() == 0:
			return nil
		case err != nil:
			return err
		}
	}
}

var (
	userField = []byte("system:serviceaccount:")
	verbField = []byte("verb")
	timeField = []byte("stageTimestamp")
)

// line reads a line. Only one that names an account of the log is decoded: of the others the verb and the time count.
func (l *Log) line(line []byte) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	if !l.names(line) {
		l.seen(string(fieldAt(line, bytes.Index(line, verbField), verbField)),
			string(fieldAt(line, bytes.LastIndex(line, timeField), timeField)))
		return
	}
	if start := bytes.IndexByte(line, '{'); start < 0 || !l.decode(line[start:], 0) {
		l.Skipped++
	}
}

// seen counts an event of any user. It reports false for one without a time. The times of audit events have a fixed
// form, which sorts as text.
func (l *Log) seen(verb, when string) bool {
	if _, err := time.Parse(time.RFC3339Nano, when); err != nil {
		l.Skipped++
		return false
	}
	l.Events++
	if len(verb) <= len("deletecollection") && len(l.verbs) < mostAsked {
		l.verbs[verb] = true
	}
	if len(l.hours) < mostHours {
		l.hours[when[:len(hour)]] = true
	}
	if l.First == "" || when < l.First {
		l.First = when
	}
	l.Last = max(l.Last, when)
	return true
}

// fieldAt returns the text of a field whose name is at a place, also in JSON that is the text of a field.
func fieldAt(line []byte, at int, name []byte) []byte {
	if at < 0 {
		return nil
	}
	rest := bytes.TrimLeft(line[at+len(name):], `\": `)
	if end := bytes.IndexAny(rest[:min(len(rest), 64)], `"\`); end >= 0 {
		return rest[:end]
	}
	return nil
}

// names reports whether a line has the user name of an account of the log.
func (l *Log) names(line []byte) bool {
	for {
		at := bytes.Index(line, userField)
		if at < 0 {
			return false
		}
		line = line[at:]
		end := bytes.IndexAny(line[:min(len(line), 512)], `"\`)
		if end >= 0 && len(l.accounts[string(line[:end])]) > 0 {
			return true
		}
		line = line[len(userField):]
	}
}

// lenient reads what servers write that do not check it.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decode reads an event, or those in an object, an array or a text. It reports whether there is one.
func (l *Log) decode(data []byte, depth int) (found bool) {
	if data = bytes.TrimSpace(data); depth > 6 || len(data) == 0 || !bytes.Contains(data, userField) {
		return false
	}
	var inside []jsontext.Value
	switch data[0] {
	case '{':
		var e event
		if err := jsonv2.Unmarshal(data, &e, lenient); err == nil && e.AuditID != "" && e.Stage != "" {
			l.event(&e)
			return true
		}
		var fields map[string]jsontext.Value
		_ = jsonv2.Unmarshal(data, &fields, lenient) // what cannot be read has no event
		for _, name := range lists.Keys(fields) {
			inside = append(inside, fields[name])
		}
	case '[':
		_ = jsonv2.Unmarshal(data, &inside, lenient)
	case '"':
		var text string
		_ = jsonv2.Unmarshal(data, &text, lenient)
		inside = []jsontext.Value{jsontext.Value(text)}
	}
	for _, v := range inside {
		found = l.decode(v, depth+1) || found
	}
	return found
}
