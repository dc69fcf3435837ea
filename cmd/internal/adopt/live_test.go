package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// bundles are those that the clusters in testdata have, by package.
var bundles = map[string]string{
	"gatekeeping-operator": "live-bundles/gates", "memcached-operator": "../examples/memcached-operator/bundle",
	"porter-operator": "live-bundles/porter", "regatta-operator": "live-bundles/regatta", "gauge-operator": "live-bundles/meters",
	"radio-operator": "subscription-config/bundle",
}

// adopted reads a dump of testdata and returns what is declared for it.
func adopted(t testing.TB, name string, o adopt.Options) (*adopt.State, []byte) {
	t.Helper()
	d, err := dump.Read(t.Context(), []string{filepath.Join("testdata", name)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return adoptedDump(t, d, o)
}

func adoptedDump(t testing.TB, d *dump.Dump, o adopt.Options) (*adopt.State, []byte) {
	t.Helper()
	s, err := adopt.Read(d)
	if err != nil {
		t.Fatal(err)
	}
	return s, declared(t, s, o)
}

// declared returns what is declared for a state, with the bundles of golden if o names none.
func declared(t testing.TB, s *adopt.State, o adopt.Options) []byte {
	t.Helper()
	o.File, o.Directory = "olmgen.yaml", "operators"
	given := o.Sources != nil
	if !given {
		o.Sources = map[string]string{}
	}
	for _, g := range s.Groups {
		for _, op := range g.Operators {
			if given {
				continue
			}
			dir, ok := bundles[op.Package]
			if !ok {
				t.Fatalf("package %s", op.Package)
			}
			var err error
			if o.Sources[op.Package], err = filepath.Abs(filepath.Join("../../../golden", dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := adopt.Declare(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rendered returns the objects that a RenderConfig renders to.
func rendered(t testing.TB, file []byte) (objects []equal.Object) {
	t.Helper()
	c, err := config.Read("olmgen.yaml", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	r, err := c.Render(t.Context(), config.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	for _, x := range r.Objects {
		o, err := equal.Decode(x.Data)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}

// dumps are those of clusters with a real OLM ("make e2e CHECK=adopt UPDATE=1" records them).
func dumps(t testing.TB) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d dumps, %v", len(files), err)
	}
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	return names
}

// What is declared for a cluster with a real OLM renders to the objects that are in it: nothing differs, everything
// that OLM made is rendered, and apply changes no spec of a CSV.
func TestLive(t *testing.T) {
	for _, name := range dumps(t) {
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			s, out := adopted(t, name, adopt.Options{})
			if dir := os.Getenv("ADOPT_OUT"); dir != "" {
				_ = os.WriteFile(filepath.Join(dir, name), out, 0o644)
			}
			objects := asMaps(t, out)
			v := s.Verify(objects)
			if list := v.Findings(); len(list) > 0 || v.Count(adopt.Equal)+v.Count(adopt.Filled) != len(v.Objects) {
				t.Errorf("%d objects: %+v", len(v.Objects), list)
			}
			// the names of webhooks and the selectors by UID must be those of the cluster: nothing is masked before
			var want, got []equal.Object
			for _, x := range objects {
				o := equal.Object(x)
				object := s.Dump.Get(o.Kind(), text(o, "namespace"), text(o, "name"))
				if object == nil {
					t.Errorf("not in the cluster: %s", o.Key())
					continue
				}
				if o.Kind() == "ClusterServiceVersion" {
					if d := cmp.Diff(object.Value()["spec"], o["spec"]); d != "" {
						t.Errorf("%s: apply would change spec (-cluster +rendered):\n%s", o.Key(), d)
					}
				}
				if n, ok := normalize.Comparable(o); ok {
					got = append(got, n)
				}
				if n, ok := normalize.Comparable(object.Value()); ok {
					want = append(want, n)
				}
			}
			if len(got) < 10 {
				t.Errorf("only %d objects", len(got))
			}
			if d := equal.Diff(want, got, equal.Options{}); d != "" {
				t.Error(d)
			}
		})
	}
}

func text(o equal.Object, field string) string {
	meta, _ := o["metadata"].(map[string]any)
	s, _ := meta[field].(string)
	return s
}
