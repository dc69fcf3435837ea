package gittree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// Only the packages of go-git that read a repository's files are used. The package above them links SSH, HTTP and
// OpenPGP, which costs every command a millisecond at its start and 6 MB.

var errNoRepository = errors.New("no Git repository")

// find returns the work tree that a directory is in, and its repository. A bare repository has no work tree.
func find(dir string) (work string, store *filesystem.Storage, err error) {
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

// inMemory is the size of an object from which it is read as a stream.
const inMemory = 1 << 20

// open opens a directory with a HEAD. The objects of a linked work tree are in the directory that commondir names.
func open(dir string) (*filesystem.Storage, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, errNoRepository
	}
	repository := osfs.New(dir)
	name := filepath.Join(dir, "commondir")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if common := strings.TrimSpace(string(text)); common != "" {
		repository = dotgit.NewRepositoryFilesystem(repository, osfs.New(beside(name, common)))
	}
	store := filesystem.NewStorageWithOptions(repository, cache.NewObjectLRUDefault(),
		filesystem.Options{LargeObjectThreshold: inMemory})
	if _, err := store.Reference(plumbing.HEAD); errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, errNoRepository
	} else if err != nil {
		return nil, err
	}
	return store, nil
}
