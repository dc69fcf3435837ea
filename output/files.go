// Package output lays rendered objects out as files.
//
// A [Tree] holds rendered operators. [Tree.Files] arranges them in a [Layout] and returns [Files], which are paths and
// bytes. [Write] writes them to a directory, [Check] compares them with a directory, [Stream] prints them as
// one stream of YAML documents.
//
// Write replaces each file as a whole, and keeps a journal, so that an error leaves the old tree and the next run
// repairs what a killed one left. Files that olmgen did not write stay as they are. The files olmgen.lock record which
// files are olmgen's: one at the root, and one in each directory of an operator or tenant.
package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
)

// LockName is the name of the files that say which files of an output directory are olmgen's.
const LockName = "olmgen.lock"

// Stdout means standard output in place of a directory.
const Stdout = "-"

const (
	kustomizationName = "kustomization.yaml"
	gitName           = ".git"
)

// A file name longer than this cannot be written on the common file systems.
const maxSegment = 255

// File is one file of a tree: a slash-separated path relative to the output directory and its bytes.
type File struct {
	Path   string
	Data   []byte
	Object ID // of the object that the file holds unchanged; zero if it holds none
	// Lock is the directory of the olmgen.lock that records the file, slash-separated; empty for the output directory
	// itself. What changes by itself has a lock of its own, so that version control can merge the changes.
	Lock string
}

// ID names an object of a tree.
type ID struct{ Part, Group, Kind, Namespace, Name string }

// IDOf returns the name of an object.
func IDOf(o generate.Object) ID { return ID{o.Part, o.Group(), o.Kind, o.Namespace, o.Name} }

// Files is an ordered set of files.
type Files []File

// check refuses files that cannot be one tree on every system that may check them out.
func (fs Files) check() error {
	type place struct {
		name string
		dir  bool
	}
	seen := map[string]place{}
	locks := map[string]bool{}
	for _, f := range fs {
		if f.Lock != "" {
			if err := checkPath(f.Lock); err != nil {
				return err
			}
			locks[fold(lockPath(f.Lock))] = true
		}
	}
	for _, f := range fs {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if locks[fold(f.Path)] {
			return fmt.Errorf("path %q is taken: olmgen keeps its own record there", f.Path)
		}
		for _, name := range append(parents(f.Path), f.Path) {
			here := place{name, name != f.Path}
			before, ok := seen[fold(name)]
			switch {
			case !ok:
				seen[fold(name)] = here
			case before.name != name:
				return fmt.Errorf("paths %q and %q differ only in case, which macOS and Windows cannot hold",
					before.name, name)
			case !before.dir && !here.dir:
				return fmt.Errorf("two files have the path %q", name)
			case before.dir != here.dir:
				return fmt.Errorf("path %q is a file and also a directory of other files", name)
			}
		}
	}
	return nil
}

func checkPath(p string) error {
	top, _, _ := strings.Cut(p, "/")
	err := checkText(p)
	switch {
	case err != nil:
		return fmt.Errorf("path %q %w", p, err)
	case strings.Contains(p, `\`):
		return fmt.Errorf("path %q holds a backslash: write it with slashes", p)
	case strings.HasPrefix(p, "/"):
		return fmt.Errorf("path %q is absolute: it must be relative to the output directory", p)
	case strings.EqualFold(top, LockName):
		return fmt.Errorf("path %q is taken: olmgen keeps its own record there", p)
	case isWork(p):
		return fmt.Errorf("path %q is taken: olmgen works there", p)
	}
	for segment := range strings.SplitSeq(p, "/") {
		switch {
		case segment == "":
			return fmt.Errorf("path %q holds an empty segment", p)
		case segment == "." || segment == "..":
			return fmt.Errorf("path %q holds a %q segment", p, segment)
		case strings.EqualFold(segment, gitName):
			return fmt.Errorf("path %q leads into a git repository", p)
		case len(segment) > maxSegment:
			return fmt.Errorf("path %q holds a segment longer than %d bytes", p, maxSegment)
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return fmt.Errorf("path %q cannot be a file name on this system", p)
	}
	return nil
}

// checkText refuses text that the lock cannot hold.
func checkText(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("holds a control character")
	}
	return nil
}

// parents returns the directories above p, outermost first: a and a/b for a/b/c.
func parents(p string) []string {
	var dirs []string
	for i := range len(p) {
		if p[i] == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return dirs
}

// fold returns the same key for two names that may be one on a file system that ignores case. Upper case comes first:
// some letters, such as the long s, have their siblings only there.
func fold(p string) string {
	return strings.ToLower(strings.ToUpper(p))
}

// Stream writes the files to w, in order, as one multi-document YAML stream. It leaves out kustomization.yaml,
// olmgen.lock and empty files. Documents are separated by "---" lines and end with a newline; otherwise their bytes
// do not change. The error is that of w.
func Stream(w io.Writer, files Files) error {
	first := true
	for _, f := range files {
		name := path.Base(f.Path)
		if name == kustomizationName || name == LockName || len(bytes.TrimSpace(f.Data)) == 0 {
			continue
		}
		var parts [][]byte
		if !first && !startsDocument(f.Data) {
			parts = append(parts, []byte("---\n"))
		}
		parts = append(parts, f.Data)
		if !bytes.HasSuffix(f.Data, []byte("\n")) {
			parts = append(parts, []byte("\n"))
		}
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		first = false
	}
	return nil
}

// startsDocument reports whether data begins with a "---" line, after blank lines and comments. A second "---" before
// it would make an empty document of the comments.
func startsDocument(data []byte) bool {
	for line := range bytes.Lines(data) {
		text := bytes.TrimSpace(line)
		if len(text) > 0 && text[0] != '#' {
			return yamltext.IsMarker(line, "---")
		}
	}
	return false
}

func refuse(text, format string, args ...any) error {
	return manifest.WithHint(fmt.Errorf(format, args...), text)
}

func refuseOption(option manifest.Option, text, format string, args ...any) error {
	return manifest.WithHint(fmt.Errorf(format, args...), text, option)
}
