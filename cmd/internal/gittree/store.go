package gittree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// store is a repository with the objects that it borrows. go-git follows alternates itself, but for some questions
// only, not to what they borrow in turn, and it reads their indexes anew for each object.
type store struct {
	*filesystem.Storage
	borrowed []*filesystem.ObjectStorage
	lost     []string // directories that it borrows from, and that are not there
}

// of returns what has an object.
func (s *store) of(hash plumbing.Hash) *filesystem.ObjectStorage {
	for _, o := range s.borrowed {
		if o.HasEncodedObject(hash) == nil {
			return o
		}
	}
	return &s.ObjectStorage
}

func (s *store) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	return s.of(hash).EncodedObject(kind, hash)
}

func (s *store) EncodedObjectSize(hash plumbing.Hash) (int64, error) {
	return s.of(hash).EncodedObjectSize(hash)
}

func (s *store) HashesWithPrefix(prefix []byte) ([]plumbing.Hash, error) {
	found, err := s.ObjectStorage.HashesWithPrefix(prefix)
	for _, o := range s.borrowed {
		more, _ := o.HashesWithPrefix(prefix)
		found = append(found, more...)
	}
	return found, err
}

var options = filesystem.Options{LargeObjectThreshold: 1 << 20} // larger ones are read as streams

// borrows opens the object directories that another one borrows from (git: Documentation/gitrepository-layout.txt,
// objects/info/alternates; object-file.c, link_alt_odb_entries). Those that are lost are left out, as Git does.
func borrows(objects string, objectCache cache.Object) (list []*filesystem.ObjectStorage, lost []string) {
	seen := []string{filepath.Clean(objects)}
	for i := 0; i < len(seen); i++ {
		text, err := os.ReadFile(filepath.Join(seen[i], "info", "alternates"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
				continue
			}
			if quoted, err := strconv.Unquote(line); err == nil {
				line = quoted
			}
			line = beside(filepath.Join(seen[i], "x"), line)
			if _, err := os.Stat(line); err != nil {
				lost = append(lost, line)
			} else if filepath.Base(line) == "objects" && !slices.Contains(seen, line) {
				seen = append(seen, line)
				list = append(list, filesystem.NewObjectStorageWithOptions(dotgit.New(osfs.New(filepath.Dir(line))),
					objectCache, options))
			}
		}
	}
	return list, lost
}

// formats refuses extensions of a repository that go-git does not read.
func (s *store) formats() error {
	c, err := s.Config()
	if err != nil {
		return nil //nolint:nilerr // what cannot be read of it is of no use here
	}
	extensions := c.Raw.Section("extensions")
	for key, reads := range map[string]string{"objectformat": "sha1", "refstorage": "files"} {
		if is := extensions.Option(key); is != "" && is != reads {
			return fmt.Errorf("its %s is %s, and olmgen reads %s", key, is, reads)
		}
	}
	return nil
}
