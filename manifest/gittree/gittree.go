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

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/olmgen/olmgen/manifest"
)

// MaxBytes is how much a revision may have below the path that is read.
const MaxBytes = 1 << 30

// Repository is a repository with a path in it.
type Repository struct {
	repo *git.Repository
	path string // as it was given
	in   string // in the repository, with slashes; "." is all of it
}

// Open opens the repository that a path is in. The path itself need not exist.
func Open(name string) (*Repository, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	from := abs
	for { // to the nearest directory that exists
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			break
		}
		up := filepath.Dir(from)
		if up == from {
			break
		}
		from = up
	}
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil, err
	}
	repo, err := git.PlainOpenWithOptions(from, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if bare, err2 := git.PlainOpen(from); errors.Is(err, git.ErrRepositoryNotExists) && err2 == nil {
		repo, err = bare, nil
	}
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, &manifest.Error{File: filepath.ToSlash(name), Msg: "is in no Git repository",
			Tip: "name a path in the work tree of one"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the Git repository cannot be read: %w", name, err)
	}
	tree, err := repo.Worktree()
	if errors.Is(err, git.ErrIsBareRepository) {
		return nil,
			&manifest.Error{File: filepath.ToSlash(name), Msg: "the Git repository is bare: it has no work tree",
				Tip: "name a path in a clone of it"}
	}
	if err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(tree.Filesystem.Root())
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(filepath.Clean(root), filepath.Join(real, strings.TrimPrefix(abs, from)))
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is not in the work tree of %s", name, root)
	}
	return &Repository{repo, name, filepath.ToSlash(rel)}, nil
}

// Checkout writes what a revision has into an empty directory: the path alone, or with whole everything, because a file
// may name others. It returns where the path is then.
func (r *Repository) Checkout(rev, dir string, whole bool) (string, error) {
	tree, err := r.tree(rev)
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, filepath.FromSlash(r.in))
	if r.in != "." {
		entry, err := tree.FindEntry(r.in)
		if err != nil {
			return "", &manifest.Error{File: filepath.ToSlash(r.path), Msg: fmt.Sprintf("is not in revision %q", rev),
				Tip: "it is newer, or has another name there"}
		}
		if !whole && entry.Mode != filemode.Dir {
			file, err := tree.File(r.in)
			if err != nil {
				return "", r.broken(rev, err)
			}
			w := writer{left: MaxBytes}
			return target, r.wrapped(rev, w.file(file, target))
		}
		if !whole {
			if tree, err = tree.Tree(r.in); err != nil {
				return "", r.broken(rev, err)
			}
			dir = target
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	w := writer{left: MaxBytes}
	return target, r.wrapped(rev, tree.Files().ForEach(func(f *object.File) error {
		name := path.Clean(f.Name)
		if !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%q is no path", f.Name)
		}
		return w.file(f, filepath.Join(dir, filepath.FromSlash(name)))
	}))
}

// tree returns the tree of a revision.
func (r *Repository) tree(rev string) (*object.Tree, error) {
	hash, err := r.repo.ResolveRevision(plumbing.Revision(rev))
	if err != nil {
		e := &manifest.Error{File: filepath.ToSlash(r.path),
			Msg: fmt.Sprintf("the Git repository has no revision %q", rev),
			Tip: "name a branch, a tag or a commit"}
		if r.shallow() {
			e.Tip = "the repository is shallow: fetch its whole history; actions/checkout does so with fetch-depth: 0"
		}
		return nil, e
	}
	commit, err := r.repo.CommitObject(*hash)
	if err != nil {
		return nil, r.broken(rev, err)
	}
	tree, err := commit.Tree()
	if err != nil {
		return nil, r.broken(rev, err)
	}
	return tree, nil
}

// shallow reports whether the history of the repository ends early.
func (r *Repository) shallow() bool {
	list, err := r.repo.Storer.Shallow()
	return err == nil && len(list) > 0
}

// broken explains an object that is not there.
func (r *Repository) broken(rev string, err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return &manifest.Error{File: filepath.ToSlash(r.path),
			Msg: fmt.Sprintf("revision %q is not complete in the Git repository: it is shallow or a partial clone",
				rev),
			Tip: "fetch all of it"}
	}
	return fmt.Errorf("%s: revision %q: %w", r.path, rev, err)
}

func (r *Repository) wrapped(rev string, err error) error {
	if err == nil {
		return nil
	}
	return r.broken(rev, err)
}

// writer writes files until they are too many.
type writer struct{ left int64 }

// file writes a regular file. Symbolic links and submodules are left out: what they lead to is not in the tree.
func (w *writer) file(f *object.File, target string) (err error) {
	if f.Mode != filemode.Regular && f.Mode != filemode.Executable && f.Mode != filemode.Deprecated {
		return nil
	}
	if w.left -= f.Size; w.left < 0 {
		return fmt.Errorf("more than %d MiB of files", MaxBytes>>20)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	in, err := f.Reader()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, io.LimitReader(in, f.Size))
	return err
}

// Tracks reports whether HEAD has a path.
func Tracks(name string) bool {
	r, err := Open(name)
	if err != nil {
		return false
	}
	tree, err := r.tree("HEAD")
	if err != nil {
		return false
	}
	_, err = tree.FindEntry(r.in)
	return err == nil || r.in == "."
}
