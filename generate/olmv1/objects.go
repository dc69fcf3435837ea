package olmv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// typed adds a typed object, without the nulls, the empty mappings of a Deployment (deviation EmptyStub) and the empty
// status that Go's encoding adds.
func (r *renderer) typed(v any) {
	m, err := olm.Value(v)
	r.fail(err)
	if m["kind"] == "Deployment" {
		olm.TrimDeployment(m["spec"])
	}
	r.author(m)
}

// author adds an object that the bundle does not ship.
func (r *renderer) author(m map[string]any) {
	o := object(m)
	o.Authored = true
	r.objects = append(r.objects, o)
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
		APIVersion: olm.Text(m["apiVersion"]),
		Kind:       olm.Text(m["kind"]),
		Namespace:  olm.Text(meta["namespace"]),
		Name:       olm.Text(meta["name"]),
		Value:      m,
	}
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
