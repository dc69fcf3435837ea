package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// writeFile writes a whole file or nothing. With replace it replaces one; hint says what else to do about one.
func writeFile(name string, data []byte, replace bool, hint string) error {
	return notWritten(name, output.WriteFile(name, data, replace), hint)
}

// notWritten explains why a file could not be written.
func notWritten(name string, err error, hint string) error {
	if info, statErr := os.Stat(name); err != nil && statErr == nil && info.IsDir() {
		return manifest.WithHint(fmt.Errorf("%s is a directory", name), "name a file with -o")
	}
	if errors.Is(err, fs.ErrExist) {
		return manifest.WithHint(fmt.Errorf("%s is there already", name), hint)
	}
	return err
}
