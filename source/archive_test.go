package source

import (
	"bytes"
	"os"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
)

func TestArchivesThatAreRead(t *testing.T) {
	below := func(dir string, entries ...entry) []entry {
		var list []entry
		for _, e := range entries {
			e.name = dir + e.name
			list = append(list, e)
		}
		return list
	}
	tests := []struct {
		name    string
		entries []entry
		want    map[string]string
	}{
		{"a bundle", goodBundle, goodFiles},
		{"names begin with ./", append([]entry{dir("./")}, below("./", goodBundle...)...), goodFiles},
		{"one directory around it", below("etcd-1.0/", goodBundle...), goodFiles},
		{"one directory around it, beside others", append(below("etcd-1.0/", goodBundle...), file("README.md", "x"), file("__MACOSX/x", "x")), goodFiles},
		{"two bundles: left as they are", append(below("a/", goodBundle[1]), below("b/", goodBundle[1])...),
			map[string]string{"a/manifests/csv.yaml": goodFiles["manifests/csv.yaml"], "b/manifests/csv.yaml": goodFiles["manifests/csv.yaml"]}},
		{"a link to a file", []entry{file("manifests/a.yaml", "a"), symlink("manifests/b.yaml", "../manifests/./a.yaml")},
			map[string]string{"manifests/a.yaml": "a", "manifests/b.yaml": "a"}},
		{"a link to a link that comes later", []entry{symlink("manifests/a.yaml", "b.yaml"), symlink("manifests/b.yaml", "c.yaml"), file("manifests/c.yaml", "c")},
			map[string]string{"manifests/a.yaml": "c", "manifests/b.yaml": "c", "manifests/c.yaml": "c"}},
		{"directories that come twice", append([]entry{dir("manifests/")}, goodBundle...), goodFiles},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inDir(t, nil)
			plain := tarOf(t, test.entries...)
			for name, data := range map[string][]byte{
				"b.tar": plain, "b.tar.gz": gzipOf(t, plain), "b.tgz": gzipOf(t, plain), "zstd.tar": zstdOf(t, plain), "B.ZIP": zipOf(t, test.entries...),
			} {
				must(t, os.WriteFile(name, data, 0o644))
				s := open(t, name, Options{})
				same(t, name, contents(t, s.FS), test.want)
			}
			for _, data := range [][]byte{plain, gzipOf(t, plain)} {
				s := open(t, "-", Options{Stdin: bytes.NewReader(data)})
				same(t, "standard input", contents(t, s.FS), test.want)
				same(t, "kind", s.Kind, KindTar)
			}
		})
	}
}

func TestHardLinkIsACopy(t *testing.T) {
	s := open(t, "-", Options{Stdin: bytes.NewReader(tarOf(t, file("manifests/a.yaml", "a"), hardlink("manifests/b.yaml", "manifests/a.yaml")))})
	same(t, "files", contents(t, s.FS), map[string]string{"manifests/a.yaml": "a", "manifests/b.yaml": "a"})
}

func TestMemFSIsAFileSystem(t *testing.T) {
	inDir(t, nil)
	must(t, os.WriteFile("b.zip", zipOf(t, append(goodBundle, file("manifests/deep/er/x.yaml", "x"), file("empty", ""))...), 0o644))
	s := open(t, "b.zip", Options{})
	must(t, fstest.TestFS(s.FS, "manifests/csv.yaml", "manifests/deep/er/x.yaml", "metadata/annotations.yaml", "empty"))
}

func zstdOf(t testing.TB, data []byte) []byte {
	t.Helper()
	buf := new(bytes.Buffer)
	w, err := zstd.NewWriter(buf)
	must(t, err)
	_, err = w.Write(data)
	must(t, err)
	must(t, w.Close())
	return buf.Bytes()
}
