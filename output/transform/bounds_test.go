package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/generate"
)

// A patch of a few characters cannot make an object without end, and no pattern a program without end.
func TestPatchBounds(t *testing.T) {
	var copies strings.Builder
	fmt.Fprintf(&copies, `[{"op":"add","path":"/metadata/annotations","value":{"a":%q}}`, strings.Repeat("x", 1000))
	for i := range 30 {
		fmt.Fprintf(&copies, `,{"op":"copy","from":"/metadata/annotations","path":"/metadata/annotations/b%d"}`, i)
	}
	copies.WriteString("]")
	kind := &Target{Kind: "ConfigMap"}
	for want, p := range map[string]Patch{
		"":                    {Target: kind, Patch: `[{"op":"copy","from":"/metadata/name","path":"/metadata/generateName"}]`},
		"4194304":             {Target: kind, Patch: copies.String()},
		"at most 4096 can be": {Target: &Target{Name: strings.Repeat("(.*a?)*", 40_000)}, Patch: "[]"},
	} {
		_, err := Apply([]generate.Shared{object(t, bare("v1", "ConfigMap"))}, "p", p, func(generate.Shared) bool { return true })
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
