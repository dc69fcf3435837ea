package catalog

import (
	"io"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/golden/sourcetest"
	"github.com/olmgen/olmgen/source"
)

var catalogLabels = map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}

// documentsOf calls fn for each document of a catalog.
func documentsOf(t testing.TB, path string, fn func(file string, d document)) {
	t.Helper()
	files, err := source.Open(t.Context(), "catalog:"+path, source.Options{Limits: source.Limits{MaxFileBytes: 1 << 30}})
	must(t, err)
	defer files.Close()
	w := &walk{files: files, limits: Options{}.catalogLimits(), add: func(file string, d document) error {
		fn(file, d)
		return nil
	}}
	must(t, w.read(t.Context()))
}

// A catalog is never whole in memory, in either form: what is of no use to olmgen takes no place.
func TestLargeCatalogIsStreamed(t *testing.T) {
	fuzztest.Seconds(t)
	for name, doc := range map[string]string{
		"YAML": "---\nschema: other\ndata: " + strings.Repeat("x", 60_000) + "\n",
		"JSON": `{"schema": "other", "data": "` + strings.Repeat("x", 60_000) + "\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			const copies = 600
			var readers []io.Reader
			for range copies {
				readers = append(readers, strings.NewReader(doc))
			}
			defer debug.SetGCPercent(debug.SetGCPercent(20)) // what is left of other tests is no measure
			runtime.GC()
			peak := sourcetest.WatchHeap()
			_, err := readFiles(t.Context(), "-", Options{Source: source.Options{Stdin: io.MultiReader(readers...)}})
			must(t, err)
			if most, size := peak(), uint64(copies*len(doc)); most > size/2 {
				t.Errorf("%d MiB of memory for a catalog of %d MiB", most>>20, size>>20)
			}
		})
	}
}

// A large catalog in an image takes the memory of its compressed files.
func TestLargeCatalogImage(t *testing.T) {
	fuzztest.Seconds(t)
	const size = 40 << 20
	refs := func() []string { // the text is garbage after it
		one := "---\nschema: other\ndata: " + strings.Repeat("abcdefghij", 1000) + "\n"
		data := strings.Repeat(one, size/len(one))
		return sourcetest.Saved(t, sourcetest.Image(t, catalogLabels, sourcetest.Tar(t, map[string]string{"configs/c.yaml": data})))
	}()
	used := func() uint64 { runtime.GC(); return sourcetest.Heap() }
	before, most, n := used(), uint64(0), 0
	documentsOf(t, refs[0], func(string, document) {
		if n++; n%200 == 0 {
			most = max(most, used())
		}
	})
	if most = max(most, before) - before; most > size/2 {
		t.Errorf("%d MiB of memory for a catalog of %d MiB", most>>20, size>>20)
	}
	if n < 2000 {
		t.Errorf("%d documents", n)
	}
}

// The cases of github.com/joelanford/ignore, which opm uses, and what olmgen reads in directories.
func TestIndexIgnore(t *testing.T) {
	files := map[string]string{
		".indexignore":      "\n\t# Always ignore a anywhere\n\ta.yaml\n\n\t/ignore\n\t/really/**/file1.yaml\n*.json\n!keep.json\n",
		"dir1/.indexignore": "b.yaml\n/ignore\n!a.yaml\n",
	}
	kept := []string{"b.yaml", "c.yaml", "dir1/a.yaml", "dir1/c.yaml", "dir1/deep/a.yaml", "dir1/keep.json", "really/file2.yaml"}
	ignored := []string{"a.yaml", "deep/a.yaml", "dir1/b.yaml", "dir1/deep/b.yaml", "dir1/ignore/c.yaml", "ignore/c.yaml",
		"really/file1.yaml", "really/long/file1.yaml", "really/long/path/file1.yaml", "x.json", "dir1/x.json"}
	for _, p := range slices.Concat(kept, ignored) {
		files[p] = `{"schema": "x"}`
	}
	inDir(t, files)
	got := map[string]bool{}
	documentsOf(t, ".", func(file string, _ document) { got[file] = true })
	same(t, "files", slices.Sorted(maps.Keys(got)), slices.Sorted(slices.Values(kept)))

	inDir(t, map[string]string{".indexignore": strings.Repeat("#", maxIgnore+1), "a.yaml": "a: b"})
	_, err := Read(t.Context(), ".", Options{})
	same(t, "a large .indexignore", withHint(err), ".: .indexignore: larger than 1 MiB")
}

// A bundle of a catalog in an image, whose objects are in an image of their own. The cache reads the catalog once.
func TestOpenFromCatalogImage(t *testing.T) {
	var blobs atomic.Int32
	host := sourcetest.Serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/catalog/blobs/") {
				blobs.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	sourcetest.Push(t, host+"/etcd:v1", sourcetest.Image(t, map[string]string{}, sourcetest.Tar(t, goodFiles)))
	sourcetest.Push(t, host+"/catalog:v1", sourcetest.Image(t, catalogLabels, sourcetest.Tar(t, map[string]string{"configs/c.yaml": "---\nschema: olm.package\nname: etcd\ndefaultChannel: alpha\n---\n{schema: olm.channel, package: etcd, name: alpha, entries: [{name: etcd.v1}]}\n" +
		"---\n{schema: olm.bundle, package: etcd, name: etcd.v1, image: " + host + "/etcd:v1, properties: []}\n"})))
	o := plain(host)
	o.Cache = &Cache{}
	before := int32(0)
	for i := range 3 {
		s := open(t, "catalog:oci://"+host+"/catalog:v1", o)
		same(t, "files", contents(t, s.FS), goodFiles)
		if i == 0 {
			before = blobs.Load()
		}
	}
	if n := blobs.Load(); n != before || n == 0 {
		t.Errorf("%d blobs are fetched, %d by the first", n, before)
	}
	got := openError(t, "catalog:oci://"+host+"/catalog:v1", Options{Source: source.Options{Offline: true}})
	if !strings.Contains(got, "images are not fetched offline") {
		t.Error(got)
	}
}
