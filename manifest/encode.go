package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// Encode prints an object in olmgen's one form: apiVersion, kind, metadata (name, namespace, labels, annotations
// first), the rest sorted by key; two spaces, LF, a final newline. Values are what JSON knows: map[string]any, []any,
// string, bool, nil, int, int64, uint64, float64, json.Number.
func Encode(object map[string]any) []byte {
	e := encoder{yamltext.Buffer()}
	defer yamltext.Free(e.buf)
	top := firstKeys(object, "apiVersion", "kind", "metadata")
	e.mapping(object, top, 0, false, func(k string, v any, indent int) {
		if m, ok := v.(map[string]any); ok && k == "metadata" && len(m) > 0 {
			e.buf.WriteByte('\n')
			e.mapping(m, firstKeys(m, "name", "namespace", "labels", "annotations"), indent, false, e.below)
			return
		}
		e.below(k, v, indent)
	})
	return bytes.Clone(e.buf.Bytes())
}

// Text is a value that Block has printed already; Block prints it as it is.
type Text string

// Block prints a value as it stands behind "key:", on the same line (" text") or on lines of its own ("\n  a: b"):
// those of a mapping and of a text at indent, those of a list two less. There is no final newline. Besides what Encode
// knows it takes map[string]string, []string, []map[string]any and Text.
func Block(v any, indent int) string {
	switch x := v.(type) {
	case Text:
		return string(x)
	case map[string]string:
		m := make(map[string]any, len(x))
		for k, text := range x {
			m[k] = text
		}
		v = m
	case []string:
		v = text.Values(x)
	case []map[string]any:
		v = text.Values(x)
	}
	e := encoder{yamltext.Buffer()}
	defer yamltext.Free(e.buf)
	e.below("", v, indent)
	return string(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n")))
}

// firstKeys returns the keys of m sorted, but those named first.
func firstKeys(m map[string]any, first ...string) []string {
	out := make([]string, 0, len(m))
	for _, k := range first {
		if _, ok := m[k]; ok {
			out = append(out, k)
		}
	}
	n := len(out)
	for k := range m {
		if !slices.Contains(first, k) {
			out = append(out, k)
		}
	}
	slices.Sort(out[n:])
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

type encoder struct{ buf *bytes.Buffer }

const spaces = "                                                                "

func (e *encoder) pad(n int) {
	for ; n > len(spaces); n -= len(spaces) {
		e.buf.WriteString(spaces)
	}
	e.buf.WriteString(spaces[:n])
}

// mapping prints keys at an indentation; the first line of a mapping inside a sequence is already begun.
func (e *encoder) mapping(m map[string]any, keys []string, indent int, begun bool,
	value func(k string, v any, indent int),
) {
	for i, k := range keys {
		if i > 0 || !begun {
			e.pad(indent)
		}
		e.key(k, indent)
		value(k, m[k], indent+2)
	}
}

func (e *encoder) key(k string, indent int) {
	text := inline(k)
	if len(text) > maxKey {
		e.buf.WriteString("? " + text + "\n")
		e.pad(indent)
	} else {
		e.buf.WriteString(text)
	}
	e.buf.WriteByte(':')
}

// maxKey is how long a key can be that stands on the line of its value. YAML's own bound is 1,024 characters.
const maxKey = 120

func long(key string) bool { return len(inline(key)) > maxKey }

// below prints a value behind "key:"; nested lines of a mapping are at indent, those of a list two less.
func (e *encoder) below(_ string, v any, indent int) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			e.buf.WriteString(" {}\n")
			return
		}
		e.buf.WriteByte('\n')
		e.mapping(v, sortedKeys(v), indent, false, e.below)
	case []any:
		if len(v) == 0 {
			e.buf.WriteString(" []\n")
			return
		}
		e.buf.WriteByte('\n')
		e.sequence(v, indent-2, false)
	default:
		e.buf.WriteByte(' ')
		e.scalar(v, indent)
	}
}

// sequence prints "- " items at indent; the first line of a sequence inside a sequence is already begun.
func (e *encoder) sequence(s []any, indent int, begun bool) {
	for i, v := range s {
		if i > 0 || !begun {
			e.pad(indent)
		}
		e.buf.WriteString("- ")
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				e.buf.WriteString("{}\n")
				continue
			}
			e.mapping(v, sortedKeys(v), indent+2, true, e.below)
		case []any:
			if len(v) == 0 {
				e.buf.WriteString("[]\n")
				continue
			}
			e.sequence(v, indent+2, true)
		default:
			e.scalar(v, indent+2)
		}
	}
}

func (e *encoder) scalar(v any, indent int) {
	if s, ok := v.(string); ok && literal(s) {
		e.literal(s, indent)
		return
	}
	e.buf.WriteString(Scalar(v))
	e.buf.WriteByte('\n')
}

// literal prints a text of several lines as a block: "|", its lines at indent.
func (e *encoder) literal(s string, indent int) {
	e.buf.WriteByte('|')
	if c := strings.TrimLeft(s, "\n")[0]; c == ' ' || c == '\t' {
		e.buf.WriteByte('2')
	}
	body, ended := strings.CutSuffix(s, "\n")
	switch {
	case !ended:
		e.buf.WriteByte('-')
	case strings.HasSuffix(body, "\n"):
		e.buf.WriteByte('+')
	}
	e.buf.WriteByte('\n')
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			e.pad(indent)
			e.buf.WriteString(line)
		}
		e.buf.WriteByte('\n')
	}
}

// literal reports whether s is best printed as a block: several lines, all of them printable.
func literal(s string) bool {
	return strings.Contains(s, "\n") && strings.Trim(s, "\n \t") != "" && printable(s)
}

// Scalar prints a value that is neither mapping nor list on one line.
func Scalar(v any) string {
	switch v := v.(type) {
	case string:
		return inline(v)
	case json.Number:
		return v.String()
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("manifest: cannot print a %T", v)) // only values that JSON knows reach the encoder
	}
	return string(b)
}

// inline prints text on one line: plain where every YAML reader takes it for the same text, else quoted.
func inline(s string) string {
	switch {
	case s == "":
		return `""`
	case strings.ContainsAny(s, "\n") || !printable(s):
		return doubleQuoted(s)
	case isOther(s):
		return `"` + s + `"`
	case needsQuotes(s):
		if strings.Contains(s, "'") && !strings.ContainsAny(s, `"\`) {
			return `"` + strings.ReplaceAll(s, "\t", `\t`) + `"`
		}
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s
}

// isOther reports whether some YAML reader, 1.1 or 1.2, takes the plain text for a number, boolean, null or time.
func isOther(s string) bool {
	switch c := s[0] | 0x20; {
	case yamltext.SurelyText(s) && s[0] != '=' && s[0] != '<', c >= 'a' && c <= 'z' && len(s) > len("false"):
		return false // what most texts are
	case strings.ContainsAny(s, `"\`):
		return false
	}
	if _, ok := yamltext.Plain(s).(string); !ok || yamltext.IsTimestamp(s) || s == "=" || s == "<<" {
		return true
	}
	c := s[0]
	if c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') {
		return false
	}
	return strings.Trim(s, "0123456789_:.+-eExXoObBaAcCdDfF") == ""
}

func needsQuotes(s string) bool {
	switch c := s[0]; c {
	case '-':
		if len(s) == 1 || s[1] == ' ' || s[1] == '\t' || strings.HasPrefix(s, "---") {
			return true
		}
	case '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', ' ', '\t':
		return true
	}
	last := s[len(s)-1]
	return last == ' ' || last == '\t' || last == ':' || strings.HasPrefix(s, "...") ||
		strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.Contains(s, "\t")
}

func printable(s string) bool {
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r >= 0x20 && r <= 0x7e:
		case r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd || r == 0xfffe || r == 0xffff:
			return false
		}
	}
	return true
}

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case printable(string(r)):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
