package pin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/pin"
	"github.com/olmgen/olmgen/golden/resolvercase"
	"github.com/olmgen/olmgen/manifest"
)

// TestCases pins the cases whose directories the file OLMGEN_PIN_CASES has, one a line, and writes what is pinned beside
// it: e2e/resolver has OLM play that.
func TestCases(t *testing.T) {
	file := os.Getenv("OLMGEN_PIN_CASES")
	if file == "" {
		t.Skip("OLMGEN_PIN_CASES is not set")
	}
	dirs, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, mu := resolvercase.PinnedCases{}, sync.Mutex{}
	t.Run("cases", func(t *testing.T) {
		for dir := range strings.FieldsSeq(string(dirs)) {
			t.Run(dir, func(t *testing.T) {
				t.Parallel()
				list, err := pinnedCase(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				all[dir] = list
			})
		}
	})
	if err := all.Write(file + ".json"); err != nil {
		t.Fatal(err)
	}
}

func pinnedCase(ctx context.Context, dir string) (list []resolvercase.Pinned, err error) {
	question, opened, err := resolvercase.ReadOpened(dir)
	if err != nil {
		return nil, err
	}
	hidden := slices.ContainsFunc(question.Catalogs, func(c resolvercase.Catalog) bool { return c.Unavailable || c.Unvalidated })
	for i := range question.Scenarios {
		p := &resolvercase.Pinned{}
		if len(opened.Refusals) == 0 && !hidden {
			state, err := question.State(&question.Scenarios[i], opened)
			if err != nil {
				return nil, err
			}
			asked, chance, err := approvedAt(ctx, state)
			if err != nil {
				return nil, err
			}
			if p, err = pinnedAs(ctx, asked); err != nil {
				return nil, err
			}
			p.Settled, p.Chance = len(asked) > 0, chance
		}
		list = append(list, *p)
	}
	return list, nil
}

// pinnedAs pins the first answer that can be pinned.
func pinnedAs(ctx context.Context, asked []pin.Namespace) (*resolvercase.Pinned, error) {
	out := &resolvercase.Pinned{}
	for i := range asked {
		made, err := pin.Make(ctx, &pin.Input{Namespaces: []*pin.Namespace{&asked[i]}}, nil)
		if refusal, ok := errors.AsType[*manifest.Error](err); ok {
			out.Refused = append(out.Refused, refusal.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		var images []string
		for i, c := range made.Catalogs {
			images = append(images, fmt.Sprintf("registry.example.com/%s@sha256:%064d", c.Source.Name, i))
			one := resolvercase.PinnedCatalog{Namespace: c.Source.Namespace, Name: c.Source.Name, Image: images[i]}
			for _, p := range c.Packages {
				pkg := resolvercase.PinnedPackage{Name: p.Name, File: p.File, Images: p.Images}
				for _, b := range p.Bundles {
					pkg.Bundles = append(pkg.Bundles, b.Name)
				}
				one.Packages = append(one.Packages, pkg)
			}
			out.Catalogs = append(out.Catalogs, one)
		}
		for _, o := range made.Lock.Operators {
			out.Approved = append(out.Approved, resolvercase.Approved{Catalog: o.Catalog, Package: o.Package, Bundle: o.Approved})
		}
		out.ImageSet, err = pin.ImageSet(made.Catalogs, images)
		return out, err
	}
	return out, nil
}
