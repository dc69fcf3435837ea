package installer

import (
	"context"
	"io"

	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Short is for the tests outside of the package.
var Short = short

// Read reads the objects of a tree as the command does.
func Read(ctx context.Context, path string, stdin io.Reader) ([]*manifest.Object, error) {
	t, err := tree.Read(ctx, []string{path}, tree.Options{Stdin: stdin, Strict: true})
	if err != nil {
		return nil, err
	}
	return t.Objects, nil
}
