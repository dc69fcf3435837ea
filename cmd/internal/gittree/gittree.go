// Package gittree reads what a Git repository has at a revision. It starts no process.
package gittree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/manifest"
)

// Repository is a repository with a path in it.
type Repository struct {
	store *store
	path  string // as it was given
	in    string // in the repository, with slashes; "." is all of it

	written map[plumbing.Hash]string // the files of what Checkout has written
}

// Open opens the repository that a path is in. The path itself need not exist.
func Open(name string) (*Repository, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	from := abs
	for from != filepath.Dir(from) { // to the nearest directory that exists
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			break
		}
		from = filepath.Dir(from)
	}
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil, err
	}
	work, store, err := find(from)
	if errors.Is(err, errNoRepository) {
		return nil, &manifest.Error{File: filepath.ToSlash(name), Msg: "is in no Git repository",
			Tip: "name a path in the work tree of one"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the Git repository cannot be read: %w", name, err)
	}
	if work == "" {
		return nil,
			&manifest.Error{File: filepath.ToSlash(name), Msg: "the Git repository is bare: it has no work tree",
				Tip: "name a path in a clone of it"}
	}
	root, err := filepath.EvalSymlinks(work)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(filepath.Clean(root), filepath.Join(real, strings.TrimPrefix(abs, from)))
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is not in the work tree of %s", name, root)
	}
	return &Repository{store, name, filepath.ToSlash(rel), map[plumbing.Hash]string{}}, nil
}

// Has reports whether a revision has the path.
func (r *Repository) Has(rev string) (bool, error) {
	tree, err := r.tree(rev)
	if err != nil {
		return false, err
	}
	if _, err = r.lookUp(tree, r.in); err != nil && !errors.Is(err, errNoEntry) {
		return false, r.broken(rev, err)
	}
	return err == nil, nil
}

// Checkout writes the path, or with whole everything, of a revision into an empty directory, and the files with a name
// that the directories above have. It returns where the path is.
// Equal files of all revisions are one file with several names: whoever writes to one writes to all.
func (r *Repository) Checkout(rev, dir string, whole bool, above string) (string, error) {
	tree, err := r.tree(rev)
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, filepath.FromSlash(r.in))
	at, err := r.lookUp(tree, r.in)
	if errors.Is(err, errNoEntry) {
		return "", &manifest.Error{File: filepath.ToSlash(r.path), Msg: fmt.Sprintf("is not in revision %q", rev),
			Tip: "it is newer, or has another name there"}
	}
	if err != nil {
		return "", r.broken(rev, err)
	}
	most := budget.Of(budget.Revision)
	w := writer{repo: r, left: most.Bytes, entries: most.Files, most: most}
	to := target
	if whole {
		at, to = entry{mode: filemode.Dir, hash: tree}, dir
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	if err := w.write(at, to, 0); err != nil {
		return "", r.broken(rev, err)
	}
	for up := r.in; !whole && up != "."; {
		up = path.Dir(up)
		at, err := r.lookUp(tree, path.Join(up, above))
		if err == nil {
			err = w.write(at, filepath.Join(dir, filepath.FromSlash(up), above), 0)
		}
		if err != nil && !errors.Is(err, errNoEntry) {
			return "", r.broken(rev, err)
		}
	}
	return target, nil
}

func (r *Repository) tree(rev string) (plumbing.Hash, error) {
	c, err := r.resolve(rev)
	if errors.Is(err, errNoRevision) {
		e := &manifest.Error{File: filepath.ToSlash(r.path),
			Msg: fmt.Sprintf("the Git repository has no revision %q", rev),
			Tip: "name a branch, a tag or a commit"}
		if list, err := r.store.Shallow(); err == nil && len(list) > 0 {
			e.Tip = "the repository is shallow: fetch its whole history; actions/checkout does so with fetch-depth: 0"
		}
		if len(r.store.lost) > 0 {
			e.Msg = "the Git repository borrows objects from " + r.store.lost[0] + ", which is not there"
			e.Tip = "bring it back"
		}
		return plumbing.ZeroHash, e
	}
	if err != nil {
		return plumbing.ZeroHash, r.broken(rev, err)
	}
	return c.tree, nil
}

func (r *Repository) broken(rev string, err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return &manifest.Error{File: filepath.ToSlash(r.path),
			Msg: fmt.Sprintf("revision %q is not complete in the Git repository: it is shallow or a partial clone",
				rev),
			Tip: "fetch all of it"}
	}
	return fmt.Errorf("%s: revision %q: %w", r.path, rev, err)
}

type writer struct {
	repo    *Repository
	left    int64
	entries int64
	most    budget.Budget
}

// write writes a file, or what a tree has. A small repository can name one tree billions of times: there is a limit.
func (w *writer) write(e entry, to string, depth int) error {
	if e.mode != filemode.Dir {
		return w.file(e, to)
	}
	list, err := w.repo.entries(e.hash)
	if err != nil {
		return err
	}
	if w.entries -= int64(len(list)); w.entries < 0 || depth > maxDepth {
		return manifest.OverLimit(
			fmt.Errorf("more than %d files, or directories deeper than %d", w.most.Files, maxDepth))
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range list {
		if !fs.ValidPath(e.name) || strings.Contains(e.name, "/") || !filepath.IsLocal(e.name) || e.name == "." {
			return fmt.Errorf("%q is not a file name", e.name)
		}
		if err := w.write(e, filepath.Join(to, e.name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// file writes a regular file. Symbolic links are left out: what they lead to is not in the tree. What the repository
// does not have stands for itself.
func (w *writer) file(e entry, target string) (err error) {
	if e.mode == filemode.Submodule {
		return regular.Absent(target, regular.Submodule)
	}
	if e.mode != filemode.Regular && e.mode != filemode.Executable && e.mode != filemode.Deprecated {
		return nil
	}
	size, err := w.repo.store.EncodedObjectSize(e.hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return regular.Absent(target, "is not in the Git repository, which may be a partial clone: "+
			"git diff of the two revisions fetches it")
	}
	if err != nil {
		return err
	}
	if w.left -= size; w.left < 0 {
		return manifest.OverLimit(fmt.Errorf("more than %d MiB of files", w.most.Bytes>>20))
	}
	if before := w.repo.written[e.hash]; before != "" && os.Link(before, target) == nil {
		return nil
	}
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if size > budget.Of(budget.TreeFile).Bytes {
		return out.Truncate(size) // nobody reads so much: its size is what is said of it
	}
	o, err := w.repo.store.EncodedObject(plumbing.BlobObject, e.hash)
	if err != nil {
		return err
	}
	in, err := o.Reader()
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, io.LimitReader(in, size))
	if err == nil {
		w.repo.written[e.hash] = target
	}
	return err
}

// Tracks reports whether HEAD has a path.
func Tracks(name string) bool {
	r, err := Open(name)
	if err != nil {
		return false
	}
	has, err := r.Has("HEAD")
	return has && err == nil
}

// Only the packages of go-git that read files are used: what is above them costs 6 MB and time at each start.

var errNoRepository = errors.New("no Git repository")

// find returns the work tree that a directory is in, and its repository. A bare repository has no work tree.
func find(dir string) (work string, store *store, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		name := filepath.Join(at, ".git")
		info, err := os.Stat(name)
		if err == nil {
			if !info.IsDir() {
				if name, err = linked(name); err != nil {
					return "", nil, err
				}
			}
			store, err = open(name)
			return at, store, err
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", nil, err
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "objects")); err != nil {
		return "", nil, errNoRepository
	}
	store, err = open(dir)
	return "", store, err
}

// linked reads a file .git, which names the directory that has the HEAD of a work tree or submodule.
func linked(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	to, ok := strings.CutPrefix(first, "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s does not start with \"gitdir: \"", name)
	}
	return beside(name, to), nil
}

func beside(name, to string) string {
	if to = strings.TrimSpace(to); filepath.IsAbs(to) {
		return to
	}
	return filepath.Join(filepath.Dir(name), to)
}

// open opens a directory with a HEAD. The objects of a linked work tree are in the directory that commondir names.
func open(dir string) (*store, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, errNoRepository
	}
	repository, objects := osfs.New(dir), filepath.Join(dir, "objects")
	name := filepath.Join(dir, "commondir")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if common := strings.TrimSpace(string(text)); common != "" {
		repository = dotgit.NewRepositoryFilesystem(repository, osfs.New(beside(name, common)))
		objects = filepath.Join(beside(name, common), "objects")
	}
	objectCache := cache.NewObjectLRUDefault()
	opened := &store{Storage: filesystem.NewStorageWithOptions(repository, objectCache, options)}
	opened.borrowed, opened.lost = borrows(objects, objectCache)
	if _, err := opened.Reference(plumbing.HEAD); errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, errNoRepository
	} else if err != nil {
		return nil, err
	}
	return opened, opened.formats()
}
