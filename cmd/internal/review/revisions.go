package review

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/cmd/internal/gittree"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
)

// Revision is a path in a Git revision or, without a Root, in the work tree.
type Revision struct {
	Ref, Name string // where it is read from, and what it is called
	Root      string // of the files of the revision
	Empty     bool   // there is nothing yet
}

// Checkout reads a path at a Git revision, or at two, into a temporary directory, which remove removes. Without newRev,
// NEW is in the work tree. OLD is empty if its revision does not have the path and NEW does.
func Checkout(name, oldRev, newRev string) (sides [2]Revision, remove func(), err error) {
	repo, err := gittree.Open(name)
	if err != nil {
		return sides, nil, err
	}
	dir, err := os.MkdirTemp("", "olmgen-diff-")
	if err != nil {
		return sides, nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	sides[1] = Revision{Ref: name, Name: name}
	isNew, err := isNew(repo, name, oldRev, newRev)
	if err != nil {
		return sides, nil, err
	}
	for i, rev := range []string{oldRev, newRev} {
		if rev == "" {
			break
		}
		sides[i].Name = rev + ":" + filepath.ToSlash(name)
		if sides[i].Empty = i == 0 && isNew; sides[i].Empty {
			continue
		}
		root := filepath.Join(dir, fmt.Sprint(i))
		at, err := repo.Checkout(rev, root, looksDeclared(name))
		if err == nil && buildsOnOthers(at) {
			if err = os.RemoveAll(root); err == nil {
				at, err = repo.Checkout(rev, root, true)
			}
		}
		if err != nil {
			return sides, nil, err
		}
		sides[i].Ref, sides[i].Root = at, root
	}
	return sides, func() { os.RemoveAll(dir) }, nil
}

// Revised returns what names the files of Git revisions in messages.
func Revised(sides [2]Revision) *strings.Replacer {
	var pairs []string
	for _, s := range sides {
		if s.Root != "" {
			rev, _, _ := strings.Cut(s.Name, ":")
			pairs = append(pairs, s.Ref, s.Name, s.Root+string(filepath.Separator), rev+":")
		}
	}
	return strings.NewReplacer(pairs...)
}

// isNew reports whether a path is in NEW and not in OLD, which is then empty.
func isNew(repo *gittree.Repository, name, oldRev, newRev string) (bool, error) {
	had, err := repo.Has(oldRev)
	if had || err != nil {
		return false, err
	}
	if newRev != "" {
		return repo.Has(newRev)
	}
	_, err = os.Stat(name)
	return err == nil, nil
}

// buildsOnOthers reports whether a kustomization below a directory may name what is above it.
func buildsOnOthers(dir string) bool {
	found := errors.New("found")
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || !slices.Contains(kustomization.Names(), entry.Name()) {
			return nil
		}
		if data, err := whole.ReadFile(name, budget.File); err == nil && bytes.Contains(data, []byte("..")) {
			return found
		}
		return nil
	}) != nil
}

// looksDeclared reports whether a path may be a RenderConfig, which names other files.
func looksDeclared(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		info, err := os.Stat(name)
		return err != nil || !info.IsDir()
	}
	return false
}
