package manifest

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type suggested struct {
	Groups []*struct {
		Namespace string `json:"namespace"`
		inlined   `json:",inline"`
	} `json:"groups,omitempty"`
	ByName map[string]inlined `json:"byName"`
	Hidden string             `json:"-"`
}

type inlined struct {
	Profile string `json:"profile"`
}

func TestSuggestion(t *testing.T) {
	for path, want := range map[string]string{
		"group":               "did you mean groups?",
		"groups[0].Profile":   "did you mean profile?",
		"groups[12].namespce": "did you mean namespace?",
		"byName.a.profil":     "did you mean profile?",
		"zzzzzz":              "known are byName, groups",
		"groups[0].zzzzzz":    "known are namespace, profile",
		"groups[0].profile.x": "",
		"nothing.here":        "",
	} {
		if got := Suggestion(reflect.TypeFor[suggested](), path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if diff := cmp.Diff([]string{"byName", "groups"}, FieldsAt(reflect.TypeFor[suggested](), "")); diff != "" {
		t.Error(diff)
	}
}
