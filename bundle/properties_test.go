package bundle

import (
	"encoding/json"
	"testing"
)

func TestRequirement(t *testing.T) {
	for _, c := range []struct{ kind, value, wantKind, wantValue string }{
		{"olm.gvk", `{"group":"g"}`, "olm.gvk.required", `{"group":"g"}`},
		{"olm.label", `{"label":"l"}`, "olm.label.required", `{"label":"l"}`},
		{"olm.package", `{"packageName":"p","version":"1.0.0"}`, "olm.package.required", `{"packageName":"p","versionRange":"1.0.0"}`},
		{"olm.constraint", `{"any":[]}`, "olm.constraint", `{"any":[]}`},
	} {
		got := requirement(Property{Type: c.kind, Value: json.RawMessage(c.value)})
		if got.Type != c.wantKind || string(got.Value) != c.wantValue {
			t.Errorf("%s %s: %s %s, want %s %s", c.kind, c.value, got.Type, got.Value, c.wantKind, c.wantValue)
		}
	}
}
