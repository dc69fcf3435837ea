package adopt_test

import (
	"testing"

	"github.com/olmgen/olmgen/config/adopt"
	state "github.com/olmgen/olmgen/review/adopt"
	"github.com/olmgen/olmgen/review/findings"
)

func maps(t testing.TB, file []byte) (objects []map[string]any) {
	t.Helper()
	for _, o := range rendered(t, file) {
		objects = append(objects, o)
	}
	return objects
}

// A cluster that nobody has touched differs in nothing from what is declared for it, and everything that OLM made there
// is rendered.
func TestVerifyUntouched(t *testing.T) {
	for _, name := range dumps(t) {
		s, out := adopted(t, name, adopt.Options{})
		v := s.Verify(maps(t, out))
		if list := v.Findings(); len(list) > 0 {
			t.Errorf("%s: %d findings: %+v", name, len(list), list)
		}
		if n := v.Count(state.Equal) + v.Count(state.Filled); n < 10 || n != len(v.Objects) {
			t.Errorf("%s: %d of %d objects are equal", name, n, len(v.Objects))
		}
		_ = findings.Error
	}
}
