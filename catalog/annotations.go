package catalog

import (
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm"
)

// annotationsYAML returns the metadata/annotations.yaml of a bundle of the package (spec 12.1). It leaves out channels
// and a default channel if there are none.
func annotationsYAML(pkg string, channels []string, defaultChannel string) ([]byte, error) {
	annotations := map[string]string{
		olm.BundleMediaType: "registry+v1",
		olm.BundleManifests: "manifests/",
		olm.BundleMetadata:  "metadata/",
		olm.BundlePackage:   pkg,
	}
	if len(channels) > 0 {
		annotations[olm.BundleChannels] = strings.Join(channels, ",")
	}
	if defaultChannel != "" {
		annotations[olm.BundleDefaultChannel] = defaultChannel
	}
	return yaml.Marshal(map[string]any{"annotations": annotations})
}
