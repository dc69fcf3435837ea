package templates_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/templates"
)

// TestBounds has templates ask for much with few characters.
func TestBounds(t *testing.T) {
	for text, want := range map[string]string{
		`{{ range until 300000000 }}{{ end }}`:                                             "until would yield more than 4 MiB",
		`{{ range until -300000000 }}{{ end }}`:                                            "until would yield more than 4 MiB",
		`{{ range untilStep 0 300000000 2 }}{{ end }}`:                                     "untilStep would yield more than 4 MiB",
		`{{ range until -9223372036854775808 }}{{ end }}`:                                  " would yield more than 4 MiB",
		`{{ range untilStep -9223372036854775808 9223372036854775807 1 }}{{ end }}`:        " would yield more than 4 MiB",
		`{{ $x := seq -9223372036854775808 9223372036854775807 }}`:                         " would yield more than 4 MiB",
		`{{ $x := seq 300000000 }}`:                                                        "seq would yield more than 4 MiB",
		`{{ $x := seq 5 300000000 }}`:                                                      "seq would yield more than 4 MiB",
		`{{ $x := seq 0 -2 -300000000 }}`:                                                  "seq would yield more than 4 MiB",
		`{{ $x := repeat 300000000 "ab" }}`:                                                "error calling repeat: repeat would yield more than 4 MiB",
		`{{ $x := repeat -1 "ab" }}`:                                                       "error calling repeat: repeat: a count is below zero",
		`{{ $x := indent 300000000 "a" }}`:                                                 "error calling indent: indent would yield more than 4 MiB",
		`{{ $x := nindent 300000000 "a" }}`:                                                "error calling nindent: nindent would yield more than 4 MiB",
		`{{ $x := repeat 1000000 "a" }}{{ $y := replace "a" $x $x }}`:                      "error calling replace: replace would yield more than 4 MiB",
		`{{ $x := repeat 1000000 "a" }}{{ $y := join $x (until 1000) }}`:                   "error calling join: join would yield more than 4 MiB",
		`{{ $x := repeat 1000000 "a" }}{{ $y := regexReplaceAll "a" $x $x }}`:              "error calling regexReplaceAll: regexReplaceAll would yield more than 4 MiB",
		`{{ $x := repeat 1000000 "a" }}{{ $y := regexReplaceAllLiteral "a" $x $x }}`:       "would yield more than 4 MiB",
		`{{ $x := repeat 1000000 "a" }}{{ $y := regexReplaceAll ".*" $x "$0$0$0$0$0$0" }}`: "would yield more than 4 MiB",
		`{{ $x := repeat 1000000 "a" }}{{ $y := wrapWith 1 $x $x }}`:                       "error calling wrapWith: wrapWith would yield more than 4 MiB",
		`{{ $x := printf "%1000000000d" 1 }}`:                                              "error calling printf: printf would yield more than 4 MiB",
		`{{ $x := printf "%*d" 1000000000 1 }}`:                                            "error calling printf: printf would yield more than 4 MiB",
		`{{ $x := "\"" }}{{ range until 40 }}{{ $x = quote $x }}{{ end }}`:                 "error calling quote: quote would yield more than 4 MiB",
		`{{ $x := repeat 1000000 "a" }}{{ range until 100 }}{{ $y := upper $x }}{{ end }}`: "its functions yield more than 64 MiB",
		`{{ range 9000000000 }}{{ end }}`:                                                  "the template takes more than 524288 rounds of loops",
		`{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}`:                   "the template takes more than 524288 rounds of loops",
		"{{ range 300000000 }}\n# one more line\n{{ end }}":                                "the template yields more than 4 MiB",
		`{{ range until 3 }}{{ end }}{{ $x := untilStep 3 0 -1 }}{{ $y := untilStep 0 3 0 }}{{ $z := seq 1 2 }}` +
			`{{ $u := repeat 3 "ab" | indent 2 | nindent 2 }}`: "",
	} {
		t.Run(text, func(t *testing.T) {
			fuzztest.LimitMemory(t, len(text), 100_000_000)
			s, err := templates.Load(fstest.MapFS{"namespace.yaml": {Data: []byte(text + "\napiVersion: v1\nkind: Namespace\n" +
				"metadata:\n  name: a\n")}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Execute("namespace.yaml", views.Namespace{})
			switch {
			case err == nil && want == "":
			case err == nil || want == "" || !strings.HasPrefix(err.Error(), "namespace.yaml") || !strings.Contains(err.Error(), want):
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}
