package catalog

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/olmgen/olmgen/internal/base/text"
)

// indexIgnore is the file that says which files of its directory, and below, are not of the catalog. Its patterns are
// those of .gitignore (operator-registry: alpha/declcfg/load.go).
const indexIgnore = ".indexignore"

const maxIgnore = 1 << 20

// readIgnored returns a function that reports whether a file is ignored. opm asks for files only, so a pattern that
// ends with a slash ignores what is below a directory.
func readIgnored(fsys fs.FS) (func(string) bool, error) {
	var patterns []gitignore.Pattern
	err := fs.WalkDir(fsys, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != indexIgnore {
			return err
		}
		list, err := readPatterns(fsys, p)
		patterns = append(patterns, list...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(patterns) == 0 {
		return func(string) bool { return false }, nil
	}
	m := gitignore.NewMatcher(patterns)
	return func(p string) bool { return m.Match(strings.Split(p, "/"), false) }, nil
}

func readPatterns(fsys fs.FS, name string) ([]gitignore.Pattern, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnore+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxIgnore {
		return nil, fmt.Errorf("%s: larger than %s", name, text.Size(maxIgnore))
	}
	var domain []string
	if dir := path.Dir(name); dir != "." {
		domain = strings.Split(dir, "/")
	}
	var patterns []gitignore.Pattern
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if text != "" && !strings.HasPrefix(text, "#") {
			patterns = append(patterns, gitignore.ParsePattern(text, domain))
		}
	}
	return patterns, nil
}
