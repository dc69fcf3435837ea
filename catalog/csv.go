package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// CSV returns the ClusterServiceVersion of the bundle as JSON. If the objects are not in the catalog, it has only what
// the property olm.csv.metadata holds: metadata, install modes and APIs. CSV reads the bundle again, because a Catalog
// does not keep it.
func (b *Bundle) CSV(ctx context.Context) ([]byte, error) {
	if b.origin != nil && b.origin.open != nil {
		read, err := readBundle(b.origin.dir, b.origin.open)
		if err != nil {
			return nil, err
		}
		return json.Marshal(read.CSV)
	}
	c, err := b.content(ctx)
	if err != nil {
		return nil, err
	}
	data, err := c.csv()
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", b.File, b.Name, err)
	}
	return data, nil
}

// HasCSV reports whether the catalog has what CSV returns.
func (b *Bundle) HasCSV() bool { return b.Objects || b.Metadata > 0 }

// Inlined reports whether OLM reads the objects of a bundle from a file-based catalog, and unpacks no image.
func (b *Bundle) Inlined() bool { return b.Objects && (b.origin == nil || b.origin.dir == "") }

func (c *content) csv() ([]byte, error) {
	objects, err := c.objects()
	if err != nil {
		return nil, err
	}
	for i, o := range objects {
		kind, _, object, err := o.head(limitsOf(source.DefaultLimits()))
		switch {
		case err != nil:
			return nil, inObject(i, err)
		case kind == kindCSV:
			return object, nil
		}
	}
	if value := c.property(olm.PropertyCSVMetadata); value != nil {
		return c.fromMetadata(value)
	}
	return nil, errors.New("the catalog has neither its objects nor olm.csv.metadata")
}

// fromMetadata returns a ClusterServiceVersion with the fields that operator-registry keeps in a property
// (alpha/property, CSVMetadata).
func (c *content) fromMetadata(value json.RawMessage) ([]byte, error) {
	var m struct {
		Annotations           map[string]string `json:"annotations,omitempty"`
		Labels                map[string]string `json:"labels,omitempty"`
		CRDDescriptions       json.RawMessage   `json:"crdDescriptions,omitempty"`
		APIServiceDefinitions json.RawMessage   `json:"apiServiceDefinitions,omitempty"`
		InstallModes          json.RawMessage   `json:"installModes,omitempty"`
		DisplayName           json.RawMessage   `json:"displayName,omitempty"`
		Description           json.RawMessage   `json:"description,omitempty"`
		Keywords              json.RawMessage   `json:"keywords,omitempty"`
		Links                 json.RawMessage   `json:"links,omitempty"`
		Maintainers           json.RawMessage   `json:"maintainers,omitempty"`
		Maturity              json.RawMessage   `json:"maturity,omitempty"`
		MinKubeVersion        json.RawMessage   `json:"minKubeVersion,omitempty"`
		Provider              json.RawMessage   `json:"provider,omitempty"`
	}
	if err := manifest.DecodeJSON(value, &m); err != nil {
		return nil, fmt.Errorf("property %s: %w", olm.PropertyCSVMetadata, err)
	}
	meta, spec := map[string]any{"name": c.Name}, map[string]any{}
	if v := (&Bundle{Properties: c.Properties}).versionText(); v != "" { // of the olm.package property
		spec["version"] = v
	}
	for key, v := range map[string]map[string]string{"annotations": m.Annotations, "labels": m.Labels} {
		if v != nil {
			meta[key] = v
		}
	}
	for key, v := range map[string]json.RawMessage{
		"customresourcedefinitions": m.CRDDescriptions,
		"apiservicedefinitions":     m.APIServiceDefinitions,
		"installModes":              m.InstallModes,
		"displayName":               m.DisplayName,
		"description":               m.Description,
		"keywords":                  m.Keywords,
		"links":                     m.Links,
		"maintainers":               m.Maintainers,
		"maturity":                  m.Maturity,
		"minKubeVersion":            m.MinKubeVersion,
		"provider":                  m.Provider,
	} {
		if len(v) > 0 {
			spec[key] = v
		}
	}
	return json.Marshal(map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1",
		"kind":       kindCSV,
		"metadata":   meta,
		"spec":       spec,
	})
}
