package tree

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// ignoreFile has patterns of files and directories to leave out, as .gitignore.
const ignoreFile = ".olmgenignore"

// excluder decides which files and directories are left out. Its patterns are about absolute paths.
type excluder struct{ patterns []gitignore.Pattern }

func segments(abs string) []string { return strings.Split(filepath.ToSlash(abs), "/") }

// add adds the lines of an ignore file, or patterns of the caller, for a directory.
func (e *excluder) add(dir, file string, lines []string) error {
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := path.Match(strings.ReplaceAll(line, "**", "*"), ""); err != nil {
			fault := &manifest.Error{File: file, Msg: "\"" + line + "\" is not a pattern", Tip: "see gitignore(5)"}
			if file != "" {
				fault.Line = i + 1
			}
			return fault
		}
		e.patterns = append(e.patterns, gitignore.ParsePattern(line, segments(dir)))
	}
	return nil
}

// enter reads the ignore file of a directory, if there is one.
func (e *excluder) enter(dir, as string) error {
	file := filepath.Join(dir, ignoreFile)
	in, err := regular.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	in.Close()
	data, err := whole.ReadFile(file, budget.File)
	if err != nil {
		return err
	}
	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(data)); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return e.add(dir, name(filepath.Join(as, ignoreFile)), lines)
}

// above reads the ignore files of the directories from the repository down to one.
func (e *excluder) above(dir, as string) error {
	top := repository(dir)
	if top == "" || dir == top {
		return nil
	}
	up := filepath.Dir(dir)
	if err := e.above(up, filepath.Join(as, "..")); err != nil {
		return err
	}
	return e.enter(up, filepath.Join(as, ".."))
}

func (e *excluder) excludes(abs string, isDir bool) bool {
	return len(e.patterns) > 0 && gitignore.NewMatcher(e.patterns).Match(segments(abs), isDir)
}
