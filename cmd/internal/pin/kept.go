package pin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// readKept reads what an earlier run has written: the pinned catalogs, by its lock, and what is for the cluster. A pin
// changes only if Git does, so what the sources do not have any more comes from the pinned catalogs.
func (m *maker) readKept(ctx context.Context) (err error) {
	if m.written, err = output.Recorded(m.options.Dir); err != nil {
		return err
	}
	if m.cluster, err = readCluster(m.options.Dir, m.written); err != nil || m.old == nil {
		return err
	}
	m.kept = map[Source]*catalog.Catalog{}
	made := lists.Map(m.old.Catalogs, func(l LockedCatalog) Catalog {
		return Catalog{Source: sourceOf(l.Source), To: sourceOf(l.Name)}
	})
	for i, sub := range directories(made) {
		path := filepath.Join(m.options.Dir, catalogsDir, sub)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c, err := catalog.Read(ctx, path, catalog.Options{})
		if err != nil {
			return manifest.WithHint(err, "olmgen wrote it: restore it from Git, or delete "+
				filepath.ToSlash(path)+", and it is written again")
		}
		m.kept[made[i].Source] = c
	}
	return nil
}

// readCluster returns what an earlier run has written for the cluster.
func readCluster(dir string, written []string) (files output.Files, err error) {
	for _, name := range written {
		if !strings.HasPrefix(name, clusterDir+"/") && name != imagesetFile {
			continue
		}
		data, err := whole.ReadFile(filepath.Join(dir, filepath.FromSlash(name)), budget.TreeFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, output.File{Path: name, Data: data})
	}
	return files, nil
}

// checkForeign refuses files in the directories of catalogs that olmgen has not written: an image would serve them.
func (m *maker) checkForeign() error {
	dir := m.options.Dir
	written := slices.Concat(m.written, lists.Map(m.Files, func(f output.File) string { return f.Path }))
	for _, sub := range directories(m.Catalogs) {
		root := filepath.Join(dir, catalogsDir, sub)
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			path, err := filepath.Rel(dir, name)
			if err != nil || slices.Contains(written, filepath.ToSlash(path)) {
				return err
			}
			return manifest.WithHint(fmt.Errorf("%s is not of the pin, and its catalog would serve it",
				filepath.ToSlash(name)), "move it elsewhere")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withKept returns the catalog of a source with the releases that only the pin has, but for packages to be upgraded.
func (m *maker) withKept(s Source, c *catalog.Catalog) *catalog.Catalog {
	kept := m.kept[s]
	if c == nil || kept == nil {
		return c
	}
	merged, restored := c.With(kept, func(pkg string) bool { _, ok := m.options.Upgrade[pkg]; return !ok })
	if len(restored) > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("catalog %s does not have %s any more: the pin keeps what it has", s,
			text.And(restored)))
		slices.Sort(m.Notes)
		m.Notes = slices.Compact(m.Notes) // the pinned catalog may be there too
	}
	return merged
}

// restored returns the catalogs of a tree with the releases that only the pin has.
func (m *maker) restored(c predict.Catalogs) predict.Catalogs {
	c.Sources, c.ClusterCatalogs = slices.Clone(c.Sources), slices.Clone(c.ClusterCatalogs)
	for i, s := range c.Sources {
		c.Sources[i].Catalog = m.withKept(m.old.Original(Source{s.Namespace, s.Name}), s.Catalog)
	}
	for i, s := range c.ClusterCatalogs {
		c.ClusterCatalogs[i].Catalog = m.withKept(m.old.Original(Source{Name: s.Name}), s.Catalog)
	}
	return c
}
