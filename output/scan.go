package output

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// maxForeign limits the entries that olmgen did not write. A directory with more is not an output directory.
const maxForeign = 20_000

type tree struct {
	root   fs.FileInfo
	paths  []string // of every entry, parents before what is in them
	info   map[string]fs.FileInfo
	locks  locks
	files  map[string]string // what the locks record: path to digest
	lockOf map[string]string // by path, the directory of the lock that records it

	mounts map[string]bool // entries that something is mounted at
}

func newTree(root fs.FileInfo) *tree {
	return &tree{root: root, info: map[string]fs.FileInfo{}, locks: locks{}, files: map[string]string{},
		lockOf: map[string]string{},
		mounts: map[string]bool{}}
}

// readTree reads the directory of t and refuses one that is no output directory. One that is not there is empty.
func readTree(t target) (*tree, error) {
	root, err := os.Lstat(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return newTree(nil), nil
	}
	if err != nil {
		return nil, err
	}
	if !root.IsDir() {
		return nil, refuse("name a directory, or - for standard output", "%s is not a directory", t.name)
	}
	tr := newTree(root)
	if err := tr.readLock(t, ""); err != nil {
		return nil, err
	}
	if err := tr.list(t.dir, tr.noOutput(t)); err != nil {
		return nil, err
	}
	if tr.unowned() > maxForeign {
		return nil, tooMany(t)
	}
	for _, p := range tr.paths {
		if err := tr.checkEntry(t, p); err != nil {
			return nil, err
		}
	}
	return tr, nil
}

// list reads the entries below dir, without what is in a git repository. It calls check, if it is not nil, for every
// entry, and stops at an error.
func (tr *tree) list(dir string, check func(p string) error) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		p := filepath.ToSlash(rel)
		if isWork(p) || path.Base(p) == gitName {
			return skip(e)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		tr.paths = append(tr.paths, p)
		tr.info[p] = info
		if check != nil {
			return check(p)
		}
		return nil
	})
}

// skip leaves an entry, and everything below it, out of a listing.
func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// noOutput reads the locks of the directories. It stops the listing of, for example, a home directory early.
func (tr *tree) noOutput(t target) func(string) error {
	entries := 0
	return func(p string) error {
		if tr.info[p].IsDir() {
			if err := tr.readLock(t, p); err != nil {
				return err
			}
		}
		if entries++; entries > maxForeign && len(tr.locks) == 0 {
			return tooMany(t)
		}
		return nil
	}
}

func tooMany(t target) error {
	return refuse(ownDirectory, "%s holds more than %d files that olmgen did not write", t.name, maxForeign)
}

func (tr *tree) unowned() int {
	owned := tr.ownedDirs()
	return lists.Count(tr.paths, func(p string) bool {
		_, ok := tr.files[p]
		return !ok && !owned[p] && !tr.isLock(p)
	})
}

func (tr *tree) isLock(p string) bool {
	dir, name := path.Split(p)
	_, ok := tr.locks[strings.TrimSuffix(dir, "/")]
	return ok && name == LockName
}

// ownedDirs returns the directories of the locks and of the files in them.
func (tr *tree) ownedDirs() map[string]bool {
	owned := map[string]bool{}
	for p := range tr.files {
		for _, d := range parents(p) {
			owned[d] = true
		}
	}
	for dir := range tr.locks {
		for _, d := range parents(lockPath(dir)) {
			owned[d] = true
		}
	}
	return owned
}

func (tr *tree) checkEntry(t target, p string) error {
	info, above := tr.info[p], tr.root
	if d := path.Dir(p); d != "." {
		above = tr.info[d]
	}
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		return nil
	default:
		return refuse("move it out of the output directory",
			"%s is neither a file, a directory nor a symbolic link", t.show(p))
	}
	if isMount(at(t.dir, p), info, above) {
		tr.mounts[p] = true
	}
	return nil
}

// openRegular opens a file that was regular when it was listed. It does not follow a link, and does not wait for a
// writer, if somebody has put a link or a pipe in its place since.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|noFollow|noWait, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, refuse("run olmgen again", "%s is not a regular file any more", name)
	}
	return f, nil
}

func readRegular(name string) ([]byte, error) { return readMost(name, math.MaxInt64-1) }

// readMost is readRegular for the beginning of a file: one byte more than there may be.
func readMost(name string, most int64) ([]byte, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

func readDigest(name string) (string, error) {
	data, err := readRegular(name)
	if err != nil {
		return "", err
	}
	return digestOf(data), nil
}

// digestOf returns the digest of the lines of content: git may check text out with line ends of Windows.
func digestOf(data []byte) string {
	sum := sha256.Sum256(text.LF(data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// CRLF returns how many of the files are in a directory with line ends of Windows. Write and Check compare their lines.
func CRLF(dir string, files Files) int {
	n := 0
	for _, f := range files {
		if file, err := openRegular(at(dir, f.Path)); err == nil {
			line, err := bufio.NewReader(io.LimitReader(file, 1<<16)).ReadBytes('\n')
			file.Close()
			if err == nil && bytes.HasSuffix(line, []byte("\r\n")) {
				n++
			}
		}
	}
	return n
}

// verify returns an error if the directory is not the tree that was read.
func (tr *tree) verify(t target) error {
	now := newTree(nil)
	if err := now.list(t.dir, nil); err != nil {
		return err
	}
	for _, p := range lists.SortedUnique(slices.Concat(tr.paths, now.paths)) {
		before, after := tr.info[p], now.info[p]
		if before == nil || after == nil || !sameEntry(before, after) {
			return refuse("run olmgen again", "%s was changed while olmgen was at work, so nothing was written",
				t.show(p))
		}
	}
	return nil
}

func sameEntry(a, b fs.FileInfo) bool {
	return a.Mode().Type() == b.Mode().Type() && os.SameFile(a, b) &&
		(a.IsDir() || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()))
}
