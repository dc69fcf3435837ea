// Package whole reads files that an option or a field names, within their budgets.
package whole

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/manifest"
)

// ReadFile is os.ReadFile within the bytes of a budget, whatever size the file says to have: a device has no end.
func ReadFile(name string, i budget.Input) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := ReadAll(f, i)
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.ToSlash(name), err)
	}
	return data, errors.Join(err, f.Close())
}

// Limits returns the limits of a file by the budget of an input. A document of it may be of any size.
func Limits(i budget.Input) manifest.Limits {
	b := budget.Of(i)
	return manifest.Limits{FileBytes: budget.Int(b.Bytes), ObjectBytes: -1, Nodes: budget.Int(b.Values),
		Documents: budget.Int(b.Objects)}
}

// ReadAll is io.ReadAll within the bytes of a budget.
func ReadAll(r io.Reader, i budget.Input) ([]byte, error) {
	most := budget.Of(i).Bytes
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, manifest.OverLimit(fmt.Errorf("the file is larger than %d MiB", most>>20))
	}
	return data, err
}
