// Package sourcetest makes directories, images and registries for tests of what reads them.
package sourcetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/olmgen/olmgen/manifest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// InDir makes a new directory of the files the current one, so that references in tests are as short as a person's.
func InDir(t testing.TB, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

// Contents reads a whole file system.
func Contents(t testing.TB, fsys fs.FS) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, p)
		files[p] = string(data)
		return err
	}))
	return files
}

// WithHint returns an error and its hint in one string.
func WithHint(err error) string {
	if h := new(manifest.HintError); errors.As(err, &h) {
		return err.Error() + "\nhint: " + h.Hint()
	}
	return err.Error()
}

// Tar returns an archive of files.
func Tar(t testing.TB, files map[string]string) []byte {
	t.Helper()
	buf := new(bytes.Buffer)
	w := tar.NewWriter(buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		head := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(files[name])), Mode: 0o644}
		must(t, w.WriteHeader(head))
		_, err := io.WriteString(w, files[name])
		must(t, err)
	}
	must(t, w.Close())
	return buf.Bytes()
}

// Image returns an image of layers, the lowest first.
func Image(t testing.TB, labels map[string]string, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, data := range layers {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		})
		must(t, err)
		img, err = mutate.AppendLayers(img, l)
		must(t, err)
	}
	img, err := mutate.Config(img, v1.Config{Labels: labels})
	must(t, err)
	return img
}

// Digest returns the digest of an image or an index.
func Digest(t testing.TB, img interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	h, err := img.Digest()
	must(t, err)
	return h.String()
}

// Serve starts a registry on loopback behind the given handler, which may be nil, and returns its host.
func Serve(t testing.TB, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// Push writes an image or an index to a registry.
func Push(t testing.TB, ref string, what remote.Taggable, options ...remote.Option) {
	t.Helper()
	parsed, err := name.ParseReference(ref)
	must(t, err)
	switch what := what.(type) {
	case v1.Image:
		must(t, remote.Write(parsed, what, options...))
	case v1.ImageIndex:
		must(t, remote.WriteIndex(parsed, what, options...))
	}
}

// Saved keeps an image as a layout and as a docker archive in a new directory, which becomes the current one.
func Saved(t testing.TB, img v1.Image) []string {
	t.Helper()
	InDir(t, nil)
	p, err := layout.Write("layout", empty.Index)
	must(t, err)
	must(t, p.AppendImage(img))
	must(t, tarball.WriteToFile("image.tar", name.MustParseReference("example.com/etcd:v1"), img))
	return []string{"oci-layout:layout", "docker-archive:image.tar"}
}

// WatchHeap samples the heap until the result is called, which returns the most it has grown by.
func WatchHeap() func() uint64 {
	stop, result := make(chan struct{}), make(chan uint64)
	start := Heap()
	go func() {
		most := start
		for {
			select {
			case <-stop:
				result <- max(most, Heap()) - start
				return
			case <-time.After(2 * time.Millisecond):
				most = max(most, Heap())
			}
		}
	}()
	return func() uint64 { close(stop); return <-result }
}

// Heap returns the bytes of the heap that are in use.
func Heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
