package catalog_test

import (
	"maps"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
)

func TestUpdates(t *testing.T) {
	e := catalog.Entry{Name: "a.v2.0.0", Replaces: "a.v1.9.0", Skips: []string{"a.v1.8.0"}, SkipRange: ">=1.5.0 <2.0.0"}
	v := func(s string) *semver.Version { v := semver.MustParse(s); return &v }
	for _, c := range []struct {
		name    string
		version *semver.Version
		entry   catalog.Entry
		want    catalog.EdgeKind
	}{
		{"a.v1.9.0", v("1.9.0"), e, catalog.Replaces},
		{"a.v1.9.0", nil, e, catalog.Replaces},
		{"a.v1.8.0", v("1.8.0"), e, catalog.Skips},
		{"a.v1.5.0", v("1.5.0"), e, catalog.SkipRange},
		{"a.v1.5.0", nil, e, catalog.NoEdge},
		{"a.v1.4.0", v("1.4.0"), e, catalog.NoEdge},
		{"a.v2.0.0", v("2.0.0"), e, catalog.NoEdge},
		{"a.v1.5.0-rc.1", v("1.5.0-rc.1"), e, catalog.NoEdge},
		{"a.v1.5.0", v("1.5.0"), catalog.Entry{SkipRange: "before 2"}, catalog.NoEdge},
		{"", v("1.0.0"), catalog.Entry{}, catalog.NoEdge},
	} {
		if got := c.entry.Updates(c.name, c.version); got != c.want {
			t.Errorf("%q %v: %q, want %q", c.name, c.version, got, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	e := catalog.Entry{Name: "a.v3.0.0", Replaces: "a.v2.0.0", Skips: []string{"a.v1.1.0", "a.v1.0.0"}}
	got, want := e.Fields(), map[catalog.EdgeKind]string{catalog.Replaces: "a.v2.0.0", catalog.Skips: "a.v1.0.0, a.v1.1.0"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if e.Skips[0] != "a.v1.1.0" {
		t.Error("the entry has changed")
	}
}
