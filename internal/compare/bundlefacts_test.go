package compare_test

import (
	"slices"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/change"
)

// What the bundle says beside its CSV is judged by what it means: wider is no warning.
func TestBundleFacts(t *testing.T) {
	const catalogs, most = "com.redhat.openshift.versions", "olm.maxOpenShiftVersion"
	for _, c := range []struct{ what, old, now, want string }{
		{catalogs, "v4.6-v4.8", "", "info removed"},
		{catalogs, "v4.12-v4.19", "v4.12-v4.22", "info changed"},
		{catalogs, "v4.6-v4.8", "v4.6", "info changed"},
		{catalogs, "v4.9", "v4.6", "info changed"},
		{catalogs, "v4.5,v4.6", "v4.5", "info changed"},
		{catalogs, "", "v4.6", "warning added"},
		{catalogs, "v4.6", "=v4.6", "warning changed"},
		{catalogs, "v4.6", "v4.6-v4.8", "warning changed"},
		{catalogs, "v4.6", "v4.9", "warning changed"},
		{catalogs, "v4.6", "soon", "warning changed"},
		{most, "4.19", "4.22", "info changed"},
		{most, "4.9", "4.22", "info changed"},
		{most, "4.22", "4.19", "warning changed"},
		{most, "", "4.19", "warning added"},
		{most, "4.19", "", "info removed"},
		{"olm.package authorino", "0.6.0", "0.7.0", "warning changed"},
		{"olm.package authorino", "", "0.7.0", "warning added"},
		{"olm.package authorino", "0.6.0", "", "info removed"},
	} {
		states := [2]compare.State{}
		for i, value := range []string{c.old, c.now} {
			states[i], _ = rendered(t, reviewtest.Bundle(t, "../../golden/upgrades/ferry/from"))
			o := &states[i].Operators[0]
			o.Dependencies, o.Properties, o.Metadata = nil, nil, map[string]string{}
			switch {
			case value == "":
			case c.what == catalogs:
				o.Metadata[c.what] = value
			case c.what == most:
				o.Properties = []catalog.Property{{Type: most, Value: []byte(`"` + value + `"`)}}
			default:
				o.Dependencies = []catalog.Property{{Type: "olm.package",
					Value: []byte(`{"packageName": "authorino", "version": "` + value + `"}`)}}
			}
		}
		r := compared(t, states[0], states[1])
		got := lists.Map(r.Identity, func(c change.Change) string { return string(c.Severity) + " " + string(c.Change) + " " + c.Field })
		if want := []string{c.want + " " + c.what}; !slices.Equal(got, want) {
			t.Errorf("%s %q -> %q: %q, want %q", c.what, c.old, c.now, got, want)
		}
	}
}
