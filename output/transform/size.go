package transform

import (
	"bytes"
	"encoding/json"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
)

// Client-side apply stores the whole object as JSON in the annotation last-applied-configuration (kubectl:
// pkg/util/apply.go). All annotations of an object together have a limit (apimachinery:
// pkg/api/validation/objectmeta.go), and the object's own count twice. Some room is for what Argo CD adds: its
// tracking label or annotation, and the annotations of this package.
const (
	annotationLimit = 262_144
	roomForApply    = 2_048
	jsonPerByte     = 8 // what a byte of YAML becomes at most
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
	switch {
	case x.ReprintReason != "":
	case budget.AsJSON(o.Data) <= int64(limit):
		return false, nil
	case leastAsJSON(o.Data) > limit:
		return true, nil
	}
	v, err := x.Value()
	if err != nil {
		return false, err
	}
	data, err := json.Marshal(v)
	return len(data) > limit, err
}

// leastAsJSON returns a size that the JSON of a text of YAML has at least: its words, without the marks of YAML.
func leastAsJSON(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		words := bytes.Trim(line, " \n")
		if len(words) == 0 || words[0] == '#' {
			continue
		}
		n += len(words) - bytes.Count(words, []byte("'")) - bytes.Count(words, []byte(`\`)) - 3
		if i := bytes.Index(words, []byte(" #")); i >= 0 {
			n -= len(words) - i
		}
	}
	return n
}
