package source

import (
	"bytes"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var bundleLabels = map[string]string{
	bundle.KeyMediaType: "registry+v1", bundle.KeyManifests: "manifests/", bundle.KeyMetadata: "metadata/", bundle.KeyPackage: "etcd", bundle.KeyChannels: "alpha",
}

// imageOf makes an image of layers, the lowest first. Labels nil: those of a bundle.
func imageOf(t testing.TB, labels map[string]string, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, data := range layers {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		must(t, err)
		img, err = mutate.AppendLayers(img, l)
		must(t, err)
	}
	if labels == nil {
		labels = maps.Clone(bundleLabels)
		labels["maintainer"] = "somebody"
	}
	img, err := mutate.Config(img, v1.Config{Labels: labels})
	must(t, err)
	return img
}

func goodImage(t testing.TB) v1.Image {
	return imageOf(t, nil, tarOf(t, goodBundle[:2]...), tarOf(t, goodBundle[2:]...))
}

func digestOf(t testing.TB, img interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	h, err := img.Digest()
	must(t, err)
	return h.String()
}

// serve starts a registry on loopback behind the given handler and gives its host.
func serve(t testing.TB, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func push(t testing.TB, ref string, what remote.Taggable, options ...remote.Option) {
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

// savedAs keeps an image as a layout and as a docker archive in a new directory.
func savedAs(t testing.TB, img v1.Image) []string {
	t.Helper()
	inDir(t, nil)
	p, err := layout.Write("layout", empty.Index)
	must(t, err)
	must(t, p.AppendImage(img))
	must(t, tarball.WriteToFile("image.tar", name.MustParseReference("example.com/etcd:v1"), img))
	return []string{"oci-layout:layout", "docker-archive:image.tar"}
}
