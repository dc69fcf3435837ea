package templates

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"text/template"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// Every function that a template may call gives the same result whenever it is called with the same arguments, whatever the order of a map.
// This finds what no list names.
func TestFunctionsGiveTheSameTwice(t *testing.T) {
	fuzztest.Seconds(t)
	functions := Functions()
	big := map[string]any{}
	for i := range 30 {
		big[fmt.Sprint("k", i)] = i
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		for _, args := range arguments {
			text := "{{ " + name + args + " }}"
			first, ok := call(t, functions, text, big)
			for i := 0; ok && i < 3; i++ {
				if again, _ := call(t, functions, text, big); again != first {
					t.Errorf("%s gives %s, then %s", text, first, again)
					break
				}
			}
		}
	}
}

// arguments are tried on every function; those that do not fit are errors and are passed over.
var arguments = func() []string {
	values := []string{` "2001-12-14"`, " 3", " .m", " .l"}
	out := []string{""}
	for _, a := range values {
		out = append(out, a)
		for _, b := range values {
			out = append(out, a+b)
			for _, c := range values {
				out = append(out, a+b+c)
			}
		}
	}
	return out
}()

func call(t *testing.T, functions template.FuncMap, text string, m map[string]any) (string, bool) {
	tmpl, err := template.New("").Funcs(functions).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = tmpl.Execute(&b, map[string]any{"m": maps.Clone(m), "l": []any{"a", m, 3}})
	return b.String(), err == nil
}
