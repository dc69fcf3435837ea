package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/base/budget"
)

// zipped writes the example's bundle with more objects, each made by unit, to a zip.
func zipped(t *testing.T, name string, n int, unit func(i int) string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	example := os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle"))
	noError(t, fs.WalkDir(example, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(example, path)
		noError(t, err)
		f, err := w.Create(path)
		noError(t, err)
		_, err = f.Write(data)
		return err
	}))
	for i := range n {
		f, err := w.Create(fmt.Sprintf("manifests/z%d.yaml", i))
		noError(t, err)
		_, err = f.Write([]byte(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a%d\n", i) + unit(i)))
		noError(t, err)
	}
	noError(t, w.Close())
	noError(t, os.WriteFile(name, out.Bytes(), 0o644))
	return name
}

// mostToRefuse is what all allocations come to until an input is refused, freed memory included. It is 391 MB for a
// million values that fit, and 402 MB for a document of 32 MiB as JSON, whose buffers double.
const mostToRefuse = 450_000_000

// Each of these inputs ends as an error with one sentence, before what is too much is held.
func TestHostileBudgets(t *testing.T) {
	fuzztest.Slow(t)
	const limits = "\nhint: if you trust the input, raise the limits (OLMGEN_LIMITS=2 in the environment)\n"
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	lists := zipped(t, at("lists.zip"), 3, func(int) string { return "x: [" + strings.Repeat("1,", 900_000) + "]\n" })
	texts := zipped(t, at("texts.zip"), 5, func(int) string { return "data:\n  a: " + strings.Repeat("a", 15<<20) + "\n" })
	one := zipped(t, at("one.zip"), 1, func(int) string { return "data:\n  a: " + strings.Repeat("a", 4<<20) + "\n" })
	many := zipped(t, at("many.zip"), 2100, func(int) string { return "data:\n  a: b\n" })
	values := zipped(t, at("values.zip"), 5, func(int) string { return "x: [" + strings.Repeat("1,", 280_000) + "]\n" })
	head := "schema: olm.package\nname: a\n---\nschema: olm.bundle\nname: a.v1\npackage: a\nimage: x\nproperties:\n- type: x\n  value: "
	large := strings.Repeat("a", 40_000_000)
	for name, text := range map[string]string{
		"c.yaml": head + large + "\n",
		"c.json": `{"schema":"olm.package","name":"` + large + `"}`,
		"d.yaml": "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n  data: {a: " + large + "}\n",
		"d.json": `{"kind":"List","items":[{"kind":"ClusterServiceVersion","data":"` + large + `"}]}`,
	} {
		noError(t, os.WriteFile(at(name), []byte(text), 0o644))
	}
	for _, c := range []struct{ name, args, want string }{
		{"lists", "render " + lists + " -n ns -o -", "manifests/z0.yaml:1: the document has more than 300000 places where a value can begin; " +
			"no Kubernetes object has so many" + limits},
		{"lists/diff", "diff " + lists + " " + lists, "manifests/z0.yaml:1: the document has more than 300000 places"},
		{"values", "render " + values + " -n ns -o -", "manifests: the bundle has more than 1000000 places where a value can begin" + limits},
		{"texts", "render " + texts + " -n ns -o -", "is over the limit of 64 MiB for all files together" + limits},
		{"one text", "render " + one + " -n ns -o -", "manifests/z0.yaml:1: the document is larger than 3 MiB: no API server stores such an object\n"},
		{"objects", "render " + many + " -n ns -o -", "manifests: more than 2000 objects" + limits},
		{"value of a catalog", "catalog validate " + at("c.yaml"), "c.yaml:10: document that starts in line 10: larger than 32 MiB" + limits},
		{"value of a catalog as JSON", "catalog validate " + at("c.json"), "c.json:1: document that starts in line 1: larger than 32 MiB" + limits},
		{"value of a dump", "adopt " + at("d.yaml"), "d.yaml:6: an object of more than 32 MiB: no cluster stores one" + limits},
		{"value of a dump as JSON", "adopt " + at("d.json"), "an object of more than 32 MiB: no cluster stores one" + limits},
		{"RenderConfig", "render -f " + at("d.yaml"), "the file is larger than 4 MiB" + limits},
	} {
		t.Run(c.name, func(t *testing.T) {
			fuzztest.LimitMemory(t, 1, mostToRefuse)
			var out bytes.Buffer
			if code := run(strings.Fields(c.args), strings.NewReader(""), &out, &out); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			if got := out.String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") > 2 {
				t.Errorf("got %.400q, want %q", got, c.want)
			}
		})
	}
	t.Setenv(budget.Variable, "2")
	defer budget.Raise(1)
	var out bytes.Buffer
	if code := run([]string{"images", many}, strings.NewReader(""), &out, &out); code != exitDone {
		t.Errorf("with twice the limits: exit code %d: %.200s", code, out.String())
	}
}
