package catalog

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/olmgen/olmgen/source"
)

// ConvertedBundle is one version of a legacy package in the bundle format.
type ConvertedBundle struct {
	Dir   string            // <package>/<version>, the place of a bundle in a catalog's repository
	Files map[string][]byte // by path below Dir: manifests/... and metadata/annotations.yaml
	// Incomplete is set if the package lacks a CRD that the version owns, or the version that it replaces: the Operator
	// Registry does not load such a package. A warning has said which.
	Incomplete bool
}

// Convert reads a directory in the legacy package manifest format and returns every version of the package as a
// bundle, from the lowest to the highest. The manifests are unchanged. Of the options, only Package, and Limits and
// Warn of Source apply. Errors are those of Open for the same directory.
func Convert(ctx context.Context, dir string, o Options) ([]ConvertedBundle, error) {
	dir = strings.TrimPrefix(dir, source.KindPackageManifest+":")
	p, err := readPackage(ctx, dir, o.orDefault())
	if err != nil {
		return nil, err
	}
	var list []ConvertedBundle
	seen := map[string]bool{}
	for _, v := range p.versions {
		to := path.Join(p.name, v.version())
		for _, part := range []string{p.name, v.version()} {
			if part == "." || part == ".." || strings.ContainsAny(part, "/\\\x00") {
				return nil, fmt.Errorf("%s: %s cannot be the name of a directory", path.Join(dir, v.dir), quote(part))
			}
		}
		if seen[to] {
			return nil, fmt.Errorf("%s: two ClusterServiceVersions have the version %s", dir, v.version())
		}
		seen[to] = true
		files, err := p.bundle(v)
		if err != nil {
			return nil, err
		}
		list = append(list, ConvertedBundle{Dir: to, Files: files, Incomplete: v.incomplete})
	}
	return list, nil
}
