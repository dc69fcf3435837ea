package config

import (
	"github.com/olmgen/olmgen/bundle"
)

// properties reads the annotation operatorframework.io/properties of a CSV, as OLM writes it.
func (i *Installed) properties() ([]bundle.Property, error) {
	if i.Properties == "" {
		return nil, nil
	}
	list, err := bundle.ParseProperties(i.Properties)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []bundle.Property{}
	}
	return list, nil
}
