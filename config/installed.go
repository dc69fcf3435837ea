package config

import (
	"encoding/json"

	"github.com/olmgen/olmgen/bundle"
)

// properties reads the annotation operatorframework.io/properties of a CSV, as OLM writes it.
func (i *Installed) properties() ([]bundle.Property, error) {
	if i.Properties == "" {
		return nil, nil
	}
	var list struct {
		Properties []bundle.Property `json:"properties"`
	}
	if err := json.Unmarshal([]byte(i.Properties), &list); err != nil {
		return nil, err
	}
	if list.Properties == nil {
		list.Properties = []bundle.Property{}
	}
	return list.Properties, nil
}
