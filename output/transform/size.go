package transform

import (
	"bytes"
	"encoding/json"

	"github.com/olmgen/olmgen/generate"
)

// Client-side apply stores the whole object as JSON in the annotation last-applied-configuration (kubectl:
// pkg/util/apply.go). All annotations of an object together have a limit (apimachinery:
// pkg/api/validation/objectmeta.go), and the object's own count twice. Some room is for what Argo CD adds: its
// tracking label or annotation, and the annotations of this package.
const (
	annotationLimit = 262_144
	roomForApply    = 2_048
	jsonPerByte     = 8 // what sizeAsJSON counts for a byte at most
)

// tooLarge reports whether the API server would refuse the object after client-side apply. The object is decoded only
// if its text is near the limit.
func tooLarge(o generate.Object) (bool, error) {
	if len(o.Data)*(jsonPerByte+1) <= annotationLimit-roomForApply && !bytes.ContainsRune(o.Data, '&') { // no anchors
		return false, nil
	}
	x, err := o.Manifest()
	if err != nil {
		return false, err
	}
	annotations, err := annotationsOf(o)
	if err != nil {
		return false, err
	}
	limit := annotationLimit - roomForApply
	for key, value := range annotations {
		s, _ := value.(string)
		limit -= len(key) + len(s)
	}
	if least, most := sizeAsJSON(o.Data); x.ReprintReason == "" && most <= limit {
		return false, nil
	} else if x.ReprintReason == "" && least > limit {
		return true, nil
	}
	v, err := x.Value()
	if err != nil {
		return false, err
	}
	data, err := json.Marshal(v)
	return len(data) > limit, err
}

// sizeAsJSON bounds the size of a YAML text as JSON. Each line becomes at least its words, without the marks of YAML,
// and at most its bytes, escaped, with quotes and brackets around every value.
func sizeAsJSON(text []byte) (least, most int) {
	block := 0 // the indentation of a block of text: what is further in is text
	for line := range bytes.Lines(text) {
		words := bytes.TrimLeft(line, " ")
		indent := len(line) - len(words)
		if words = bytes.TrimRight(words, " \n"); len(words) == 0 {
			most += len(line) + 2 // \n in a text
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
