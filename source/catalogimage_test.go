package source

import (
	"archive/tar"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var catalogLabels = map[string]string{keyConfigs: "/configs"}

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

// The files of a catalog are those below the directory that the image names, from all layers.
func TestCatalogImage(t *testing.T) {
	img := catalogLayers(t)
	want := map[string]string{"a/catalog.yaml": doc("a"), "link.yaml": doc("a"), "b/index": doc("b") + doc("b2"),
		".indexignore": "# opm does not read these\n*.md\n/tests/\n", "README.md": "# no", "tests/x.yaml": "no: catalog"}
	host := serve(t, nil)
	push(t, host+"/catalog:v1", img)
	refs := append(savedAs(t, img), "oci://"+host+"/catalog:v1", "docker://"+host+"/catalog@"+digestOf(t, img))
	for _, ref := range refs {
		s := open(t, "catalog:"+ref, Options{InsecureRegistries: []string{host}})
		same(t, ref, contents(t, s.FS), want)
		same(t, "name", s.Name("b/index"), ref+"/b/index")
		must(t, fstest.TestFS(s.FS, slices.Collect(maps.Keys(want))...))
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
		{catalogLabels, []entry{symlink("configs/c.yaml", "../../etc/passwd")}, "leaves the archive"},
	} {
		layers := [][]byte{}
		if test.files != nil {
			layers = append(layers, tarOf(t, test.files...))
		}
		refs := savedAs(t, imageOf(t, test.labels, layers...))
		_, err := Open(t.Context(), "catalog:"+refs[0], Options{})
		if err == nil || withHint(err) != test.want && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got  %v\nwant %s", withHint(err), test.want)
		}
	}
	_, err := Open(t.Context(), "catalog:quay.io/operatorhubio/catalog:latest", Options{})
	same(t, "an image without a prefix", withHint(err), "quay.io/operatorhubio/catalog:latest: no such file or directory\n"+
		"hint: for an image in a registry write oci://quay.io/operatorhubio/catalog:latest")
}
