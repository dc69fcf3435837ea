package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
)

// oracleCase is what a real OLM made of a real bundle (oracle/README.md).
type oracleCase struct {
	Bundle            string   `json:"bundle"`
	Command           string   `json:"command"`           // of olmgen, to make the same
	CatalogProperties string   `json:"catalogProperties"` // as OLM wrote them into the CSV
	TimingDependent   []string `json:"timingDependent"`   // objects that one installation had and another had not

	name string
	want map[string]map[string]any // by kind, namespace and name
}

// Everything that a real OLM made is rendered, equal in every field, and nothing else is.
func TestConformance(t *testing.T) {
	corpus, oracle := os.Getenv("OLMGEN_CORPUS"), os.Getenv("OLMGEN_ORACLE")
	if corpus == "" || oracle == "" {
		t.Skip("OLMGEN_CORPUS and OLMGEN_ORACLE name the directories with real bundles and with what OLM made of them: not set")
	}
	files, err := filepath.Glob(filepath.Join(oracle, "olm-v0", "*", "*", "case.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases below %s/olm-v0: %v", oracle, err)
	}
	equal, total := 0, 0
	for _, file := range files {
		c := readOracleCase(t, filepath.Dir(file))
		t.Run(c.name, func(t *testing.T) {
			n := c.compare(t, c.render(t, filepath.Join(corpus, "bundles")))
			fmt.Printf("%s: equal %d of %d\n", c.name, n, len(c.want))
			equal, total = equal+n, total+len(c.want)
		})
	}
	fmt.Printf("conformance with OLM v0: %d cases, equal %d of %d objects\n", len(files), equal, total)
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
	c.want = map[string]map[string]any{}
	for _, document := range bytes.Split(expected, []byte("\n---\n")) {
		o := decode(t, document)
		c.want[oracleKey(o)] = o
	}
	return c
}

// render gives the objects that the case's command renders, reduced to what a case tells of. The catalog's properties, which the command can't
// be told, are the ones that OLM had.
func (c *oracleCase) render(t *testing.T, bundles string) map[string]map[string]any {
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
	got := map[string]map[string]any{}
	for _, o := range r.result.Objects {
		m := reduce(decode(t, o.Data))
		got[oracleKey(m)] = m
	}
	return got
}

// compare reports what differs and gives the number of objects that are equal. Objects that depend on OLM's timing may be missing on either
// side and count as equal then.
func (c *oracleCase) compare(t *testing.T, got map[string]map[string]any) int {
	t.Helper()
	equal := 0
	for _, key := range slices.Sorted(maps.Keys(c.want)) {
		g, ok := got[key]
		if !ok {
			if slices.Contains(c.TimingDependent, key) {
				equal++
				continue
			}
			t.Errorf("missing: %s", key)
			continue
		}
		diffs := differences(kindOf(g), "", c.want[key], g)
		for _, d := range diffs {
			t.Errorf("%s: %s", key, d)
		}
		if len(diffs) == 0 {
			equal++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if c.want[key] == nil && !slices.Contains(c.TimingDependent, key) {
			t.Errorf("OLM did not make: %s", key)
		}
	}
	return equal
}

func decode(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal(document, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func kindOf(o map[string]any) string {
	kind, _ := o["kind"].(string)
	return kind
}

// oracleKey names an object as the cases do.
func oracleKey(o map[string]any) string {
	meta := at(o, "metadata")
	name := fmt.Sprint(meta["name"])
	if ns, ok := meta["namespace"].(string); ok {
		name = ns + "/" + name
	}
	return kindOf(o) + " " + name
}
