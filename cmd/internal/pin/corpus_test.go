package pin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/cmd/internal/pin"
	"github.com/olmgen/olmgen/manifest"
)

// TestCorpusExtensions pins each release of each catalog of OLMGEN_CORPUS for a ClusterExtension that names it, and for
// one that names no version, in clusters that have the releases before it. Make plays each pinned catalog before it
// returns; what is refused is refused with a reason.
func TestCorpusExtensions(t *testing.T) {
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		t.Skip("OLMGEN_CORPUS is not set")
	}
	dirs, err := filepath.Glob(filepath.Join(root, "catalogs", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no catalogs below %s: %v", root, err)
	}
	asked, pinned := 0, 0
	for _, dir := range dirs {
		c, err := catalog.Read(context.Background(), dir, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.Names() {
			p := c.Packages[name]
			for i, b := range p.Bundles {
				version, ok := b.Version()
				if !ok || i%7 != 0 && i < len(p.Bundles)-2 {
					continue // a seventh of the releases, and the last ones
				}
				for _, versions := range []string{version.String(), ""} {
					q := pin.Extension{Operator: pin.Operator{Name: name, Approved: b.Name},
						Request: extension.Request{Package: name, Versions: versions},
						Sources: []extension.Source{{Name: "catalog", Catalog: c}}}
					if i > 0 {
						q.Installed = []string{p.Bundles[i-1].Name}
					}
					asked++
					made, err := pin.Make(context.Background(), &pin.Input{Extensions: []*pin.Extension{&q}}, nil)
					var refusal *manifest.Error
					switch {
					case errors.As(err, &refusal) && refusal.Msg != "":
					case err != nil:
						t.Errorf("%s: %v", b.Name, err)
					case made.Lock.Operators[0].Approved != b.Name:
						t.Errorf("%s: %s is pinned", b.Name, made.Lock.Operators[0].Approved)
					default:
						pinned++
					}
				}
			}
		}
	}
	t.Logf("%d of %d ClusterExtensions are pinned, the others are refused with a reason", pinned, asked)
	if pinned == 0 {
		t.Error("nothing is pinned")
	}
}
