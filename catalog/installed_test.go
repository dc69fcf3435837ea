package catalog

import (
	"encoding/json"
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
)

// An installed release may be one that the catalog no longer has: a name that entries replace or skip, or a version.
func TestInstalled(t *testing.T) {
	version := func(v string) []Property {
		return []Property{{Type: olm.PropertyPackage, Value: json.RawMessage(`{"packageName":"a","version":"` + v + `"}`)}}
	}
	p := &Package{Name: "a", Bundles: []*Bundle{{Name: "unversioned"}, {Name: "first", Properties: version("1.0.0")}},
		Channels: []*Channel{{Name: "stable", Entries: []Entry{
			{Name: "first", Replaces: "base.v0.9.0", Skips: []string{"base-v0.8.0", "plain"}}}}}}
	for which, want := range map[string]string{
		"first": "first 1.0.0", "1.0.0": "first 1.0.0", "v1.0.0": "first 1.0.0",
		"base.v0.9.0": "base.v0.9.0 0.9.0", "0.9.0": "base.v0.9.0 0.9.0", "base-v0.8.0": "base-v0.8.0 0.8.0",
		"plain": "plain", "0.0.0": "a.v0.0.0 0.0.0", "2.0.0": "a.v2.0.0 2.0.0",
		"unversioned": "", "base": "", "base.v0.7.0": "base.v0.7.0 0.7.0", "other.v0.7.0": "", "": "",
	} {
		name, v, err := p.Installed(which)
		got := name
		if v != nil {
			got += " " + v.String()
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", which, got, err)
		}
	}
}
