package output_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/transform"
)

// parses counts CRDs that were parsed in full, by the step that parsed them.
type parses struct{ crds, read, rendered, labelled, annotated, laidOut, variable int }

// TestParses counts how many CRDs are parsed in full on the way from a bundle to files. A CRD is skimmed when it is
// read unless its text is not plain, or it has a field that its type does not declare. After that, only these are
// parsed: one so near the limit of client-side apply that Argo CD's annotation depends on its exact size, one so large
// that etcd may refuse it, and one in which a Helm chart has variables (a conversion webhook, or OLM's annotation with
// the operator's namespace).
func TestParses(t *testing.T) {
	var got parses
	for _, dir := range corpustest.Glob(t, "..", "golden", "*", "bundle") {
		got.add(t, dir, plain(t, dir), false)
	}
	t.Logf("golden bundles: %+v", got)
	if want := (parses{crds: 24, read: 2, variable: 19}); got != want {
		t.Errorf("golden bundles: %+v, want %+v: the numbers of what is parsed may only go down", got, want)
	}
	if !corpustest.Set(t) {
		return
	}
	got = parses{}
	for _, dir := range corpustest.Bundles(t) {
		got.add(t, dir, os.DirFS(dir), true)
	}
	t.Logf("corpus: %+v", got)
	if got.read*24 > got.crds || got.rendered*350 > got.crds || got.labelled > 0 || got.annotated*35 > got.crds || got.laidOut > 0 {
		t.Errorf("corpus: more CRDs are parsed than before (43, 3, 0, 30 and 0 of 1072): %+v", got)
	}
}

// plain returns a golden bundle with its CRDs in the block style in which generators write them.
func plain(t *testing.T, dir string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range corpustest.Glob(t, dir, "*", "*") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		o, err := manifest.ReadOne(name, data)
		if err == nil && o.Kind == "CustomResourceDefinition" && !bytes.Contains(data, []byte("\n---")) {
			v, err := o.Value()
			if err != nil {
				t.Fatal(err)
			}
			data = manifest.Encode(v)
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.ToSlash(rel)] = &fstest.MapFile{Data: data}
	}
	return files
}

// add renders one bundle in two ways and lays it out in every layout. Each CRD is counted at the step that parses it.
func (n *parses) add(t *testing.T, dir string, fsys fs.FS, noCharts bool) {
	t.Helper()
	b, err := bundle.Read(fsys, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		return // the test of what is refused is another
	}
	seen := map[string]bool{}
	step := func(count *int) {
		for _, c := range b.CRDs {
			if c.Parsed() && !seen[c.Name] {
				seen[c.Name] = true
				*count++
			}
		}
	}
	n.crds += len(b.CRDs)
	step(&n.read)
	for _, o := range []generate.Options{{Certs: generate.CertsManager}, {Names: generate.NamesOLM, Certs: generate.CertsOLM},
		{Profile: generate.ProfileDescoped, Certs: generate.CertsManager}} {
		r, err := generate.Render(b, o)
		if err != nil {
			continue
		}
		step(&n.rendered)
		tree := output.SingleOperator(output.Operator{Name: "operator", Channel: "stable", Result: r}, nil)
		if err := transform.Metadata(tree.Objects, map[string]string{"a": "b"}, map[string]string{"c": "d"}); err != nil {
			t.Fatal(dir, err)
		}
		step(&n.labelled)
		for _, e := range transform.Engines {
			if err := transform.Annotate(tree.Objects, e); err != nil {
				t.Fatal(dir, err)
			}
		}
		step(&n.annotated)
		for _, l := range output.Layouts { // helm is the last one
			if l == output.LayoutHelm {
				step(&n.laidOut)
				if noCharts {
					continue // a chart is rendered many times, and e2e/helm makes one of every bundle
				}
			}
			if _, err := output.SingleOperator(output.Operator{Name: "operator", Channel: "stable", Result: r}, nil).Files(l); err != nil {
				t.Logf("%s: %s: %v", dir, l, err)
			}
		}
		step(&n.variable)
	}
}
