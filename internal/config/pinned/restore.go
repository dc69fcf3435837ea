package pinned

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
	"github.com/olmgen/olmgen/internal/catalog/pin"
	"github.com/olmgen/olmgen/internal/manifest/budget"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/manifest/whole"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// Kept are the pinned catalogs of the earlier run. A pin changes only if Git does, so what their sources do not have
// any more comes from them.
type Kept struct {
	lock     *Lock
	upgrade  map[string]string
	catalogs map[pin.Source]*catalog.Catalog // by their source
	notes    []string
}

// ReadKept reads the pinned catalogs of a directory, by the lock of the options. Without a lock there are none.
func ReadKept(ctx context.Context, dir string, o Options) (*Kept, error) {
	k := &Kept{lock: o.Lock, upgrade: o.Upgrade, catalogs: map[pin.Source]*catalog.Catalog{}}
	if o.Lock == nil {
		return k, nil
	}
	var made []pin.Catalog
	for _, l := range o.Lock.Catalogs {
		made = append(made, pin.Catalog{Source: sourceOf(l.Source), To: sourceOf(l.Name)})
	}
	for i, sub := range directories(made) {
		path := filepath.Join(dir, "catalogs", sub)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c, err := catalog.Read(ctx, path, catalog.Options{})
		if err != nil {
			return nil, manifest.WithHint(err, "olmgen wrote it: restore it from Git, or delete "+
				filepath.ToSlash(path)+", and it is written again")
		}
		k.catalogs[made[i].Source] = c
	}
	return k, nil
}

// ReadCluster returns what an earlier run has written for the cluster. written are the files of a directory that olmgen
// wrote.
func ReadCluster(dir string, written []string) (files output.Files, err error) {
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

// CheckForeign refuses files in the directories of catalogs that olmgen has not written: an image would serve them.
func (r *Result) CheckForeign(dir string, written []string) error {
	written = slices.Clip(written)
	for _, f := range r.Files {
		written = append(written, f.Path)
	}
	for _, sub := range directories(r.Catalogs) {
		err := filepath.WalkDir(filepath.Join(dir, "catalogs", sub), func(name string, d fs.DirEntry, err error) error {
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

// Notes name the releases that only the pin has.
func (k *Kept) Notes() []string {
	slices.Sort(k.notes)
	return slices.Compact(k.notes)
}

// with returns the catalog of a source with the releases that only the pin has. Packages that are to be upgraded are
// those of the source.
func (k *Kept) with(s pin.Source, c *catalog.Catalog) *catalog.Catalog {
	kept := k.catalogs[s]
	if c == nil || kept == nil {
		return c
	}
	merged, restored := c.With(kept, func(pkg string) bool { _, ok := k.upgrade[pkg]; return !ok })
	if len(restored) > 0 {
		k.notes = append(k.notes, fmt.Sprintf("catalog %s does not have %s any more: the pin keeps what it has", s,
			text.And(restored)))
	}
	return merged
}

// Restore returns the catalogs of a tree with the releases that only the pin has.
func (k *Kept) Restore(c predict.Catalogs) predict.Catalogs {
	c.Sources, c.ClusterCatalogs = slices.Clone(c.Sources), slices.Clone(c.ClusterCatalogs)
	for i, s := range c.Sources {
		c.Sources[i].Catalog = k.with(k.lock.Original(pin.Source{Namespace: s.Namespace, Name: s.Name}), s.Catalog)
	}
	for i, s := range c.ClusterCatalogs {
		c.ClusterCatalogs[i].Catalog = k.with(k.lock.Original(pin.Source{Name: s.Name}), s.Catalog)
	}
	return c
}
