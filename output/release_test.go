package output_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
)

// large returns a CRD of n bytes that do not compress well.
func large(name string, n int) generate.Object {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	const group, kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\nspec: {}\n", group, kind, name)
	for b.Len() < n {
		fmt.Fprintf(&b, "# %016x\n", random.Uint64())
	}
	return generate.Object{APIVersion: group, Kind: kind, Name: name, Data: []byte(b.String())}
}

// A chart whose release Helm cannot store is a warning that says what to do. CRDs in crds/ are stored once.
func TestReleaseWarnings(t *testing.T) {
	fuzztest.Seconds(t)
	for _, c := range []struct {
		bytes     int
		crds      helm.CRDs
		want      string
		directory bool
	}{
		{100_000, helm.CRDsTemplates, "", false},
		{800_000, helm.CRDsTemplates, "Put the CRDs into crds/: it then takes 0.", true},
		{800_000, helm.CRDsDirectory, "", false},
		{2_000_000, helm.CRDsTemplates, "Store releases in a database", false},
		{2_000_000, helm.CRDsDirectory, "Store releases in a database", false},
	} {
		b := read(t, "../examples/memcached-operator/bundle")
		r, err := generate.Render(b, generate.Options{Namespace: "cache", Templates: ownTemplates(t)})
		if err != nil {
			t.Fatal(err)
		}
		r.Objects = append(r.Objects, large("larges.example.com", c.bytes))
		tree := output.SingleOperator(output.Operator{Name: b.Package, Result: r}, ownTemplates(t))
		tree.HelmCRDs = c.crds
		files, err := tree.Files(output.LayoutHelm)
		if err != nil {
			t.Fatal(err)
		}
		warnings, directory, err := tree.ReleaseWarnings(files)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(warnings, "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || directory != c.directory {
			t.Errorf("%d bytes in %s: %q, %v, want %q", c.bytes, c.crds, got, directory, c.want)
		}
		if got != "" && !strings.Contains(got, "chart memcached-operator: a release takes about ") {
			t.Errorf("the chart or its size is missing: %s", got)
		}
	}
}
