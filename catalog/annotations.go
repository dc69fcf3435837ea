package catalog

import (
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
)

// annotationsYAML returns the metadata/annotations.yaml of a bundle of the package (spec 12.1). It leaves out channels
// and a default channel if there are none.
func annotationsYAML(pkg string, channels []string, defaultChannel string) ([]byte, error) {
	annotations := map[string]string{
		bundle.KeyMediaType: "registry+v1",
		bundle.KeyManifests: "manifests/",
		bundle.KeyMetadata:  "metadata/",
		bundle.KeyPackage:   pkg,
	}
	if len(channels) > 0 {
		annotations[bundle.KeyChannels] = strings.Join(channels, ",")
	}
	if defaultChannel != "" {
		annotations[bundle.KeyDefaultChannel] = defaultChannel
	}
	return yaml.Marshal(map[string]any{"annotations": annotations})
}
