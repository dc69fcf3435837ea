package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Options say how references are opened, and which of several bundles is meant.
type Options struct {
	Source        source.Options
	bundle.Choice // of a catalog or legacy package; Version is a version or the name of a CSV

	// Metadata allows a bundle that has nothing but what its catalog says of it (olm.csv.metadata). It is used if the
	// image of the bundle is not fetched, because of Offline, or because the catalog does not name it.
	Metadata bool

	// Only are the packages that are asked for. Of directories of bundles they are read, and what they may depend on;
	// the other ones are as if they were not there. Empty: all are read. With Alone, what they depend on is not there
	// either.
	Only  []string
	Alone bool

	Cache *Cache // keeps the catalogs that are read; nil: they are read each time
}

// catalogLimits returns the limits for a catalog, which may be larger than a bundle. The limit for a file is that for a
// document.
func (o Options) catalogLimits() source.Limits {
	l, most := o.Source.Limits, budget.Of(budget.Catalog)
	l.MaxTotalBytes = cmp.Or(l.MaxTotalBytes, most.Bytes)
	l.MaxFiles = cmp.Or(l.MaxFiles, budget.Int(most.Files))
	l.MaxFileBytes = cmp.Or(l.MaxFileBytes, budget.Of(budget.CatalogDoc).Bytes)
	return l.OrDefault()
}

func (o Options) orDefault() Options {
	o.Source.Limits = o.Source.Limits.OrDefault()
	if o.Source.Warn == nil {
		o.Source.Warn = func(string, ...any) {}
	}
	return o
}

// Cache keeps the catalogs of one run, so that each is read once. The zero value is empty. It can be used by several
// goroutines.
type Cache struct {
	mu       sync.Mutex
	catalogs map[string]*cached
}

// cached is a catalog that is read by the first who asks for it.
type cached struct {
	once    sync.Once
	catalog *Catalog
	err     error
}

// read returns the catalog with a key. It calls fn if the catalog is not known yet.
func (c *Cache) read(key string, fn func() (*Catalog, error)) (*Catalog, error) {
	if c == nil {
		return fn()
	}
	c.mu.Lock()
	if c.catalogs == nil {
		c.catalogs = map[string]*cached{}
	}
	one := c.catalogs[key]
	if one == nil {
		one = &cached{}
		c.catalogs[key] = one
	}
	c.mu.Unlock()
	one.once.Do(func() { one.catalog, one.err = fn() })
	return one.catalog, one.err
}

func hint(err error, format string, args ...any) error {
	return manifest.WithHint(err, fmt.Sprintf(format, args...))
}

// unknown returns an error with the known name that was probably meant.
func unknown(got string, known []string, format string, args ...any) error {
	err := fmt.Errorf(format+" %s; there are %s", append(args, quote(got), text.Names(known))...)
	if near := nearestVersion(got, known); near != "" {
		return hint(err, "did you mean %s?", near)
	}
	return manifest.WithHint(err, text.DidYouMean(got, known))
}

// nearestVersion returns the next lower one of some versions, or the next higher one if only that is of the same minor
// version, or if none is lower. It returns "" for what is no version.
func nearestVersion(got string, known []string) string {
	want, err := semver.Parse(strings.TrimPrefix(got, "v"))
	var list []semver.Version
	for _, name := range known {
		if v, bad := semver.Parse(name); bad == nil {
			list = append(list, v)
		}
	}
	if err != nil || len(list) == 0 {
		return ""
	}
	slices.SortFunc(list, semver.Version.Compare)
	same := func(v semver.Version) bool { return v.Major == want.Major && v.Minor == want.Minor }
	higher := slices.IndexFunc(list, want.LT)
	switch {
	case higher < 0:
		return list[len(list)-1].String()
	case higher == 0, same(list[higher]) && !same(list[higher-1]):
		return list[higher].String()
	}
	return list[higher-1].String()
}

func quote(s string) string { return strconv.Quote(s) }
