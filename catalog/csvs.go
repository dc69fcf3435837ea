package catalog

import (
	"context"
	"fmt"
	"os"

	"github.com/olmgen/olmgen/source"
)

// origin is where a bundle can be read again.
type origin struct {
	pkg     string
	path    string // of the catalog
	options Options
	csv     func(context.Context) ([]byte, error) // of a bundle that is not in a file-based catalog
}

// CSV is the ClusterServiceVersion of a bundle.
type CSV struct {
	JSON []byte // with metadata, install modes and APIs only, if the catalog does not hold the bundle's objects
	Err  error  // why there is none
}

// CSVs returns the ClusterServiceVersions of bundles. It reads the files of their catalogs again, because a Catalog
// does not keep them.
func CSVs(ctx context.Context, bundles []*Bundle) (map[*Bundle]CSV, error) {
	found := map[*Bundle]CSV{}
	type file struct{ catalog, path string }
	files := map[file][]*Bundle{}
	for _, b := range bundles {
		switch {
		case b.origin == nil || b.origin.path == "-":
			found[b] = CSV{Err: fmt.Errorf("bundle %s: its catalog cannot be read twice", b.Name)}
		case b.origin.csv != nil:
			data, err := b.origin.csv(ctx)
			found[b] = CSV{data, err}
		default:
			f := file{b.origin.path, b.File}
			if _, err := os.Stat(b.File); err != nil {
				f.path = f.catalog // the file is part of an image
			}
			files[f] = append(files[f], b)
		}
	}
	for f, list := range files {
		if err := readCSVs(ctx, f.path, list, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readCSVs reads the bundles of one file or catalog.
func readCSVs(ctx context.Context, path string, bundles []*Bundle, found map[*Bundle]CSV) error {
	type name struct{ pkg, bundle string }
	wanted := map[name]*Bundle{}
	for _, b := range bundles {
		wanted[name{b.origin.pkg, b.Name}] = b
		found[b] = CSV{Err: fmt.Errorf("bundle %s: it is no longer in its catalog", b.Name)}
	}
	want := func(pkg, bundle string) bool { return wanted[name{pkg, bundle}] != nil }
	return source.WalkBundles(ctx, path, bundles[0].origin.options.source(), want,
		func(read *source.CatalogBundle) error {
			data, err := read.CSV()
			found[wanted[name{read.Package, read.Name}]] = CSV{data, err}
			return nil
		})
}
