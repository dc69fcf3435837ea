package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/olmgen/olmgen/internal/manifest/inplace"
)

// Change is a new value for a text field of a bundle.
type Change struct {
	Group, Bundle int
	Field         string // source or version
	Value         string
}

// Edit returns the text of the RenderConfig with the values changed. Comments, order and formatting stay as they are.
// data is the text that c was read from.
func (c *Config) Edit(data []byte, changes []Change) ([]byte, error) {
	var edits []inplace.Edit
	want := c.RenderConfig
	want.Groups = slices.Clone(want.Groups)
	for _, ch := range changes {
		edits = append(edits, inplace.Edit{Object: c.object, Field: at(ch.Group, ch.Bundle, ch.Field), Value: ch.Value})
		g := &want.Groups[ch.Group]
		g.Bundles = slices.Clone(g.Bundles)
		if b := &g.Bundles[ch.Bundle]; ch.Field == "version" {
			b.Version = ch.Value
		} else {
			b.Source = ch.Value
		}
	}
	out, err := inplace.Apply(c.object.File, data, edits)
	if err != nil {
		return nil, err
	}
	after, err := Read(c.object.File, out)
	if err != nil {
		return nil, fmt.Errorf("the new file would not be valid: %w", err)
	}
	if !reflect.DeepEqual(after.RenderConfig, want) {
		return nil, errors.New("the edit would change other parts of the file too: change it by hand")
	}
	return out, nil
}
