package source

import (
	"archive/tar"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var catalogLabels = map[string]string{keyConfigs: "/configs"}

// walked returns what WalkCatalog finds: the file and line of each document, and its text.
func walked(t testing.TB, ref string, o Options) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, WalkCatalog(t.Context(), ref, o, func(d CatalogDocument) error {
		file, _ := strings.CutPrefix(d.File, ref+"/")
		found[fmt.Sprintf("%s:%d", file, d.Line)] = strings.TrimSpace(strings.TrimPrefix(string(d.Text), "---"))
		return nil
	}))
	return found
}

func doc(name string) string { return "---\nschema: olm.package\nname: " + name + "\n" }

// A catalog image has several layers, and files that opm reads whatever their names are.
func catalogLayers(t testing.TB) v1.Image {
	return imageOf(t, catalogLabels,
		tarOf(t, file("bin/opm", "\x7fELF"), dir("configs"), file("configs/a/catalog.yaml", doc("old")),
			file("configs/gone/c.yaml", doc("gone")), file("configs/b/index", doc("b")+doc("b2"))),
		tarOf(t, file("configs/a/catalog.yaml", doc("a")), file("configs/.wh.gone", ""),
			file("configs/.indexignore", "# opm does not read these\n*.md\n/tests/\n"), file("configs/README.md", "# no"),
			file("configs/tests/x.yaml", "no: catalog"), file("tmp/cache/big", strings.Repeat("x", 1000)),
			entry{name: "configs/link.yaml", kind: tar.TypeSymlink, link: "a/catalog.yaml"}))
}

func TestWalkCatalogImage(t *testing.T) {
	img := catalogLayers(t)
	want := map[string]string{
		"a/catalog.yaml:1": "schema: olm.package\nname: a", "link.yaml:1": "schema: olm.package\nname: a",
		"b/index:1": "schema: olm.package\nname: b", "b/index:4": "schema: olm.package\nname: b2",
	}
	var pulls atomic.Int32
	host := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
				pulls.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	push(t, host+"/catalog:v1", img)
	refs := append(savedAs(t, img), "oci://"+host+"/catalog:v1", "docker://"+host+"/catalog@"+digestOf(t, img))
	for _, ref := range refs {
		same(t, ref, walked(t, ref, Options{InsecureRegistries: []string{host}}), want)
	}
	// Catalogs keeps an image: the second time, nothing is fetched.
	kept := Options{Catalogs: &Catalogs{}, InsecureRegistries: []string{host}}
	same(t, "first", walked(t, refs[2], kept), want)
	before := pulls.Load()
	same(t, "second", walked(t, refs[2], kept), want)
	if n := pulls.Load() - before; n != 0 {
		t.Errorf("%d blobs are fetched again", n)
	}
	for _, ref := range refs {
		is, err := IsCatalogImage(t.Context(), ref, Options{InsecureRegistries: []string{host}})
		must(t, err)
		same(t, ref, is, true)
		same(t, "path of "+ref, Path("catalog:"+ref), Path(ref))
		same(t, "reference in a directory", In("d", "catalog:"+ref), "catalog:"+In("d", ref))
		same(t, "reference from a directory", From("d", "catalog:"+ref), "catalog:"+From("d", ref))
	}
}

// A bundle of a catalog in an image, whose objects are in an image of their own.
func TestOpenFromCatalogImage(t *testing.T) {
	host := serve(t, nil)
	push(t, host+"/etcd:v1", goodImage(t))
	push(t, host+"/catalog:v1", imageOf(t, catalogLabels, tarOf(t, file("configs/c.yaml",
		doc("etcd")+"defaultChannel: alpha\n---\n{schema: olm.channel, package: etcd, name: alpha, entries: [{name: etcd.v1}]}\n"+
			"---\n{schema: olm.bundle, package: etcd, name: etcd.v1, image: "+host+"/etcd:v1, properties: []}\n"))))
	s := open(t, "catalog:oci://"+host+"/catalog:v1", Options{InsecureRegistries: []string{host}})
	same(t, "files", contents(t, s.FS), goodFiles)
	got := openError(t, "catalog:oci://"+host+"/catalog:v1", Options{Offline: true})
	if !strings.Contains(got, "images are not fetched offline") {
		t.Error(got)
	}
}

func TestCatalogImageErrors(t *testing.T) {
	for _, test := range []struct {
		labels map[string]string
		files  []entry
		want   string
	}{
		{map[string]string{}, nil, "layout: not a catalog image: it has no label operators.operatorframework.io.index.configs.v1\n" +
			"hint: opm render IMAGE writes the catalog of an image that opm can read"},
		{map[string]string{keyDatabase: "/database/index.db"}, nil,
			"layout: a catalog in the old SQLite format, which is not supported\nhint: opm migrate IMAGE DIR makes a file-based catalog of it"},
		{bundleLabels, nil, "layout: the image of a bundle, not of a catalog"},
		{catalogLabels, []entry{file("other/c.yaml", "a: b")},
			"layout: label operators.operatorframework.io.index.configs.v1: the image has no directory \"/configs\""},
		{catalogLabels, []entry{file("configs", "a: b")},
			"layout: label operators.operatorframework.io.index.configs.v1: the image has no directory \"/configs\""},
		{map[string]string{keyConfigs: "/../etc"}, nil,
			"layout: label operators.operatorframework.io.index.configs.v1: directory \"/../etc\" has a path that leaves the archive"},
		{catalogLabels, []entry{file("configs/README.md", "# What\na: b: c\n")},
			"oci-layout:layout/README.md: document that starts in line 1: yaml: line 2: mapping values are not allowed in this context"},
		{catalogLabels, []entry{symlink("configs/c.yaml", "../../etc/passwd")}, "leaves the archive"},
	} {
		layers := [][]byte{}
		if test.files != nil {
			layers = append(layers, tarOf(t, test.files...))
		}
		refs := savedAs(t, imageOf(t, test.labels, layers...))
		err := WalkCatalog(t.Context(), refs[0], Options{}, func(CatalogDocument) error { return nil })
		if err == nil || withHint(err) != test.want && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got  %v\nwant %s", withHint(err), test.want)
		}
	}
	err := WalkCatalog(t.Context(), "quay.io/operatorhubio/catalog:latest", Options{}, nil)
	same(t, "an image without a prefix", withHint(err), "quay.io/operatorhubio/catalog:latest: no such file or directory\n"+
		"hint: for an image in a registry write oci://quay.io/operatorhubio/catalog:latest")
}

// A large catalog in an image takes the memory of its compressed files.
func TestLargeCatalogImage(t *testing.T) {
	const size = 40 << 20
	refs := func() []string { // the text is garbage after it
		one := "---\nschema: other\ndata: " + strings.Repeat("abcdefghij", 1000) + "\n"
		data := strings.Repeat(one, size/len(one))
		return savedAs(t, imageOf(t, catalogLabels, tarOf(t, file("configs/c.yaml", data))))
	}()
	used := func() uint64 { runtime.GC(); return heap() }
	before, most, n := used(), uint64(0), 0
	must(t, WalkCatalog(t.Context(), refs[0], Options{}, func(CatalogDocument) error {
		if n++; n%200 == 0 {
			most = max(most, used())
		}
		return nil
	}))
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
	must(t, WalkCatalog(t.Context(), ".", Options{}, func(d CatalogDocument) error { got[d.File] = true; return nil }))
	same(t, "files", slices.Sorted(maps.Keys(got)), slices.Sorted(slices.Values(kept)))

	inDir(t, map[string]string{".indexignore": strings.Repeat("#", maxIgnore+1), "a.yaml": "a: b"})
	err := WalkCatalog(t.Context(), ".", Options{}, func(CatalogDocument) error { return nil })
	same(t, "a large .indexignore", withHint(err), ".: .indexignore: larger than 1 MiB")
}
