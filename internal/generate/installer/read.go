package installer

import (
	"context"
	"io"

	"github.com/olmgen/olmgen/internal/manifest/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Read returns the objects of a file, of a directory with all below it, or, with "-", of stdin. Kustomizations are not
// objects. An error is returned for anything that is not readable: permissions for a part of the objects are of no use.
func Read(ctx context.Context, path string, stdin io.Reader) ([]*manifest.Object, error) {
	t, err := tree.Read(ctx, []string{path}, tree.Options{Stdin: stdin, Strict: true})
	if err != nil {
		return nil, err
	}
	return t.Objects, nil
}
