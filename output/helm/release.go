package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
)

// ReleaseLimit is what Helm can store of a release: the data of one Secret (Kubernetes: pkg/apis/core/types.go,
// MaxSecretSize).
const ReleaseLimit = 1 << 20

// ReleaseSize returns about how many bytes Helm stores of a release of a chart, of its files and of the objects that
// it renders to. Helm stores both as JSON, compressed and in base64 (helm: pkg/storage/driver/util.go). Files in crds/
// are not among the objects of a release. What is surely below the limit is not compressed; its size is zero.
func ReleaseSize(files []File, objects []generate.Object) (int, error) {
	type file struct {
		Name string `json:"name"`
		Data []byte `json:"data"`
	}
	var release struct {
		Name  string `json:"name"`
		Chart struct {
			Templates []file `json:"templates"`
			Schema    []byte `json:"schema"`
			Files     []file `json:"files"`
		} `json:"chart"`
		Manifest string `json:"manifest"`
	}
	directory := false
	for _, f := range files {
		directory = directory || strings.HasPrefix(f.Path, "crds/")
		switch {
		case strings.HasPrefix(f.Path, "templates/"):
			release.Chart.Templates = append(release.Chart.Templates, file{f.Path, f.Data})
		case f.Path == "values.schema.json":
			release.Chart.Schema = f.Data
		default:
			release.Chart.Files = append(release.Chart.Files, file{f.Path, f.Data})
		}
	}
	var manifest strings.Builder
	for _, o := range objects {
		if !directory || !isCRD(o) {
			fmt.Fprintf(&manifest, "---\n# Source: templates/%s_%s.yaml\n%s", strings.ToLower(o.Kind), o.Name, o.Data)
		}
	}
	release.Manifest = manifest.String()
	data, err := json.Marshal(release)
	if err != nil || base64.StdEncoding.EncodedLen(len(data)) < ReleaseLimit {
		return 0, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(data); err != nil {
		return 0, err
	}
	err = w.Close()
	return base64.StdEncoding.EncodedLen(packed.Len()), err
}
