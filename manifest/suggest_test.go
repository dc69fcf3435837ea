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

func TestFirstOf(t *testing.T) {
	for most, want := range map[int]string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c"} {
		if got := FirstOf(most, []string{"a", "b", "c"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
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
