package corpus

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Versions are sorted as such, not as text, and what is no version is no bundle.
func TestPackages(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/1.10.0", "a/1.9.0", "a/1.10.0-rc1", "a/notes", "b/0.1.0", "empty"} {
		if err := os.MkdirAll(filepath.Join(root, "bundles", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range packages {
		for _, b := range p.Bundles {
			rel, _ := filepath.Rel(root, b)
			got = append(got, p.Name+" "+filepath.ToSlash(rel))
		}
	}
	if want := []string{"a bundles/a/1.9.0", "a bundles/a/1.10.0-rc1", "a bundles/a/1.10.0",
		"b bundles/b/0.1.0"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := Packages(t.TempDir()); err == nil {
		t.Error("an empty directory is a corpus")
	}
}

// Only what is explained is a refusal.
func TestRefusal(t *testing.T) {
	if class,
		_ := Refusal(errors.New("a.yaml:2: kind: OLM does not install Role of iam.services.k8s.aws/v1alpha1 from a bundle")); class != "unsupported-kind" {
		t.Errorf("%q", class)
	}
	if class, _ := Refusal(errors.New("a.yaml:2: something else")); class != "" {
		t.Errorf("%q", class)
	}
}
