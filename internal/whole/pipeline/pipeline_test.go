package pipeline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/manifest"
)

// A file has what it says of catalogs, whatever else it says. What is wrong with it has a place.
func TestReadCI(t *testing.T) {
	enabled := CI{UpdateGraph: ModeSemver}
	enabled.FBC.Enabled = true
	enabled.FBC.Mapping = []Mapping{{"basic.yaml", "olm.template.basic", []string{"v4.17"}}}
	for _, test := range []struct {
		text, wrong string
		want        CI
	}{
		{"", "", CI{}},
		{"# updateGraph: semver-mode\n", "", CI{}},
		{"---\nreviewers: [a]\nmerge: true\n", "", CI{}},
		{"updateGraph: semver-mode\nreviewers: [a]\nfbc:\n  enabled: true\n  version_promotion_strategy: never\n  catalog_mapping:\n" +
			"  - {template_name: basic.yaml, type: olm.template.basic, catalog_names: [v4.17]}\n", "", enabled},
		{"a: 1\nfbc: {enabled: often}\n", "ci.yaml:2: fbc.enabled: has the wrong type", CI{}},
		{"a: b: c\n", "ci.yaml:1: not YAML", CI{}},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCI(dir)
		if test.wrong != "" {
			if e, ok := errors.AsType[*manifest.Error](err); !ok || !strings.Contains(e.Error(), test.wrong) {
				t.Errorf("%q: %v", test.text, err)
			}
			continue
		}
		if d := cmp.Diff(test.want, got); d != "" || err != nil {
			t.Errorf("%q: %v\n%s", test.text, err, d)
		}
	}
	if _, err := ReadCI(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
