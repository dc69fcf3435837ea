package templates

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/olmgen/olmgen/manifest"
)

// The encoders that Load puts behind actions. No template can name them: a name that a person writes begins with a
// letter here.
const (
	encodeText   = "_text"
	encodeValue  = "_value"
	encodeKey    = "_key"
	encodeFlow   = "_flow"
	encodeDouble = "_double"
	encodeSingle = "_single"
	encodeQuoted = "_quoted"
)

var encoders = map[string]any{
	encodeText:   flowValue,
	encodeValue:  value,
	encodeKey:    key,
	encodeFlow:   flow,
	encodeDouble: inDouble,
	encodeSingle: inSingle,
	encodeQuoted: quoted,
}

// flowValue prints a value on one line of a block: a structure as JSON.
func flowValue(v any) string {
	switch v := v.(type) {
	case string, bool, int32, nil:
		return manifest.Scalar(v)
	case manifest.Text:
		return manifest.Scalar(string(v))
	}
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.String && r.Type() != reflect.TypeFor[json.Number]():
		return manifest.Scalar(r.String())
	case r.Kind() == reflect.Pointer && !r.IsNil():
		return flowValue(r.Elem().Interface())
	}
	return manifest.Scalar(v)
}

// value prints a value behind "key:", structures on lines of their own: those of a mapping at indent, those of a list
// two less.
func value(indent int, v any) (string, error) {
	switch v.(type) {
	case string:
		return " " + flowValue(v), nil
	case manifest.Text, map[string]any, []any, map[string]string, []string:
		return manifest.Block(v, indent), nil
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct:
		data, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var plain any
		if err := d.Decode(&plain); err != nil {
			return "", err
		}
		return manifest.Block(plain, indent), nil
	}
	return " " + flowValue(v), nil
}

// key prints a key that begins at a column. YAML does not take a long one on the line of its value.
func key(column int, v any) string {
	k := flowValue(v)
	if len(k) > 120 {
		return "? " + k + "\n" + strings.Repeat(" ", column)
	}
	return k
}

// flow prints a value between brackets, where plain text could end at a comma.
func flow(v any) string {
	if _, ok := stringOf(v); ok {
		return quoted(v)
	}
	return flowValue(v)
}

// quoted prints values as one text, even where they are numbers. Each escape of Go is one of YAML too.
func quoted(values ...any) string {
	var words []string
	for _, v := range values {
		if v != nil {
			words = append(words, plainText(v))
		}
	}
	return strconv.QuoteToASCII(strings.Join(words, " "))
}

func inDouble(v any) string {
	q := quoted(v)
	return q[1 : len(q)-1]
}

func inSingle(v any) (string, error) {
	s := plainText(v)
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return "", errors.New("single quotes can't hold this text: use double quotes")
		}
	}
	return strings.ReplaceAll(s, "'", "''"), nil
}

// stringOf returns the text that v is, if it is one.
func stringOf(v any) (string, bool) {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.String || r.Type() == reflect.TypeFor[json.Number]() {
		return "", false
	}
	return r.String(), true
}

// plainText returns a value as a text: a number in digits, a structure as JSON.
func plainText(v any) string {
	if s, ok := stringOf(v); ok {
		return s
	}
	return flowValue(v)
}
