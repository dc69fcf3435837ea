package used

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
	l.Files = append(l.Files, name)
	return nil
}

func (l *Log) read(r io.Reader) error {
	b := bufio.NewReaderSize(r, 1<<20)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return err
		}
		b = bufio.NewReaderSize(z, 1<<20)
	}
	if head, err := b.Peek(4 << 10); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if documents(head) {
		return l.readDocuments(b)
	}
	return l.readLines(b)
}

func (l *Log) readLines(b *bufio.Reader) error {
	var long []byte
	for tooLong := false; ; {
		line, err := b.ReadSlice('\n')
		full, last := errors.Is(err, bufio.ErrBufferFull), errors.Is(err, io.EOF)
		if err != nil && !full && !last {
			return err
		}
		if tooLong = tooLong || len(long)+len(line) > mostLine; !tooLong && (full || len(long) > 0) {
			long = append(long, line...)
			line = long
		}
		if full {
			continue
		}
		if tooLong {
			l.Skipped++
		} else {
			l.line(line)
		}
		if long, tooLong = long[:0], false; cap(long) > 1<<22 {
			long = nil
		}
		if last {
			return nil
		}
	}
}

// documents reports whether a log is not one object in each line, by its beginning: a list, or indented.
func documents(head []byte) bool {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if bytes.Equal(bytes.TrimSpace(first), []byte("{")) || bytes.HasPrefix(first, []byte("[")) {
		return true
	}
	list, event := bytes.Index(first, []byte(`"EventList"`)), bytes.Index(first, []byte(`"auditID"`))
	return bytes.HasPrefix(first, []byte("{")) && list >= 0 && (event < 0 || list < event)
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

// readDocuments reads lists and indented events, wherever lines end.
func (l *Log) readDocuments(r *bufio.Reader) error {
	if head, _ := r.Peek(3); bytes.Equal(head, []byte("\ufeff")) {
		_, _ = r.Discard(3)
	}
	in := &bounded{r: r}
	d := jsontext.NewDecoder(in, lenient)
	var plain bytes.Buffer
	value := func() error {
		in.left = 2 * mostLine
		v, err := d.ReadValue()
		if err == nil {
			plain.Reset()
			if err = json.Compact(&plain, v); err == nil {
				l.line(plain.Bytes())
			}
		}
		return err
	}
	for {
		in.left = 2 * mostLine
		kind := d.PeekKind()
		parent, _ := d.StackIndex(d.StackDepth())
		switch {
		case d.StackDepth() == 0 && kind == '{':
			// An event has no list of items: its members are read one by one until one is, or put together again.
			if err := l.document(d, in, value); err != nil {
				return err
			}
		case kind == '{' && parent == '[':
			if err := value(); err != nil {
				return err
			}
		default:
			if _, err := d.ReadToken(); errors.Is(err, io.EOF) && d.StackDepth() == 0 {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// document reads an object: the events of its items, or itself as an event of its members.
func (l *Log) document(d *jsontext.Decoder, in *bounded, item func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	own := []byte("{")
	for d.PeekKind() != '}' {
		in.left = 2 * mostLine
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		if name = bytes.Clone(name); string(name) != `"items"` || d.PeekKind() != '[' {
			member, err := d.ReadValue()
			if err != nil {
				return err
			}
			if len(own)+len(name)+len(member) > mostLine {
				return fmt.Errorf("an object has more than %d MiB", mostLine>>20)
			}
			if len(own) > 1 {
				own = append(own, ',')
			}
			own = append(append(append(own, name...), ':'), member...)
			continue
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for d.PeekKind() != ']' {
			if err := item(); err != nil {
				return err
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, append(own, '}')); err != nil {
		return err
	}
	if bytes.Contains(plain.Bytes(), []byte("auditID")) {
		l.line(plain.Bytes())
	}
	_, err := d.ReadToken()
	return err
}

var (
	userPrefix = []byte("system:serviceaccount:")
	verbField  = []byte("verb")
	timeField  = []byte("stageTimestamp")
)

// line reads a line. Only one that names an account of the log is decoded: of the others the verb and the time count.
func (l *Log) line(line []byte) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	at := bytes.LastIndex(line, timeField)
	when := fieldAt(line, at, timeField)
	if _, err := time.Parse(time.RFC3339Nano, string(when)); err != nil {
		l.Skipped++
		return
	}
	if !l.names(line) {
		l.seen(string(fieldAt(line, bytes.Index(line, verbField), verbField)), string(when))
		return
	}
	start := bytes.IndexByte(line, '{')
	if start < 0 || !l.decode(line[start:], 0) {
		l.Skipped++
	}
}

// seen counts an event of any user. The times of audit events have a fixed form, which sorts as text.
func (l *Log) seen(verb, when string) {
	l.Events++
	if len(verb) <= len("deletecollection") && len(l.verbs) < mostAsked {
		l.verbs[verb] = true
	}
	if l.First == "" || when < l.First {
		l.First = when
	}
	l.Last = max(l.Last, when)
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
		at := bytes.Index(line, userPrefix)
		if at < 0 {
			return false
		}
		line = line[at+len(userPrefix):]
		if end := bytes.IndexAny(line[:min(len(line), 512)], `"\`); end >= 0 && l.accounts[string(line[:end])] != nil {
			return true
		}
	}
}

// lenient reads what servers write that do not check it.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decode reads an event, a list of events, or an object that has one in a field. It reports whether there is one.
func (l *Log) decode(data []byte, depth int) bool {
	var e event
	err := jsonv2.Unmarshal(data, &e, lenient)
	named := e.APIVersion == "audit.k8s.io/v1" && e.Kind == "Event"
	if err == nil && (named || depth > 0 && e.AuditID != "" && e.Stage != "") {
		l.event(&e)
		return true
	}
	var fields map[string]json.RawMessage
	if depth > 3 || json.Unmarshal(data, &fields) != nil {
		return false
	}
	found := false
	var items []json.RawMessage
	if json.Unmarshal(fields["items"], &items) == nil {
		for _, i := range items {
			found = l.decode(i, depth+1) || found
		}
		return found
	}
	for _, value := range fields {
		var text string
		if len(value) > 0 && value[0] == '"' && bytes.Contains(value, userPrefix) &&
			json.Unmarshal(value, &text) == nil {
			value = []byte(text)
		}
		if value = bytes.TrimSpace(value); len(value) > 0 && value[0] == '{' && bytes.Contains(value, userPrefix) {
			found = found || l.decode(value, depth+1)
		}
	}
	return found
}
