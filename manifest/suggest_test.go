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
	Or     orList             `json:"or"`
	Hidden string             `json:"-"`
}

type inlined struct {
	Profile string `json:"profile"`
}

// orList is an object or a list of them.
type orList struct {
	One  *inlined
	List []inlined
}

func (*orList) UnmarshalJSON([]byte) error { return nil }

func TestSuggestion(t *testing.T) {
	for path, want := range map[string]string{
		"group":                "did you mean groups?",
		"groups[0].Profile":    "did you mean profile?",
		"groups[12].namespce":  "did you mean namespace?",
		"byName.a.profil":      "did you mean profile?",
		`byName["a.b"].profil`: "did you mean profile?",
		`byName.a["pro.file"]`: "did you mean profile?",
		"or.profil":            "did you mean profile?",
		"or[1].profil":         "did you mean profile?",
		"":                     "known are byName, groups, or",
		"zzzzzz":               "known are byName, groups, or",
		"groups[0].zzzzzz":     "known are namespace, profile",
		"groups[0].profile.x":  "",
		"nothing.here":         "",
	} {
		if got := Suggestion(reflect.TypeFor[suggested](), path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := Meant(reflect.TypeFor[suggested](), "zzzzzz"); got != "" {
		t.Errorf("%q, want nothing", got)
	}
	if diff := cmp.Diff([]string{"byName", "groups", "or"}, FieldsAt(reflect.TypeFor[suggested](), "")); diff != "" {
		t.Error(diff)
	}
}
