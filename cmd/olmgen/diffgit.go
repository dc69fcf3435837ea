package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/manifest/budget"
	"github.com/olmgen/olmgen/internal/manifest/gittree"
	"github.com/olmgen/olmgen/internal/manifest/kustomization"
	"github.com/olmgen/olmgen/internal/manifest/whole"
	"github.com/olmgen/olmgen/manifest"
)

// checkout reads PATH at a Git revision, or at two, into a temporary directory.
func (f *diffFlags) checkout(given []string) (sides [2]side, remove func(), err error) {
	name := "."
	if len(given) > 0 {
		name = given[0]
	}
	oldRev, newRev, two := strings.Cut(f.git, "..")
	if strings.HasPrefix(newRev, ".") {
		return sides, nil, &usageError{"--git REV...REV is not known", "write REV..REV, perhaps with git merge-base"}
	}
	if oldRev == "" || two && newRev == "" {
		return sides, nil, &usageError{fmt.Sprintf("--git %q has an empty revision", f.git), "write REV or REV..REV"}
	}
	repo, err := gittree.Open(name)
	if err != nil {
		return sides, nil, err
	}
	dir, err := os.MkdirTemp("", "olmgen-diff-")
	if err != nil {
		return sides, nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	sides[1] = side{ref: name, name: name}
	isNew, err := f.isNew(repo, name, oldRev, newRev)
	if err != nil {
		remove()
		return sides, nil, err
	}
	for i, rev := range []string{oldRev, newRev} {
		if rev == "" {
			break
		}
		if i == 0 && isNew {
			sides[0] = side{name: rev + ":" + filepath.ToSlash(name), old: true, empty: true}
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
			remove()
			return sides, nil, err
		}
		sides[i] = side{ref: at, name: rev + ":" + filepath.ToSlash(name), old: i == 0, root: root}
	}
	return sides, remove, nil
}

// isNew reports whether PATH is in NEW and not in OLD, which is then empty.
func (f *diffFlags) isNew(repo *gittree.Repository, name, oldRev, newRev string) (bool, error) {
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

// names returns what names the files of Git revisions in messages.
func names(sides [2]side) *strings.Replacer {
	var pairs []string
	for _, s := range sides {
		if s.root != "" {
			rev, _, _ := strings.Cut(s.name, ":")
			pairs = append(pairs, s.ref, s.name, s.root+string(filepath.Separator), rev+":")
		}
	}
	return strings.NewReplacer(pairs...)
}

// renamedError names the files of a Git revision in an error.
func renamedError(err error, names *strings.Replacer) error {
	text, hint := config.ErrorText(err, func(manifest.Option) string { return "" })
	if named := names.Replace(text); named != text {
		return manifest.WithHint(errors.New(named), names.Replace(hint))
	}
	return err
}

// renamingWriter names the files of a Git revision in messages.
type renamingWriter struct {
	w     io.Writer
	names *strings.Replacer
}

func (r *renamingWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(r.w, r.names.Replace(string(p)))
	return len(p), err
}
