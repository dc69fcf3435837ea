package transform

import (
	"bytes"
	"encoding/json"

	"github.com/olmgen/olmgen/manifest"
)

// annotationLimit is what all annotations of an object may have together (apimachinery: pkg/api/validation/objectmeta.go).
const annotationLimit = 262_144

// tooLarge reports whether client-side apply, which puts the whole object as JSON into an annotation, would be refused
// (kubectl: pkg/util/apply.go). The object is only decoded if its text is near the limit.
func tooLarge(x *manifest.Object, text []byte) (bool, error) {
	if least, most := sizeAsJSON(text); x.Fresh == "" && most <= annotationLimit {
		return false, nil
	} else if x.Fresh == "" && least > annotationLimit {
		return true, nil
	}
	v, err := x.Value()
	if err != nil {
		return false, err
	}
	data, err := json.Marshal(v)
	return len(data) > annotationLimit, err
}

// sizeAsJSON bounds the size of a YAML text as JSON. Each line becomes at least its words, without the marks of YAML, and
// at most its bytes, escaped, with quotes and brackets around every value.
func sizeAsJSON(text []byte) (least, most int) {
	block := 0 // the indentation of a block of text: what is further in is text
	for line := range bytes.Lines(text) {
		words := bytes.TrimLeft(line, " ")
		indent := len(line) - len(words)
		if words = bytes.TrimRight(words, " \n"); len(words) == 0 {
			most += len(line) + 2
			continue
		}
		if block < 0 {
			block = indent
		}
		if block > 0 && indent >= block {
			most += indent - block
		} else {
			block = 0
		}
		if last := words[bytes.LastIndexByte(words, ' ')+1]; block == 0 && (last == '|' || last == '>') {
			block = -1
		}
		if words[0] != '#' {
			least += len(words) - bytes.Count(words, []byte("'")) - bytes.Count(words, []byte(`\`)) - 3
			if i := bytes.Index(words, []byte(" #")); i >= 0 {
				least -= len(words) - i
			}
		}
		most += len(words) + 10 // {"key":"value"}, and what follows
		for _, c := range words {
			switch {
			case c < ' ', c >= 0x7f, c == '<', c == '>', c == '&', c == '"', c == '\\': // \u003c
				most += 5
			case c == '{', c == '[', c == ',', c == ':', c == '-':
				most += 4
			}
		}
	}
	return least, most
}
