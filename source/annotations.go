package source

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// annotationsYAML returns the metadata/annotations.yaml of a bundle of the package (spec 12.1). It leaves out channels
// and a default channel if there are none.
func annotationsYAML(pkg string, channels []string, defaultChannel string) ([]byte, error) {
	annotations := map[string]string{
		keyMediaType: "registry+v1",
		keyManifests: "manifests/",
		keyMetadata:  "metadata/",
		keyPackage:   pkg,
	}
	if len(channels) > 0 {
		annotations[keyChannels] = strings.Join(channels, ",")
	}
	if defaultChannel != "" {
		annotations[keyDefaultChannel] = defaultChannel
	}
	return yaml.Marshal(map[string]any{"annotations": annotations})
}
