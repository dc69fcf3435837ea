package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ReplaceFile replaces the content of a file that is there, whole or not at all. Mode and owner stay, and a symbolic
// link stays one.
func ReplaceFile(path string, data []byte) error {
	return newDisk().replaceFile(path, data)
}

func (d *disk) replaceFile(path string, data []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	old, err := os.Stat(path)
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.olmgen-%d", filepath.Base(path), os.Getpid()))
	if err = d.write(next, data, old); err == nil {
		err = d.rename(next, path)
	}
	if err != nil {
		return errors.Join(err, removeIfThere(next))
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
