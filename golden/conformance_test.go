package golden

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// oracleCase is what a real OLM made of a real bundle (oracle/README.md).
type oracleCase struct {
	Bundle            string   `json:"bundle"`
	Command           string   `json:"command"`           // of olmgen, to make the same
	CatalogProperties string   `json:"catalogProperties"` // as OLM wrote them into the CSV
	TimingDependent   []string `json:"timingDependent"`   // objects that one installation had and another had not

	name string
	want []equal.Object
}

// Everything that a real OLM made is rendered, equal in every field, and nothing else is.
func TestConformance(t *testing.T) {
	corpus, oracle := corpustest.Oracle(t)
	files := corpustest.Glob(t, oracle, "olm-v0", "*", "*", "case.yaml")
	same, total := 0, 0
	for _, file := range files {
		c := readOracleCase(t, filepath.Dir(file))
		t.Run(c.name, func(t *testing.T) {
			differences := equal.Differences(c.want, c.render(t, filepath.Join(corpus, "bundles")), equal.Options{Optional: c.TimingDependent})
			wrong := map[string]bool{}
			for _, d := range differences {
				t.Error(d.Text)
				wrong[d.Key] = true
			}
			n := len(slices.DeleteFunc(slices.Clone(c.want), func(o equal.Object) bool { return wrong[o.Key()] }))
			fmt.Printf("%s: equal %d of %d\n", c.name, n, len(c.want))
			same, total = same+n, total+len(c.want)
		})
	}
	fmt.Printf("conformance with OLM v0: %d cases, equal %d of %d objects\n", len(files), same, total)
}

func readOracleCase(t *testing.T, dir string) *oracleCase {
	t.Helper()
	c := &oracleCase{name: filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)}
	data, err := os.ReadFile(filepath.Join(dir, "case.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, c); err != nil {
		t.Fatal(err)
	}
	expected, err := os.ReadFile(filepath.Join(dir, "expected.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range c.TimingDependent { // cluster-scoped ones have no slash there
		if kind, name, _ := strings.Cut(key, " "); !strings.Contains(name, "/") {
			c.TimingDependent[i] = kind + " /" + name
		}
	}
	objects, err := equal.ReadObjects(expected)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if n, ok := normalize.Comparable(o); ok {
			c.want = append(c.want, n)
		}
	}
	return c
}

// render returns the normalized objects that the case's command renders. The command has no option for the catalog's
// properties, so they are the ones that OLM had.
func (c *oracleCase) render(t *testing.T, bundles string) []equal.Object {
	t.Helper()
	args, ok := strings.CutPrefix(strings.Join(strings.Fields(c.Command), " "), "olmgen render BUNDLE ")
	if !ok {
		t.Fatalf("not a command to render a bundle: %s", c.Command)
	}
	read, options, err := libraryOptions("", strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	var catalog struct {
		Properties []bundle.Property `json:"properties"`
	}
	if err := json.Unmarshal([]byte(c.CatalogProperties), &catalog); err != nil {
		t.Fatal(err)
	}
	options.Properties = catalog.Properties
	r, err := render(filepath.Join(bundles, filepath.FromSlash(c.Bundle)), read, options)
	if err != nil {
		t.Fatal(err)
	}
	return normalized(t, r.result.Objects)
}
