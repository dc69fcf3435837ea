package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

const ruleReplacesMissing = "replaces-missing"

// Package returns the findings of all versions of a legacy package, with those about the package, and the number of
// versions. File is a path in dir, Source and Path are those of Located.
func Package(ctx context.Context, dir string, so catalog.Options, o Options) ([]Finding, int, error) {
	so.Source.Warn = func(string, ...any) {} // the findings say the same
	versions, err := catalog.Convert(ctx, dir, so)
	if err != nil {
		return nil, 0, err
	}
	csvs := make([]*manifest.Object, len(versions))
	names := map[string]bool{}
	for i, v := range versions {
		if csvs[i] = csvOf(v); csvs[i] != nil {
			names[csvs[i].Name] = true
		}
	}
	var list []Finding
	for i, v := range versions {
		fsys, err := v.FS()
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", v.Dir, err)
		}
		found, err := Bundle(ctx, &source.Source{FS: fsys, Ref: dir, Kind: source.KindPackageManifest}, o)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", v.Dir, err)
		}
		found = append(found, replacesFindings(csvs[i], names)...)
		for j := range found {
			found[j].File = originalFile(dir, v, found[j].File)
		}
		list = append(list, found...)
	}
	src := &source.Source{Ref: dir, Kind: source.KindPackageManifest}
	return Located(src, tidy(list)), len(versions), nil
}

// csvOf returns the ClusterServiceVersion of a version, even if the bundle is not valid, or nil.
func csvOf(v catalog.ConvertedBundle) *manifest.Object {
	for _, name := range slices.Sorted(maps.Keys(v.Files)) {
		docs, err := manifest.ReadFile(name, v.Files[name], manifest.Limits{})
		if err != nil {
			continue
		}
		for _, d := range docs {
			if o, err := d.Object(); err == nil && o.Kind == v1alpha1.ClusterServiceVersionKind {
				return o
			}
		}
	}
	return nil
}

// replacesFindings reports a version that replaces one that the package does not have (OpenShift 4.5 documentation,
// Packaging formats, 1.3.1). A CRD that it does not have makes Bundle refuse the version.
func replacesFindings(csv *manifest.Object, names map[string]bool) []Finding {
	if csv == nil {
		return nil
	}
	v, err := csv.Get("spec", "replaces")
	if old, _ := v.(string); err == nil && old != "" && !names[old] {
		e := csv.Errorf("spec.replaces", "the package has no ClusterServiceVersion %s", old)
		return []Finding{finding(ruleReplacesMissing, findings.Warning, e)}
	}
	return nil
}

// originalFile returns the path of a converted file in the package's directory, as far as its version tells.
func originalFile(dir string, v catalog.ConvertedBundle, file string) string {
	version := path.Base(v.Dir)
	name, ok := strings.CutPrefix(file, "manifests/")
	if !ok {
		return version
	}
	root := strings.TrimPrefix(dir, source.KindPackageManifest+":")
	for _, candidate := range []string{path.Join(version, name), name} {
		if _, err := os.Stat(path.Join(root, candidate)); !errors.Is(err, fs.ErrNotExist) {
			return candidate
		}
	}
	return path.Join(version, name)
}
