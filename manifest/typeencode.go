package manifest

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// Typed returns the JSON-like value of a typed Kubernetes object. Its whole numbers are exact (int64).
func Typed(v any) (map[string]any, error) {
	if m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(v); err == nil && asJSON(m) {
		return m, nil
	}
	return typedByJSON(v)
}

func typedByJSON(v any) (m map[string]any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return m, kjson.UnmarshalCaseSensitivePreserveInts(b, &m)
}

// asJSON reports whether JSON surely says the same of a value that the converter made: it rounds numbers of 32 bits
// otherwise, and replaces what is not UTF-8.
func asJSON(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !asJSON(x) })
	case map[string]any:
		for key, x := range v {
			if !utf8.ValidString(key) || !asJSON(x) {
				return false
			}
		}
		return true
	}
	_, whole := v.(int64)
	_, truth := v.(bool)
	return v == nil || whole || truth
}
