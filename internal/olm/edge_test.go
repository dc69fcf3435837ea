package olm

import (
	"testing"

	"github.com/blang/semver/v4"
)

// An entry updates what it replaces, skips, or has in its skipRange, in this order (OLM:
// pkg/controller/registry/resolver/cache/predicates.go).
func TestEdges(t *testing.T) {
	version := func(s string) *semver.Version {
		v := semver.MustParse(s)
		return &v
	}
	all := NewEdges("a.v1", []string{"a.v1", "a.v0"}, ">=0.5.0 <1.0.0")
	for _, c := range []struct {
		name    string
		edges   Edges
		from    string
		version *semver.Version
		want    string
	}{
		{"replaces", all, "a.v1", version("0.6.0"), FieldReplaces},
		{"skips", all, "a.v0", version("0.6.0"), FieldSkips},
		{"skipRange", all, "a.v0.6", version("0.6.0"), FieldSkipRange},
		{"outside of skipRange", all, "a.v2", version("2.0.0"), ""},
		{"without a version", all, "a.v2", nil, ""},
		{"no edges", NewEdges("", nil, ""), "a.v1", version("1.0.0"), ""},
		{"no name", NewEdges("", nil, ""), "", nil, ""},
		{"a skipRange that cannot be read", NewEdges("", nil, "one"), "a.v1", version("1.0.0"), ""},
	} {
		if got := c.edges.Field(c.from, c.version); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
