package install

import (
	"fmt"

	"github.com/operator-framework/api/pkg/encoding"

	"github.com/olmgen/olmgen/manifest"
)

// maxUnpacked is what the files of a bundle may have in the ConfigMap of its unpack Job, each as base64 of gzip
// (operator-registry: pkg/configmap/configmap_writer.go, Populate).
const maxUnpacked = 1 << 20

// NotUnpacked returns why OLM never unpacks the image of a bundle with a CSV and other objects, or "".
func NotUnpacked(csv *manifest.Object, objects []*manifest.Object) string {
	objects = append([]*manifest.Object{csv}, objects...)
	raw, packed := 0, 0
	for _, o := range objects {
		raw += len(o.Raw())
	}
	if raw < maxUnpacked/2 { // what does not compress grows by a third
		return ""
	}
	for _, o := range objects {
		data, err := encoding.GzipBase64Encode(o.Raw())
		if err != nil {
			return "" // who reads it says so
		}
		packed += len(data)
	}
	if packed <= maxUnpacked {
		return ""
	}
	return fmt.Sprintf("bundle files exceeded %d bytes limit: compressed they have %.1f MiB, so OLM never unpacks the "+
		"bundle", maxUnpacked, float64(packed)/maxUnpacked)
}
