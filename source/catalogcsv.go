package source

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/olmgen/olmgen/manifest"
)

// csv returns the ClusterServiceVersion as JSON: see CatalogBundle.CSV.
func (b *catalogBundle) csv(limits Limits) ([]byte, error) {
	objects, err := b.objects(limits)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.kind == kindCSV {
			return o.json, nil
		}
	}
	for _, p := range b.Properties {
		if p.Type == propertyCSV {
			return b.fromMetadata(p.Value)
		}
	}
	return nil, errors.New("the catalog has neither its objects nor olm.csv.metadata")
}

// fromMetadata returns a ClusterServiceVersion with the fields that operator-registry keeps in a property
// (alpha/property, CSVMetadata).
func (b *catalogBundle) fromMetadata(value json.RawMessage) ([]byte, error) {
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
		return nil, fmt.Errorf("property %s: %w", propertyCSV, err)
	}
	meta, spec := map[string]any{"name": b.Name}, map[string]any{}
	if v := b.version(); v != "" {
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
