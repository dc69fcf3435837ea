package source

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// annotationsYAML writes the metadata/annotations.yaml that a bundle of the package would have (spec 12.1). Channels or a default
// channel that nobody has decided are left out.
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
