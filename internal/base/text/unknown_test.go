package text

import (
	"errors"
	"testing"
)

type color string

func TestCheckKnown(t *testing.T) {
	colors := []color{"red", "green"}
	for _, test := range []struct {
		got       color
		msg, hint string
	}{
		{got: "red"},
		{"gren", `unknown color "gren"`, "did you mean green? choose one of red, green"},
		{"ultramarine", `unknown color "ultramarine"`, "choose one of red, green"},
		{"", `unknown color ""`, "choose one of red, green"},
	} {
		var unknown *UnknownError
		switch err := CheckKnown("color", test.got, colors); {
		case test.msg == "" && err != nil:
			t.Errorf("%q is refused: %v", test.got, err)
		case test.msg != "" && !errors.As(err, &unknown):
			t.Errorf("%q: %v", test.got, err)
		case test.msg != "" && (unknown.Error() != test.msg || unknown.Hint() != test.hint):
			t.Errorf("%q: %s (%s)", test.got, unknown.Error(), unknown.Hint())
		}
	}
	if err := CheckKnown[color]("color", "mauve", nil); err != nil {
		t.Errorf("a word is refused where all are allowed: %v", err)
	}
}
