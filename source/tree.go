package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

var (
	errIsDir  = errors.New("is a directory")
	errNotDir = errors.New("not a directory")
)

// tree collects the entries of an archive, or of one image layer after the other. It applies every rule about entries:
// limits, names, links and duplicates. Directories count as files, because a long path makes many of them.
type tree struct {
	archive string // for errors
	limits  Limits
	root    *node
	nodes   int
	bytes   int64
	layer   int  // an entry replaces that of a lower layer; within a layer it may occur once
	packed  bool // files are kept compressed
}

func newTree(archive string, limits Limits) *tree {
	return &tree{archive: archive, limits: limits, root: newDir(".", 0)}
}

func (t *tree) errorf(entry, format string, args ...any) error {
	return entryError(t.archive, entry, fmt.Errorf(format, args...))
}

func entryError(archive, entry string, err error) error {
	return fmt.Errorf("%s: entry %s: %w", archive, shorten(entry), err)
}

func shorten(s string) string {
	if len(s) > 200 {
		return quote(s[:200]) + "..."
	}
	return quote(s)
}

// maxName is PATH_MAX of Linux.
const maxName = 4096

// cleanName returns the path of an entry from the root, ".". It refuses a path that leaves the tree.
func cleanName(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("has no name")
	case len(name) > maxName:
		return "", fmt.Errorf("has a name longer than %d bytes", maxName)
	case name == "/": // some image builders write an entry for the root
		return ".", nil
	case name[0] == '/':
		return "", errors.New("has an absolute path")
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", errors.New("has a path that leaves the archive")
	}
	return path.Clean(name), nil
}

// checkCharacters refuses names that programs read in different ways.
func checkCharacters(name string) error {
	switch {
	case strings.ContainsRune(name, 0):
		return errors.New("has a NUL character in its name")
	case strings.ContainsRune(name, '\\'):
		return errors.New("has a backslash in its name")
	case !utf8.ValidString(name):
		return errors.New("has a name that is not UTF-8")
	}
	return nil
}

// parent returns the directory of p. It adds the directories that are missing.
func (t *tree) parent(p string) (*node, error) {
	dir := t.root
	if path.Dir(p) == "." {
		return dir, nil
	}
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		child := dir.children[part]
		if child != nil && !child.IsDir() {
			if child.layer == t.layer {
				return nil, t.errorf(p, "is below %s, which is not a directory", quote(part))
			}
			t.drop(child)
			child = nil
		}
		if child == nil {
			child = newDir(part, t.layer)
			if err := t.count(p); err != nil {
				return nil, err
			}
			dir.children[part] = child
		}
		dir = child
	}
	return dir, nil
}

func (t *tree) count(p string) error {
	if t.nodes++; t.nodes > t.limits.MaxFiles {
		return manifest.OverLimit(t.errorf(p, "is over the limit of %d files and directories", t.limits.MaxFiles))
	}
	return nil
}

func (t *tree) put(p string, n *node) error {
	n.name, n.layer = path.Base(p), t.layer
	dir, err := t.parent(p)
	if err != nil {
		return err
	}
	if old := dir.children[n.name]; old != nil {
		switch {
		case old.IsDir() && n.IsDir():
			old.layer = t.layer
			return nil
		case old.layer == t.layer && old.IsDir() != n.IsDir():
			return t.errorf(p, "is both a directory and something else")
		case old.layer == t.layer:
			return t.errorf(p, "occurs twice")
		}
		t.drop(old)
	}
	if err := t.count(p); err != nil {
		return err
	}
	t.bytes += n.Size()
	dir.children[n.name] = n
	return nil
}

// drop subtracts a node and all below it from the counts.
func (t *tree) drop(n *node) {
	t.nodes--
	t.bytes -= n.Size()
	for _, c := range n.children {
		t.drop(c)
	}
}

func (t *tree) addDir(p string) error {
	if p == "." {
		return nil
	}
	return t.put(p, newDir("", t.layer))
}

// addFile reads a file. The size is what the archive says; it may be wrong.
func (t *tree) addFile(p string, size int64, r io.Reader) error {
	if p == "." {
		return t.errorf(p, "is a file, and the root must be a directory")
	}
	if err := t.fits(p, size); err != nil {
		return err
	}
	most := min(t.limits.MaxFileBytes, t.limits.MaxTotalBytes-t.bytes)
	if t.packed {
		n, err := pack(io.LimitReader(r, most+1))
		if err != nil {
			return readError(t.archive, p, err)
		}
		if err := t.fits(p, n.size); err != nil {
			return err
		}
		return t.put(p, n)
	}
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(r, most+1)); err != nil {
		return readError(t.archive, p, err)
	}
	data := buf.Bytes()
	if err := t.fits(p, int64(len(data))); err != nil {
		return err
	}
	return t.put(p, &node{mode: 0o444, stored: stored{data: data, size: int64(len(data))}})
}

func (t *tree) fits(p string, size int64) error {
	if size > t.limits.MaxFileBytes {
		return manifest.OverLimit(t.errorf(p, "is larger than %s", text.Size(t.limits.MaxFileBytes)))
	}
	if t.bytes+size > t.limits.MaxTotalBytes {
		return manifest.OverLimit(
			t.errorf(p, "is over the limit of %s for all files together", text.Size(t.limits.MaxTotalBytes)))
	}
	return nil
}

// addHardLink adds a file with the content of an earlier one. The tar format demands that the target comes first.
func (t *tree) addHardLink(p, target string) error {
	clean, err := cleanName(target)
	if err != nil {
		return t.errorf(p, "links to %s, which %w", shorten(target), err)
	}
	n := t.root.find(clean)
	if n == nil || n.IsDir() {
		return t.errorf(p, "links to %s, which is not a file before it in the archive", shorten(target))
	}
	if err := t.fits(p, n.Size()); err != nil {
		return err
	}
	return t.put(p, &node{mode: n.mode, stored: n.stored, target: n.target})
}

func (t *tree) addSymlink(p, target string) error {
	if target == "" || target[0] == '/' || len(target) > maxName {
		return t.errorf(p, "links to %s, which is not inside the archive", shorten(target))
	}
	if err := checkCharacters(target); err != nil {
		return t.errorf(p, "links to %s, which %w", shorten(target), err)
	}
	at := path.Dir(p)
	for part := range strings.SplitSeq(target, "/") {
		if at = path.Join(at, part); at == ".." { // even if it comes back
			return t.errorf(p, "links to %s, which leaves the archive", shorten(target))
		}
	}
	return t.put(p, &node{mode: fs.ModeSymlink | 0o444, target: at})
}

// remove applies a whiteout to what lower layers have at p (OCI image specification, layer.md, "Whiteouts").
func (t *tree) remove(p string) {
	if dir := t.root.find(path.Dir(p)); dir != nil && dir.children[path.Base(p)] != nil {
		t.prune(dir, path.Base(p))
	}
}

func (t *tree) prune(dir *node, name string) {
	n := dir.children[name]
	for child := range n.children {
		t.prune(n, child)
	}
	if n.layer < t.layer && len(n.children) == 0 {
		delete(dir.children, name)
		t.drop(n)
	}
}

// finish replaces links by the files that they point to.
func (t *tree) finish() (memFS, error) {
	return memFS{t.root}, t.resolve(t.root, ".")
}

func (t *tree) resolve(dir *node, at string) error {
	for _, e := range dir.entries() {
		n, p := e.(*node), path.Join(at, e.Name())
		if n.IsDir() {
			if err := t.resolve(n, p); err != nil {
				return err
			}
			continue
		}
		if n.mode.Type() != fs.ModeSymlink {
			continue
		}
		file := n
		for hops := 0; hops < 10 && file != nil && file.mode.Type() == fs.ModeSymlink; hops++ {
			file = t.root.find(file.target)
		}
		switch {
		case file == nil:
			return t.errorf(p, "links to %s, which does not exist", shorten(n.target))
		case file.mode.Type() == fs.ModeSymlink:
			return t.errorf(p, "links to %s through too many links", shorten(n.target))
		case file.IsDir():
			return t.errorf(p, "links to %s, which is a directory; only links to files are supported",
				shorten(n.target))
		}
		if err := t.fits(p, file.Size()); err != nil {
			return err
		}
		t.bytes += file.Size()
		dir.children[n.name] = &node{name: n.name, mode: file.mode, stored: file.stored, layer: n.layer}
	}
	return nil
}
