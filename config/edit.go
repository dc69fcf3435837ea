package config

import (
	"fmt"

	"github.com/olmgen/olmgen/internal/inplace"
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
	for _, ch := range changes {
		edits = append(edits, inplace.Edit{Object: c.object, Field: at(ch.Group, ch.Bundle, ch.Field), Value: ch.Value})
	}
	out, err := inplace.Apply(c.object.File, data, edits)
	if err != nil {
		return nil, err
	}
	if _, err := Read(c.object.File, out); err != nil {
		return nil, fmt.Errorf("the new file would not be valid: %w", err)
	}
	return out, nil
}
