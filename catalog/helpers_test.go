package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/sourcetest"
	"github.com/olmgen/olmgen/source"
)

var (
	inDir, contents, withHint = sourcetest.InDir, sourcetest.Contents, sourcetest.WithHint

	raise = "\nhint: if you trust the input, raise the limits"
	small = source.Limits{MaxFileBytes: 1000, MaxTotalBytes: 2000, MaxFiles: 20}
)

// the smallest thing that looks like a bundle.
var goodFiles = map[string]string{
	"manifests/csv.yaml":        "kind: ClusterServiceVersion\n",
	"metadata/annotations.yaml": "annotations: {}\n",
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func open(t testing.TB, ref string, o Options) *Opened {
	t.Helper()
	s, err := Open(context.Background(), ref, o)
	if err != nil {
		t.Fatalf("open %s: %v", ref, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// properties returns those of a catalog as JSON.
func properties(t testing.TB, o *Opened) string {
	t.Helper()
	list, err := json.Marshal(o.Properties)
	must(t, err)
	return string(list)
}

// openError opens what must fail and gives error and hint in one string.
func openError(t testing.TB, ref string, o Options) string {
	t.Helper()
	s, err := Open(context.Background(), ref, o)
	if err == nil {
		t.Fatalf("open %s: no error, but %v", ref, contents(t, s.FS))
	}
	return withHint(err)
}

// choose returns options that choose a bundle.
func choose(pkg, channel, version string) (o Options) {
	o.Package, o.Channel, o.Version = pkg, channel, version
	return o
}

// warnings collects what Options.Source.Warn is told.
func warnings(o *Options) *[]string {
	list := new([]string)
	o.Source.Warn = func(format string, args ...any) { *list = append(*list, fmt.Sprintf(format, args...)) }
	return list
}

// plain returns options for a registry on loopback.
func plain(host string) Options {
	return Options{Source: source.Options{InsecureRegistries: []string{host}}}
}
