package catalog

import "testing"

func TestNearestVersion(t *testing.T) {
	known := []string{"1.16.5", "1.10.0", "1.2.0", "1.12.1", "candidate"}
	for got, want := range map[string]string{
		"1.99.0": "1.16.5", "v1.99.0": "1.16.5", "1.13.0": "1.12.1", "1.12.0": "1.12.1", "1.12.9": "1.12.1", "0.1.0": "1.2.0",
		"1.99": "", "candidat": "",
	} {
		if near := nearestVersion(got, known); near != want {
			t.Errorf("%s: %q, want %q", got, near, want)
		}
	}
	if near := nearestVersion("1.0.0", []string{"stable"}); near != "" {
		t.Error(near)
	}
}
