package transform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// copied is how much the operations "copy" of one patch may add to an object, in bytes of JSON: each can double it.
const copied = 4 << 20

func init() { jsonpatch.AccumulatedCopySizeLimit = copied }

// newJSONPatch reads a list of operations. They are applied to JSON.
func newJSONPatch(d *manifest.Document, v any, matches func(generate.Object) (bool, error)) (change, error) {
	if matches == nil {
		return change{}, d.Errorf("", "a JSON patch needs a target")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return change{}, d.Errorf("", "%v", err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return change{}, d.Errorf("", "is not a JSON patch: %v", err)
	}
	for i, op := range patch {
		// The library panics without a value where the path is empty.
		if kind := op.Kind(); op["value"] == nil && (kind == "add" || kind == "replace" || kind == "test") {
			return change{}, d.Errorf(fmt.Sprintf("[%d]", i), "%s needs a value", kind)
		}
	}
	return change{matches, func(o generate.Object) (*manifest.Object, error) {
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		before, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		after, err := patch.Apply(before)
		if err != nil {
			return nil, err
		}
		m, err := decodeJSON(after)
		if err != nil {
			return nil, err
		}
		return checked(o, m)
	}}, nil
}

// decodeJSON decodes an object and keeps every number as it is written.
func decodeJSON(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the patch leaves no object")
	}
	return m, nil
}
