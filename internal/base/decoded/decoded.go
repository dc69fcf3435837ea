// Package decoded reads, changes and copies decoded YAML values by paths.
package decoded

import (
	"strconv"
	"strings"
)

// Segments splits "a.b[0].c" into a, b, 0, c; a key with dots is written ["a.b/c"].
func Segments(field string) []string {
	var out []string
	for field != "" {
		switch {
		case strings.HasPrefix(field, `["`):
			key, rest, _ := strings.Cut(field[2:], `"]`)
			out, field = append(out, key), rest
		case field[0] == '[':
			end := strings.IndexByte(field, ']')
			if end < 0 {
				return out
			}
			out, field = append(out, field[1:end]), field[end+1:]
		case field[0] == '.':
			field = field[1:]
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			out, field = append(out, field[:end]), field[end:]
		}
	}
	return out
}

// At follows keys of mappings and indexes of lists in a decoded value, and returns whether it gets there.
func At(v any, path []string) (any, bool) {
	for _, key := range path {
		found := false
		switch x := v.(type) {
		case map[string]any:
			v, found = x[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(x) {
				v, found = x[i], true
			}
		}
		if !found {
			return nil, false
		}
	}
	return v, true
}

// Set makes what is at a path of a decoded value what f makes of it, and returns the value. Of a path that leaves
// a list nothing changes; a mapping gets the key.
func Set(v any, path []string, f func(any) any) any {
	if len(path) == 0 {
		return f(v)
	}
	switch x := v.(type) {
	case map[string]any:
		x[path[0]] = Set(x[path[0]], path[1:], f)
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(x) {
			x[i] = Set(x[i], path[1:], f)
		}
	}
	return v
}

// Copy returns a copy of a decoded value, with what leaf, if it is not nil, makes of all but mappings and lists.
func Copy(v any, leaf func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = Copy(x, leaf)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = Copy(x, leaf)
		}
		return out
	}
	if leaf == nil {
		return v
	}
	return leaf(v)
}
