package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// source is a text with objects: a file, or a List in another List.
type source struct {
	name  string
	named bool // what is no object is an error
	in    *bufio.Reader
	line  int // lines that come before it in the file
	deep  int // Lists that it is in
}

// deepest is how many Lists may be in each other.
const deepest = 8

func (s *source) errorf(line int, format string, args ...any) *manifest.Error {
	if line > 0 {
		line += s.line
	}
	return &manifest.Error{File: s.name, Line: line, Msg: fmt.Sprintf(format, args...)}
}

func (s *source) truncated(line int, why string) error {
	e := s.errorf(line, "%s: the file is truncated", why)
	e.Tip = "make the dump again, and check that kubectl succeeded and the disk is not full"
	return e
}

func (r *reader) stream(s *source) error {
	if bom, err := s.in.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = s.in.Discard(3)
	}
	for {
		c, err := s.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		case c == '\n':
			s.line++
		case c == ' ' || c == '\t' || c == '\r':
		default:
			if err := s.in.UnreadByte(); err != nil {
				return err
			}
			if c == '{' || c == '[' {
				return r.json(s)
			}
			return r.yaml(s)
		}
	}
}

func (r *reader) json(s *source) error {
	d := budget.NewTextDecoder(s.in, r.largest)
	for {
		err := r.jsonObject(s, d)
		var bad *manifest.Error
		switch {
		case err == nil:
			continue
		case errors.Is(err, budget.ErrHeld):
			return manifest.OverLimit(s.errorf(0, "at byte %d, an object of more than %d MiB: no cluster stores one",
				d.InputOffset(), r.largest>>20))
		case errors.As(err, &bad):
			return err
		case errors.Is(err, errEnd):
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return s.truncated(0, fmt.Sprintf("ends in the middle of an object, at byte %d", d.InputOffset()))
		case !s.named:
			return nil
		}
		return s.errorf(0, "not JSON at byte %d: %v", d.InputOffset(), err)
	}
}

// errEnd is the regular end of a stream.
var errEnd = errors.New("end")

// jsonObject reads one object. The items of a List are read one after the other.
func (r *reader) jsonObject(s *source, d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return errEnd
	case err != nil:
		return err
	case token.Kind() == '{':
	case s.named:
		return s.errorf(0, "%v is not a Kubernetes object", token)
	default:
		return errEnd
	}
	fields, items, held := map[string]json.RawMessage{}, false, int64(0)
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		if name == "items" {
			if items, err = r.jsonItems(s, d); err != nil {
				return err
			}
			continue
		}
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		if held += int64(len(raw)); held > r.largest {
			return budget.ErrHeld
		}
		fields[name] = json.RawMessage(raw.Clone())
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	var is head
	if items && json.Unmarshal(raw, &is) == nil && strings.HasSuffix(is.Kind, "List") {
		r.list(is)
		return nil
	}
	return r.jsonValue(s, raw)
}

// jsonItems reads the items of a List, and reports whether it is one: nothing that is kept has such a field.
func (r *reader) jsonItems(s *source, d *jsontext.Decoder) (bool, error) {
	if d.PeekKind() != '[' {
		return false, d.SkipValue()
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != ']' {
		var raw jsontext.Value
		if raw, err = d.ReadValue(); err == nil {
			err = r.jsonItem(s, json.RawMessage(raw))
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return true, err
}

// jsonItem reads an item of a List, which can be a List. A kind that is not kept is not decoded further.
func (r *reader) jsonItem(s *source, raw json.RawMessage) error {
	var is head
	if json.Unmarshal(raw, &is) != nil || !strings.HasSuffix(is.Kind, "List") {
		return r.jsonValue(s, raw)
	}
	if s.deep == deepest {
		return s.errorf(0, "more than %d Lists in each other", deepest)
	}
	return r.json(&source{name: s.name, named: s.named, in: bufio.NewReader(bytes.NewReader(raw)), deep: s.deep + 1})
}

func (r *reader) jsonValue(s *source, raw json.RawMessage) error {
	var is head
	if json.Unmarshal(raw, &is) != nil {
		is.Kind = "" // an item that is no object
	}
	if !r.wanted(is) {
		return nil
	}
	if err := s.fits(raw); err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	return r.value(s, fields, 0)
}

// fits refuses an object, or a field of one, with more than an API server stores.
func (s *source) fits(raw json.RawMessage) error {
	most := budget.Of(budget.Object)
	switch {
	case budget.Heavy(raw, most.Bytes):
		return s.errorf(0, "an object of more than %d MiB: no API server stores one", most.Bytes>>20)
	case budget.Crowded(raw, most.Values):
		return manifest.OverLimit(s.errorf(0, "an object has more than %d places where a value can begin", most.Values))
	}
	return nil
}

// list counts a List. An empty one of a kind, as the API server sends it, says that the cluster has none. Items of a
// List of Kubernetes' own kinds do not name their kind, so that they are not read.
func (r *reader) list(is head) {
	r.seen++
	if k, ok := r.kindOf(is.APIVersion, strings.TrimSuffix(is.Kind, "List")); ok && k.Group == olm.Group {
		r.kinds[k.Kind] = true
	}
}

// wanted counts an object, and reports whether its kind is kept.
func (r *reader) wanted(is head) bool {
	if is.Kind == "" {
		return false
	}
	r.seen++
	_, ok := r.kindOf(is.APIVersion, is.Kind)
	switch {
	case is.Kind == "Secret":
		r.secrets++
	case ok:
		r.kinds[is.Kind] = true
	default:
		r.dropped++
	}
	return ok
}

func (r *reader) value(s *source, fields map[string]any, line int) error {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	k, ok := r.kindOf(apiVersion, kind)
	if !ok {
		return nil // its keys are written in another case, which no API server prints
	}
	if line > 0 {
		line += s.line
	}
	o, keep, err := r.store.object(fields, k, s.name, line)
	if err != nil {
		return &manifest.Error{File: s.name, Line: line, Msg: err.Error(),
			Tip: "make the dump again with kubectl get -o yaml"}
	}
	if !keep {
		r.dropped++
		r.bare[o.Key()] = true
		return nil
	}
	return r.add(o)
}
