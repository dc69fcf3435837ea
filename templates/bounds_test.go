package templates_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/templates"
)

// TestBounds has templates ask for much with few characters.
func TestBounds(t *testing.T) {
	for text, want := range map[string]string{
		`{{ range until 300000000 }}{{ end }}`:                                      "error calling until: 300000000 numbers are more than 65536",
		`{{ range until -300000000 }}{{ end }}`:                                     "error calling until: 300000000 numbers are more than 65536",
		`{{ range untilStep 0 300000000 2 }}{{ end }}`:                              "error calling untilStep: 150000000 numbers are more than 65536",
		`{{ range until -9223372036854775808 }}{{ end }}`:                           "numbers are more than 65536",
		`{{ range untilStep -9223372036854775808 9223372036854775807 1 }}{{ end }}`: "numbers are more than 65536",
		`{{ $x := seq -9223372036854775808 9223372036854775807 }}`:                  "numbers are more than 65536",
		`{{ $x := seq 300000000 }}`:                                                 "error calling seq: 299999999 numbers are more than 65536",
		`{{ $x := seq 5 300000000 }}`:                                               "error calling seq: 299999995 numbers are more than 65536",
		`{{ $x := seq 0 -2 -300000000 }}`:                                           "error calling seq: 150000000 numbers are more than 65536",
		`{{ $x := repeat 300000000 "ab" }}`:                                         "error calling repeat: 300000000 times 2 characters are more than 4 MiB",
		`{{ $x := repeat -1 "ab" }}`:                                                "error calling repeat: repeat: -1 is below zero",
		`{{ $x := indent 300000000 "a" }}`:                                          "error calling indent: 300000000 times 1 characters are more than 4 MiB",
		`{{ $x := nindent 300000000 "a" }}`:                                         "error calling nindent: 300000000 times 1 characters are more than 4 MiB",
		"{{ range 300000000 }}\n# one more line\n{{ end }}":                         "the template yields more than 4 MiB",
		`{{ range until 3 }}{{ end }}{{ $x := untilStep 3 0 -1 }}{{ $y := untilStep 0 3 0 }}{{ $z := seq 1 2 }}` +
			`{{ $u := repeat 3 "ab" | indent 2 | nindent 2 }}`: "",
	} {
		fuzztest.LimitMemory(t, len(text), 100_000_000)
		s, err := templates.Load(fstest.MapFS{"namespace.yaml": {Data: []byte(text + "\napiVersion: v1\nkind: Namespace\n" +
			"metadata:\n  name: a\n")}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Execute("namespace.yaml", templates.Namespace{})
		switch {
		case err == nil && want == "":
		case err == nil || want == "" || !strings.HasPrefix(err.Error(), "namespace.yaml") || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v", text, err)
		}
	}
}
