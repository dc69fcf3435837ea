package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/manifest"
)

// entry is an entry of an archive under test. Without a type it is a file.
type entry struct {
	name, content string
	kind          byte // a tar type flag
	link          string
	mode          fs.FileMode // of a zip entry
}

func file(name, content string) entry { return entry{name: name, content: content} }
func dir(name string) entry           { return entry{name: name, kind: tar.TypeDir} }
func symlink(name, to string) entry   { return entry{name: name, kind: tar.TypeSymlink, link: to} }
func hardlink(name, to string) entry  { return entry{name: name, kind: tar.TypeLink, link: to} }

// goodBundle is the smallest thing that looks like a bundle.
var goodBundle = []entry{
	dir("manifests/"), file("manifests/csv.yaml", "kind: ClusterServiceVersion\n"),
	dir("metadata/"), file("metadata/annotations.yaml", "annotations: {}\n"),
}

var goodFiles = map[string]string{
	"manifests/csv.yaml":        "kind: ClusterServiceVersion\n",
	"metadata/annotations.yaml": "annotations: {}\n",
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	buf := new(bytes.Buffer)
	w := tar.NewWriter(buf)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.content)), Mode: 0o644}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		must(t, w.WriteHeader(h))
		_, err := io.WriteString(w, e.content)
		must(t, err)
	}
	must(t, w.Close())
	return buf.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	buf := new(bytes.Buffer)
	w := zip.NewWriter(buf)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		content := e.content
		switch {
		case e.kind == tar.TypeSymlink:
			h.SetMode(fs.ModeSymlink | 0o777)
			content = e.link
		case e.mode != 0:
			h.SetMode(e.mode)
		}
		f, err := w.CreateHeader(h)
		must(t, err)
		if !strings.HasSuffix(e.name, "/") {
			_, err = io.WriteString(f, content)
			must(t, err)
		}
	}
	must(t, w.Close())
	return buf.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
	t.Helper()
	buf := new(bytes.Buffer)
	w := gzip.NewWriter(buf)
	_, err := w.Write(data)
	must(t, err)
	must(t, w.Close())
	return buf.Bytes()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, ref string, o Options) *Source {
	t.Helper()
	s, err := Open(context.Background(), ref, o)
	if err != nil {
		t.Fatalf("open %s: %v", ref, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// openError opens what must fail and gives error and hint in one string. An error about a limit must have the hint to
// raise the limits, which is left out: it has the same words everywhere.
func openError(t testing.TB, ref string, o Options) string {
	t.Helper()
	s, err := Open(context.Background(), ref, o)
	if err == nil {
		t.Fatalf("open %s: no error, but %v", ref, contents(t, s.FS))
	}
	text := withHint(err)
	without, found := strings.CutSuffix(text, "\nhint: if you trust the input, raise the limits")
	if about := manifest.AboutOf(err); found != slices.Contains(about, option.Limits) {
		t.Errorf("open %s: the error %q is about the options %v", ref, text, about)
	}
	return without
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// The file systems list by themselves, within their limits; one that reads a directory also reads its files so.
var (
	_, _ fs.ReadDirFS  = dirFS{}, memFS{}
	_    fs.ReadFileFS = dirFS{}
	_, _ fs.StatFS     = dirFS{}, memFS{}
)
