package catalog

import (
	"strings"
	"testing"

	"github.com/distribution/reference"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

var references = []string{
	"", "nginx", "nginx:1", "quay.io/a/b:v1", "quay.io/a/b@sha256:" + strings.Repeat("0", 64), "localhost/a", "Host/a",
	"localhost:5000/a/b", "[::1]:5000/a", "index.docker.io/a", "docker.io/a:b", "a/B", "quay.io/A/b", "quay.io/a:B",
	strings.Repeat("a", 64), strings.Repeat("a", 256), "quay.io/" + strings.Repeat("a", 256), "a//b", "a b", "a:", "a@",
	"a@sha256:" + strings.Repeat("0", 32), "a@md5:" + strings.Repeat("0", 32), "a@sha256:" + strings.Repeat("A", 64),
	"QUAY.IO/a", "quay.io/a__b", "quay.io/a___b", "quay.io/a..b", "quay.io/a--b", "a:" + strings.Repeat("t", 129), "é/a",
	"a\n", "a.b/İ", "a/b:c@d", "a@sha256+b64:" + strings.Repeat("0", 64), "-a/b", "a-.b/c", "K/a", "KELVIN.K/a",
}

// opms returns the answer of the package that opm uses.
func opms(image string) string {
	_, err := reference.ParseNormalizedNamed(image)
	if err == nil {
		return ""
	}
	if strings.HasSuffix(err.Error(), ") must be lowercase") {
		return errLowercase.Error()
	}
	return err.Error()
}

func sameReference(t *testing.T, image string) {
	t.Helper()
	got := ""
	if err := checkReference(image); err != nil {
		got = err.Error()
	}
	if want := opms(image); got != want {
		t.Errorf("%q: %q, want %q", image, got, want)
	}
}

func TestReference(t *testing.T) {
	for _, image := range references {
		sameReference(t, image)
	}
}

func FuzzReference(f *testing.F) {
	for _, image := range references {
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fuzztest.Limit(t, len(s))
		sameReference(t, s)
	})
}
