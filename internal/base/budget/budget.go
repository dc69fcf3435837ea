// Package budget holds the limits of what olmgen reads, in one table that docs/reference/limits.md shows. They are
// charged while an input is read, before anything of it is held.
package budget

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// Budget is how much one input may have. A zero field is no limit.
type Budget struct {
	Bytes   int64 // after decompression
	Values  int64 // places where a value of YAML or JSON can begin: Places counts them
	Objects int64 // documents, objects of a List or of a catalog's document
	Files   int64 // with directories
}

// Input is a kind of input.
type Input int

// The inputs.
const (
	Object        Input = iota // one document; its bytes are counted without indentation, blank lines and comments
	File                       // of a bundle; and a policy, a patch, a template, a mirror map
	Bundle                     // all files of one bundle or legacy package, after decompression
	Image                      // all layers of an image, unpacked, with what is not kept of them
	CatalogDoc                 // one document of a catalog, and one object in it
	Catalog                    // all documents of a catalog together
	TreeFile                   // of manifests: kubectl prints a whole cluster as one document
	Tree                       // all files of manifests of a run
	DumpObject                 // of a dump of a cluster, as kubectl indents it
	Dump                       // what is kept of a dump: the kinds that OLM reads or makes
	Kustomization              // the objects that one builds with all its bases
	Revision                   // what a Git repository has at a revision, below the path that is read
	Function                   // the input of a KRM function
	RenderConfig               // one file
	Chart                      // the files of a chart of helm, with those that it depends on
)

// String returns the name of the input in messages and in the table.
func (i Input) String() string { return table[i].name }

// mostOfObject is the largest request that an API server takes: 3 MiB, twice the 1.5 MiB that etcd takes, because an
// object is smaller in etcd (k8s.io/apiserver: pkg/server/config.go, MaxRequestBodyBytes).
const mostOfObject = 3 << 20

// Each is at least four times the largest legitimate input that was seen: TestBudgets measures it.
var table = [...]struct {
	name string
	Budget
}{
	Object:        {"object", Budget{Bytes: mostOfObject, Values: 300_000}},
	File:          {"file", Budget{Bytes: 16 << 20, Values: 300_000, Objects: 10_000}},
	Bundle:        {"bundle", Budget{Bytes: 64 << 20, Values: 1_000_000, Objects: 2_000, Files: 20_000}},
	Image:         {"image", Budget{Bytes: 4 << 30, Files: 320_000}},
	CatalogDoc:    {"catalog document", Budget{Bytes: 32 << 20, Values: 300_000, Objects: 2_000}},
	Catalog:       {"catalog", Budget{Bytes: 4 << 30, Files: 20_000}},
	TreeFile:      {"file of manifests", Budget{Bytes: 256 << 20, Values: 5_000_000, Objects: 100_000}},
	Tree:          {"tree of manifests", Budget{Bytes: 1 << 30, Values: 10_000_000}},
	DumpObject:    {"object of a dump", Budget{Bytes: 32 << 20, Values: 300_000, Objects: 10}},
	Dump:          {"dump", Budget{Bytes: 512 << 20, Objects: 1_000_000}},
	Kustomization: {"kustomization", Budget{Bytes: 64 << 20, Objects: 4_000}},
	Revision:      {"Git revision", Budget{Bytes: 1 << 30, Files: 1 << 20}},
	Function:      {"input of a function", Budget{Bytes: 64 << 20, Values: 2_000_000}},
	RenderConfig:  {"RenderConfig", Budget{Bytes: 4 << 20, Values: 200_000}},
	Chart:         {"chart", Budget{Bytes: 32 << 20, Files: 5_000}},
}

// factor multiplies the budgets; zero is one.
var factor atomic.Int64

// Raise multiplies the budgets of this process by n, from 1 to 1,000. It is called before anything is read.
func Raise(n int64) { factor.Store(n) }

// Variable is the environment variable whose value commands give to Raise, so that programs that olmgen starts, and
// olmgen started by other programs, have the same budgets.
const Variable = "OLMGEN_LIMITS"

const most = 1000

// RaiseTo raises the budgets by the value of Variable; "" does nothing.
func RaiseTo(value string) error {
	if value == "" {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("the environment variable %s is %.40q: it must be a whole number from 1 to %d, which "+
			"multiplies the limits of what is read", Variable, value, most)
	}
	Raise(n)
	return nil
}

// More is how a user has twice the present budgets; "" if there is no more.
func More() string {
	n := max(factor.Load(), 1)
	if n == most {
		return ""
	}
	return fmt.Sprintf("%s=%d", Variable, min(2*n, most))
}

// Of returns the budget of an input. No factor raises what an API server takes.
func Of(i Input) Budget {
	n, b := max(factor.Load(), 1), table[i].Budget
	b = Budget{b.Bytes * n, b.Values * n, b.Objects * n, b.Files * n}
	if i == Object {
		b.Bytes = mostOfObject
	}
	return b
}

// Inputs returns all inputs.
func Inputs() []Input {
	out := make([]Input, len(table))
	for i := range out {
		out[i] = Input(i)
	}
	return out
}

// Places counts the characters one of which stands before every value of YAML or JSON, so that there are no more values
// than those. A parser makes 200 bytes of nodes out of one byte, and has no limit of its own.
func Places(text []byte) int64 {
	n := int64(1)
	for _, c := range text {
		n += begins[c]
	}
	return n
}

var begins = func() (of [256]int64) {
	for _, c := range "\n:,[{-?" {
		of[c] = 1
	}
	return of
}()

// Weight returns the size of a text of YAML or JSON without indentation, blank lines and lines of comments: what an API
// server is sent is seldom less.
func Weight(text []byte) int64 {
	n, at, counts := int64(0), true, false // at is before the first character of a line
	for _, c := range text {
		switch {
		case c == '\n':
			if counts {
				n++
			}
			at, counts = true, false
		case at && (c == ' ' || c == '\t' || c == '\r'):
		case at:
			at, counts = false, c != '#'
			fallthrough
		default:
			if counts {
				n++
			}
		}
	}
	return n
}

// Heavy reports whether the Weight of a text is over a number of bytes. A short text is not read for that.
func Heavy(text []byte, most int64) bool { return int64(len(text)) > most && Weight(text) > most }

// AsJSON returns a size that the JSON of a text of YAML without aliases and tags does not exceed.
func AsJSON(text []byte) int64 {
	n := atPlace
	block := -1 // the indentation of the line that began a block scalar
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " ")
		indent := len(line) - len(rest)
		if block < 0 || indent <= block && len(bytes.TrimSpace(rest)) > 0 {
			block = -1
			end := len(rest) - 1
			for end > 0 && strings.IndexByte("+-0123456789 \r\n", rest[end]) >= 0 {
				end--
			}
			if end >= 0 && (rest[end] == '|' || rest[end] == '>') ||
				bytes.IndexByte(rest, '#') > 0 && bytes.Contains(rest, []byte(" #")) { // few lines have one
				block = indent
			}
			line = rest
		} else { // all its lines are indented by more, which is no part of the text
			line = line[min(indent, block+1):]
		}
		n += int64(len(line)) + escapes(line)
	}
	return n
}

// escapes returns by how much text can grow in JSON: escapes, what stands at Places, and numbers without exponents.
func escapes(text []byte) (n int64) {
	after := &grows[other]
	for _, c := range text {
		n += int64(after[c])
		after = &grows[classes[c]]
	}
	return n
}

const atPlace = int64(4) // quotes, brackets or null, which the text may lack

// The classes of a character that decide what one after it may begin: an exponent, or a word like n, which is false.
const (
	other = iota
	digit
	letter
)

var classes = func() (of [256]byte) {
	for c := range of {
		switch small := byte(c) | ' '; {
		case '0' <= c && c <= '9' || c == '.':
			of[c] = digit
		case 'a' <= small && small <= 'z':
			of[c] = letter
		}
	}
	return of
}()

// grows is by how much a character can grow, after one of each class.
var grows = func() (of [3][256]byte) {
	for before := range of {
		for c := range of[before] {
			n := begins[c] * atPlace
			switch {
			case strings.IndexByte(`<>&\`, byte(c)) >= 0 || c > '~' || c < ' ' && c != '\n':
				n += int64(len(`\u003c`)) - 1
			case c == '"' || c == '.': // .1 is 0.1
				n++
			case c == '{' || c == ',' || c == '?': // a key alone has quotes, a colon and null
				n += 3
			case (c == 'e' || c == 'E') && before == digit: // 1e20: 21 digits
				n += 20
			case strings.IndexByte("nNoOyY", byte(c)) >= 0 && before != letter:
				n += 4
			}
			of[before][c] = byte(n)
		}
	}
	return of
}()

// Crowded reports whether a text has more than a number of Places. A short text is not read for that.
func Crowded(text []byte, most int64) bool { return int64(len(text)) >= most && Places(text) > most }

// ErrHeld is the error of a reader of NewTextDecoder for a value that is too large to be held.
var ErrHeld = errors.New("the value is too large")

// NewTextDecoder returns a JSON decoder that holds no more than most bytes of a value. It takes what encoding/json
// takes, several times as fast, and does not decode values. A value that it returns is valid until the next one.
func NewTextDecoder(r io.Reader, most int64) *jsontext.Decoder {
	in := &within{r: r, most: most}
	d := jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	in.done = d.InputOffset
	return d
}

// within reads for a JSON decoder, which holds what it has read of a value until it has all of it.
type within struct {
	r    io.Reader
	read int64
	done func() int64 // how much of it the decoder is done with
	most int64        // that the decoder may hold
}

func (w *within) Read(p []byte) (int, error) {
	left := w.most + 1 - (w.read - w.done())
	if left <= 0 {
		return 0, ErrHeld
	}
	n, err := w.r.Read(p[:min(int64(len(p)), left)])
	w.read += int64(n)
	return n, err
}

// Meter charges the files of one input. Several goroutines can use it: their order does not decide.
type Meter struct {
	input         Input
	budget        Budget
	bytes, values atomic.Int64
}

// NewMeter returns a meter with the budget of an input.
func NewMeter(i Input) *Meter { return &Meter{input: i, budget: Of(i)} }

// Charge adds what a file has, and reports how the input is over its budget: "" if it is not.
func (m *Meter) Charge(bytes, values int64) string {
	m.bytes.Add(bytes)
	m.values.Add(values)
	return m.Over()
}

// Over reports how the input is over its budget: "" if it is not.
func (m *Meter) Over() string {
	switch {
	case m.budget.Bytes > 0 && m.bytes.Load() > m.budget.Bytes:
		return fmt.Sprintf("the %s is larger than %d MiB, its aliases written out", m.input, m.budget.Bytes>>20)
	case m.budget.Values > 0 && m.values.Load() > m.budget.Values:
		return fmt.Sprintf("the %s has more than %d places where a value can begin", m.input, m.budget.Values)
	}
	return ""
}

// Int returns n as an int, on machines with 32 bits too.
func Int(n int64) int { return int(min(n, math.MaxInt)) }
