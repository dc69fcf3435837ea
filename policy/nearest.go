package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// unknownField is the error for the first field that a policy file does not have.
func (p *parser) unknownField(unknown []string) error {
	slices.SortStableFunc(unknown, func(a, b string) int { return p.LineOf(a) - p.LineOf(b) })
	field := unknown[0]
	parent, last := "", field
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		parent, last = field[:i], field[i+1:]
	}
	known := fieldsOf(reflect.TypeFor[file](), parent)
	return p.fail(field, "there are "+strings.Join(known, ", "), "unknown field%s", didYouMean(last, known))
}

// fieldsOf gives the names of the fields of the type at a path.
func fieldsOf(t reflect.Type, path string) []string {
	for _, segment := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("json") == segment {
				t = t.Field(i).Type
				break
			}
		}
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var names []string
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if name := t.Field(i).Tag.Get("json"); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// didYouMean names the word that is nearest to what was written; nothing if none is near.
func didYouMean(given string, known []string) string {
	best, distance := "", len(given)/2+1
	for _, k := range known {
		if d := edits(strings.ToLower(given), strings.ToLower(k), distance); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", best)
}

// edits counts the letters to insert, remove or replace to get from a to b, up to limit.
func edits(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
