package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

var (
	errIsDir  = errors.New("is a directory")
	errNotDir = errors.New("not a directory")
)

// tree collects the entries of an archive, or of one image layer after the other, and is where every rule about them is kept:
// limits, names, links, duplicates. Directories count as files, or a long path would be a way around the limits.
type tree struct {
	archive string // for errors
	limits  Limits
	root    *node
	nodes   int
	bytes   int64
	layer   int // entries of a higher layer replace those of a lower one; within a layer an entry may come once
}

func newTree(archive string, limits Limits) *tree {
	return &tree{archive: archive, limits: limits, root: newDir(".", 0)}
}

func (t *tree) errorf(entry, format string, args ...any) error {
	return &entryError{t.archive, entry, fmt.Errorf(format, args...)}
}

// entryError is an entry that is refused.
type entryError struct {
	archive, entry string
	err            error
}

func (e *entryError) Error() string {
	return fmt.Sprintf("%s: entry %s: %s", e.archive, shorten(e.entry), e.err)
}
func (e *entryError) Unwrap() error { return e.err }

func shorten(s string) string {
	if len(s) > 200 {
		return quote(s[:200]) + "..."
	}
	return quote(s)
}

// maxName is PATH_MAX of Linux.
const maxName = 4096

// cleanName gives an entry's path from the root of the tree, "." for the root itself, and refuses what would leave it.
func cleanName(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("has no name")
	case len(name) > maxName:
		return "", fmt.Errorf("has a name longer than %d bytes", maxName)
	case name == "/": // some image builders write the root itself
		return ".", nil
	case name[0] == '/':
		return "", errors.New("has an absolute path")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", errors.New("has a path that leaves the archive")
		}
	}
	return path.Clean(name), nil
}

// checkCharacters refuses names that mean different things to different readers.
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

// parent gives the directory that is to hold p, making it where it is missing.
func (t *tree) parent(p string) (*node, error) {
	dir := t.root
	if path.Dir(p) == "." {
		return dir, nil
	}
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		child := dir.children[part]
		if child != nil && !child.IsDir() {
			if child.layer == t.layer {
				return nil, t.errorf(p, "lies below %s, which is not a directory", quote(part))
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
		return t.errorf(p, "is one too many: more than %d files and directories", t.limits.MaxFiles)
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
			return t.errorf(p, "comes twice")
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

// drop takes a node that is being replaced out of the account.
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

// addFile reads a file of the size that the archive claims, which is taken for a hint.
func (t *tree) addFile(p string, size int64, r io.Reader) error {
	if p == "." {
		return t.errorf(p, "is a file where the root directory should be")
	}
	if err := t.fits(p, size); err != nil {
		return err
	}
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(r, min(t.limits.MaxFileBytes, t.limits.MaxTotalBytes-t.bytes)+1)); err != nil {
		return readError(t.archive, p, err)
	}
	data := buf.Bytes()
	if err := t.fits(p, int64(len(data))); err != nil {
		return err
	}
	return t.put(p, &node{mode: 0o444, data: data})
}

func (t *tree) fits(p string, size int64) error {
	if size > t.limits.MaxFileBytes {
		return t.errorf(p, "is larger than %s", bytesText(t.limits.MaxFileBytes))
	}
	if t.bytes+size > t.limits.MaxTotalBytes {
		return t.errorf(p, "is too much: the files are larger than %s together", bytesText(t.limits.MaxTotalBytes))
	}
	return nil
}

// addHardLink shares the content of a file that came before, as the tar format demands.
func (t *tree) addHardLink(p, target string) error {
	clean, err := cleanName(target)
	if err != nil {
		return t.errorf(p, "links to %s, which %w", shorten(target), err)
	}
	n := t.root.find(clean)
	if n == nil || n.IsDir() {
		return t.errorf(p, "links to %s, which is no file that comes before it", shorten(target))
	}
	if err := t.fits(p, n.Size()); err != nil {
		return err
	}
	return t.put(p, &node{mode: n.mode, data: n.data, target: n.target})
}

func (t *tree) addSymlink(p, target string) error {
	if target == "" || target[0] == '/' || len(target) > maxName {
		return t.errorf(p, "links to %s, which is not inside the archive", shorten(target))
	}
	if err := checkCharacters(target); err != nil {
		return t.errorf(p, "links to %s, which %w", shorten(target), err)
	}
	resolved := path.Join(path.Dir(p), target)
	if resolved == ".." || strings.HasPrefix(resolved, "../") || climbsOut(path.Dir(p), target) {
		return t.errorf(p, "links to %s, which leaves the archive", shorten(target))
	}
	return t.put(p, &node{mode: fs.ModeSymlink | 0o444, target: resolved})
}

// climbsOut reports whether a relative link steps above the root on its way, even when it comes back.
func climbsOut(dir, target string) bool {
	depth := 0
	if dir != "." {
		depth = strings.Count(dir, "/") + 1
	}
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// remove honours a whiteout: what lower layers have at p is gone. Entries of this layer stay, in whatever order they come
// (OCI image specification, layer.md, "Whiteouts").
func (t *tree) remove(p string) {
	dir := t.root.find(path.Dir(p))
	if dir == nil || dir.children[path.Base(p)] == nil {
		return
	}
	t.prune(dir, path.Base(p))
}

// removeBelow honours an opaque whiteout.
func (t *tree) removeBelow(p string) {
	if dir := t.root.find(p); dir != nil {
		for name := range dir.children {
			t.prune(dir, name)
		}
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

// finish puts the files that links point to in the links' places.
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
			return t.errorf(p, "links to %s, which is not there", shorten(n.target))
		case file.mode.Type() == fs.ModeSymlink:
			return t.errorf(p, "links to %s through too many links", shorten(n.target))
		case file.IsDir():
			return t.errorf(p, "links to %s, which is a directory: only links to files are followed", shorten(n.target))
		}
		if err := t.fits(p, file.Size()); err != nil {
			return err
		}
		t.bytes += file.Size()
		dir.children[n.name] = &node{name: n.name, mode: file.mode, data: file.data, layer: n.layer}
	}
	return nil
}

func bytesText(n int64) string {
	if n >= 10<<20 || n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
