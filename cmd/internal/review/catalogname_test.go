package review

import "testing"

func TestCatalogName(t *testing.T) {
	for ref, want := range map[string]string{
		"catalog:configs":                          "configs",
		"catalog:releases/v4.16":                   "v4.16",
		"catalog:catalogs/community.yaml":          "community",
		"catalog:docker://quay.io/org/index:v4.20": "index",
		"catalog:oci://quay.io/org/index@sha256:6666666666666666666666666666666666666666666666666666666666666666": "index",
		"catalog:-":       "catalog",
		"catalog:My_Dir":  "catalog",
		"catalog:a/../..": "catalog",
	} {
		if got := CatalogName(ref); got != want {
			t.Errorf("%s: %s, not %s", ref, got, want)
		}
	}
}
