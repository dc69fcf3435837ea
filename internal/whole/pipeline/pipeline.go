// Package pipeline reads the files by which Red Hat's operator pipelines make bundles a part of catalogs
// (redhat-openshift-ecosystem/operator-pipelines: docs, operatorcert/schemas).
package pipeline

import (
	"path/filepath"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// File has how the bundles beside it become a part of catalogs. Templates has the templates of the package, beside it.
const (
	File      = "ci.yaml"
	Templates = "catalog-templates"
)

// The modes of CI.UpdateGraph. The first counts where none is given, as in the code of the pipelines.
const (
	ModeReplaces = "replaces-mode"
	ModeSemver   = "semver-mode"
)

// Source names the code of the pipelines, for the help of rules. The path of a file follows.
const Source = "Source: redhat-openshift-ecosystem/operator-pipelines, operatorcert/"

// CI is what is read of a File.
type CI struct {
	UpdateGraph string `json:"updateGraph"`
	FBC         struct {
		Enabled bool      `json:"enabled"`
		Mapping []Mapping `json:"catalog_mapping"`
	} `json:"fbc"`
}

// Mapping is a template with the catalogs that it makes the package of.
type Mapping struct {
	Template string   `json:"template_name"`
	Type     string   `json:"type"`
	Catalogs []string `json:"catalog_names"`
}

// ReadCI reads the File of a directory. Errors are those of Read.
func ReadCI(dir string) (ci CI, err error) {
	_, err = Read(filepath.Join(dir, File), &ci)
	return ci, err
}

// Read decodes a file of the pipelines into a Go type. Fields that the type does not have are passed over. A file
// without a document decodes to nothing, and has no object. The error is an fs.ErrNotExist if there is no file, or a
// *manifest.Error that says what is wrong with it.
func Read(file string, into any) (*manifest.Object, error) {
	data, err := whole.ReadFile(file, budget.RenderConfig)
	if err != nil {
		return nil, err
	}
	docs, err := manifest.ReadFile(filepath.ToSlash(file), data, manifest.Limits{})
	if docs = manifest.Written(docs); err != nil || len(docs) == 0 {
		return nil, err
	}
	doc, err := docs[0].Object()
	if err == nil {
		_, err = doc.Into(into)
	}
	return doc, err
}
