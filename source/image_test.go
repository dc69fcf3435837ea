package source

import (
	"maps"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/olmgen/olmgen/golden/sourcetest"
	"github.com/olmgen/olmgen/internal/olm"
)

var bundleLabels = map[string]string{
	olm.BundleMediaType: "registry+v1", olm.BundleManifests: "manifests/", olm.BundleMetadata: "metadata/", olm.BundlePackage: "etcd", olm.BundleChannels: "alpha",
}

// imageOf makes an image of layers, the lowest first. Labels nil: those of a bundle.
func imageOf(t testing.TB, labels map[string]string, layers ...[]byte) v1.Image {
	t.Helper()
	if labels == nil {
		labels = maps.Clone(bundleLabels)
		labels["maintainer"] = "somebody"
	}
	return sourcetest.Image(t, labels, layers...)
}

func goodImage(t testing.TB) v1.Image {
	return imageOf(t, nil, tarOf(t, goodBundle[:2]...), tarOf(t, goodBundle[2:]...))
}

var (
	digestOf, serve, push, savedAs = sourcetest.Digest, sourcetest.Serve, sourcetest.Push, sourcetest.Saved
	inDir, contents, withHint      = sourcetest.InDir, sourcetest.Contents, sourcetest.WithHint
	watchHeap                      = sourcetest.WatchHeap
)
