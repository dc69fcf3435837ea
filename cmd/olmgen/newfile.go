package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/olmgen/olmgen/manifest"
)

// writeFile writes a whole file or nothing. Only with replace it replaces one that is there; hint says what else to do
// about that.
func writeFile(name string, data []byte, replace bool, hint string) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".olmgen-new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	place := os.Link
	if replace {
		place = os.Rename
	}
	err = place(file.Name(), name)
	if info, statErr := os.Stat(name); err != nil && statErr == nil && info.IsDir() {
		return manifest.WithHint(fmt.Errorf("%s is a directory", name), "name a file with -o")
	}
	if errors.Is(err, fs.ErrExist) {
		return manifest.WithHint(fmt.Errorf("%s is there already", name), hint)
	}
	return err
}
