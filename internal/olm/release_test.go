package olm_test

import (
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
)

// CSV names of real operators, and what is left of each without its version.
func TestBaseName(t *testing.T) {
	for _, c := range []struct{ csv, version, want string }{
		{"memcached-operator.v0.0.1", "0.0.1", "memcached-operator"},
		{"memcached-operator.0.0.1", "0.0.1", "memcached-operator"},
		{"memcached-operator-v0.0.1", "0.0.1", "memcached-operator"},
		{"memcached-operator-0.0.1", "0.0.1", "memcached-operator"},
		{"a.v1.2.3-rc.1", "1.2.3-rc.1", "a"},
		{"a.v1.2.3+build.5", "1.2.3+build.5", "a"},
		{"a.v1.2.3-alpha", "1.2.3", "a"},          // another version than the CSV's
		{"a.v1.2", "0.0.0", "a"},                  // no version in the CSV
		{"a.v1.2.3-0.1700000000.p", "1.2.3", "a"}, // a rebuild
		{"3scale-operator.v0.10.0", "", "3scale-operator"},
		{"operator-1.4-x.v2.0.0", "2.0.0", "operator-1.4-x"},
		{"a.v1", "1.0.0", "a.v1"}, // one number is no version
		{"a.v1", "", "a"},         // but one operator with a.v2
		{"a", "1.0.0", "a"},
		{".v1.0.0", "1.0.0", ".v1.0.0"},
		{".v1.0.0", "", ".v1.0.0"},
		{".v1", "", ".v1"},
		{"a.", "", "a."}, // no version, so no separator before it
		{"a.b", "1.0.0", "a.b"},
		{"", "", ""},
	} {
		if got := olm.BaseName(c.csv, c.version); got != c.want {
			t.Errorf("%s of version %s: got %q, want %q", c.csv, c.version, got, c.want)
		}
	}
}

func TestNameVersion(t *testing.T) {
	for csv, want := range map[string]string{"a.v1.2.3": "1.2.3", "a-1.2": "1.2.0", "a.v9": "9.0.0", "a": "", "": "", "a.v1.2.3-rc.1": "1.2.3-rc.1"} {
		got := ""
		if v := olm.NameVersion(csv); v != nil {
			got = v.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", csv, got, want)
		}
	}
}
