package cluster

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// Field decodes one field of an object. If the field is absent, into keeps its value.
func Field[T any](o *manifest.Object, into *T, path ...string) *manifest.Error {
	v, err := o.Get(path...)
	if err != nil {
		return asError(o, err)
	}
	if v == nil || direct(v, into) {
		return nil
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return o.Errorf(strings.Join(path, "."), "has the wrong type, the API server refuses it: %v", err)
	}
	return nil
}

// direct sets the types of most fields without a detour over JSON.
func direct(v, into any) bool {
	switch into := into.(type) {
	case *string:
		s, ok := v.(string)
		*into = s
		return ok
	case *map[string]string:
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		set := make(map[string]string, len(m))
		for key, value := range m {
			s, ok := value.(string)
			if !ok {
				return false
			}
			set[key] = s
		}
		*into = set
		return true
	}
	return false
}

// asError returns err as an error with a place.
func asError(o *manifest.Object, err error) *manifest.Error {
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		return e
	}
	return o.Errorf("", "%v", err)
}
