package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/findings"
)

const attributesName = ".gitattributes"

// writeAttributes writes a .gitattributes with which git does not change what is rendered. It does not change a file
// that is there.
func (f *initFlags) writeAttributes(cmd *cobra.Command) error {
	directory := path.Clean(filepath.ToSlash(f.directory))
	if !filepath.IsLocal(f.directory) || strings.ContainsAny(directory, " \t\"*?[]\\!#") {
		return nil // git has patterns only for what is below the file
	}
	name := filepath.Join(filepath.Dir(f.output), attributesName)
	pattern := "/" + directory + "/** text eol=lf"
	have, err := os.ReadFile(name)
	switch {
	case err == nil && bytes.Contains(have, []byte(pattern)):
		return nil
	case err == nil:
		say(cmd, findings.Note, fmt.Sprintf("with a line %q in it, git does not change the line ends of what is "+
			"rendered", pattern), "%s is there already", name)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text := "# Git checks out what olmgen renders with the line ends that olmgen writes, on Windows too.\n"
	text += pattern + "\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return err
	}
	tell(cmd, "wrote %s, so that git keeps the line ends of %s", name, directory)
	return nil
}
