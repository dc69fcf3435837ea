package olmv1

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/manifest"
)

// typed makes an Object of a typed one, without the nulls and the empty status that Go's encoding adds.
func typed(v any) (Object, error) {
	m, err := manifest.Typed(v)
	if err != nil {
		return Object{}, err
	}
	dropNulls(m)
	return authored(m), nil
}

// authored makes an Object of the value of one that the bundle does not ship.
func authored(m map[string]any) Object {
	o := object(m)
	o.Authored = true
	return o
}

// object makes an Object of its value.
func object(m map[string]any) Object {
	if saysNothing(m["status"]) {
		delete(m, "status")
	}
	meta, _ := m["metadata"].(map[string]any)
	if t, ok := meta["creationTimestamp"]; ok && t == nil {
		delete(meta, "creationTimestamp")
	}
	return Object{
		APIVersion: stringOf(m["apiVersion"]),
		Kind:       stringOf(m["kind"]),
		Namespace:  stringOf(meta["namespace"]),
		Name:       stringOf(meta["name"]),
		Value:      m,
	}
}

func stringOf(v any) string {
	s, _ := v.(string)
	return s
}

func kind(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// child returns a mapping inside another, made if it is not there.
func child(m map[string]any, key string) map[string]any {
	c, ok := m[key].(map[string]any)
	if !ok {
		c = map[string]any{}
		m[key] = c
	}
	return c
}

// dropNulls removes keys without a value at any depth.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, x any) bool { return x == nil })
		for _, x := range v {
			dropNulls(x)
		}
	case []any:
		for _, x := range v {
			dropNulls(x)
		}
	}
}

// saysNothing reports whether a value holds nothing but empty mappings, lists and texts.
func saysNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		for _, x := range v {
			if !saysNothing(x) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// lastOfEach leaves out objects that a later one would overwrite (deviation DuplicateObject).
func lastOfEach(objects []Object) []Object {
	last := make(map[[4]string]int, len(objects))
	for i, o := range objects {
		last[o.identity()] = i
	}
	out := make([]Object, 0, len(last))
	for i, o := range objects {
		if last[o.identity()] == i {
			out = append(out, o)
		}
	}
	return out
}

func (o Object) identity() [4]string {
	return [4]string{manifest.GroupOf(o.APIVersion), o.Kind, o.Namespace, o.Name}
}
