package source

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Found is something that holds bundles.
type Found struct {
	Kind string // one of the Kind constants
	Path string // without a prefix; for KindOCI the image
}

// Ref returns the reference that Open takes.
func (f Found) Ref() string {
	if f.Kind == KindOCI {
		return "oci://" + f.Path
	}
	return f.Kind + ":" + f.Path
}

// Find returns what holds bundles at a path: the path itself, or bundles, catalogs and legacy packages in the
// directories below it, in the order of their paths. A directory that holds file-based catalogs and nothing else is one
// catalog. Find does not follow symbolic links, and it does not read bundles.
func Find(ctx context.Context, ref string) ([]Found, error) {
	kind, arg := cutPrefix(ref)
	if kind != "" {
		return []Found{{kind, arg}}, nil
	}
	info, err := os.Stat(ref)
	if err != nil {
		return nil, missing(ref, err)
	}
	if !info.IsDir() {
		if isCatalogFile(ref) {
			return []Found{{KindCatalog, ref}}, nil
		}
		kind, err := byForm(ref)
		return []Found{{kind, ref}}, err
	}
	f := finder{catalogs: map[string]bool{}}
	if err := filepath.WalkDir(ref, func(p string, e fs.DirEntry, err error) error {
		return f.visit(ctx, p, e, err)
	}); err != nil {
		return nil, err
	}
	switch {
	case len(f.list)+len(f.catalogs) == 0:
		return nil, &NothingError{ref}
	case len(f.list) == 0:
		return []Found{{KindCatalog, ref}}, nil
	}
	for dir := range f.catalogs {
		f.list = append(f.list, Found{KindCatalog, dir})
	}
	slices.SortFunc(f.list, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
	return f.list, nil
}

// NothingError reports that a directory holds no bundles.
type NothingError struct{ Path string }

func (e *NothingError) Error() string {
	return e.Path + ": no bundles, file-based catalogs or legacy packages in this directory"
}

// Hint returns what to do.
func (e *NothingError) Hint() string {
	return "a bundle has a directory manifests/ with a ClusterServiceVersion"
}

type finder struct {
	list     []Found
	catalogs map[string]bool // directories with files of catalogs
}

func (f *finder) visit(ctx context.Context, p string, e fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case !e.IsDir():
		if e.Type().IsRegular() && !f.catalogs[filepath.Dir(p)] && isCatalogFile(p) {
			f.catalogs[filepath.Dir(p)] = true
		}
		return nil
	case strings.HasPrefix(e.Name(), ".") && e.Name() != "." && e.Name() != "..":
		return filepath.SkipDir
	case hasManifests(p), exists(filepath.Join(p, "metadata", "annotations.yaml")):
		f.list = append(f.list, Found{KindDir, p})
		return filepath.SkipDir
	}
	entries, err := os.ReadDir(p)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		switch {
		case entry.IsDir():
		case IsPackageManifestName(entry.Name()):
			f.list = append(f.list, Found{KindPackageManifest, p})
			return filepath.SkipDir
		case entry.Name() == "oci-layout":
			f.list = append(f.list, Found{KindOCILayout, p})
			return filepath.SkipDir
		}
	}
	return nil
}

var (
	renderConfig = lazy.Regexp(`(?m)^\s*\{?\s*"?kind"?:\s*["']?RenderConfig\b`)
	anyObject    = lazy.Regexp(`(?m)^\s*\{?\s*"?kind"?:\s*["']?[A-Z]`)
	csvKind      = []byte("ClusterServiceVersion")
	isCSV        = lazy.Regexp(`(?m)^\s*\{?\s*"?kind"?:\s*["']?ClusterServiceVersion\b`)
)

// RenderConfigError is the error for a RenderConfig that takes the place of a bundle.
type RenderConfigError struct{ File string }

func (e *RenderConfigError) Error() string { return e.File + ": this is a RenderConfig, not a bundle" }

// Hint returns what to do about the error.
func (e *RenderConfigError) Hint() string { return "the bundles are the sources in it" }

// IsRenderConfig reports whether a path is a file that declares a RenderConfig.
func IsRenderConfig(path string) bool {
	return IsManifestName(path) && renderConfig().Match(content(path))
}

// content returns the content of a regular file for a hint, up to the largest size of one; nil if it can't be read.
func content(path string) []byte {
	f, err := regular.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, DefaultLimits().MaxFileBytes))
	if err != nil {
		return nil
	}
	return data
}

func notBundleFile(file string) error {
	data := content(file)
	dir := filepath.Dir(file)
	switch {
	case renderConfig().Match(data):
		return &RenderConfigError{file}
	case catalogSchema().Match(data):
		return hint(fmt.Errorf("%s: this is a file-based catalog, not a bundle", file), "write catalog:%s", file)
	case isChart(filepath.Base(file)):
		return chartError(dir)
	case isKustomizationName(filepath.Base(file)):
		return kustomizationError(dir)
	case bytes.Contains(data, csvKind):
		return hint(fmt.Errorf("%s: a single file is not a bundle", file),
			"give the directory of the bundle, which holds the CRDs too")
	case anyObject().Match(data):
		return manifestsError(file)
	}
	return hint(fmt.Errorf("%s: a single file is not a bundle", file), "give the directory of the bundle")
}

// checkDir returns an error for a directory of something else than a bundle. The reader of the bundle finds the others.
func checkDir(dir string) error {
	for _, known := range []string{"metadata", "manifests", "bundle"} {
		switch at := filepath.Join(dir, known); {
		case known == "manifests" && slices.ContainsFunc(entriesOf(at), isKustomization):
			return kustomizationError(at)
		case exists(at):
			return nil
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if exists(filepath.Join(dir, "olmgen.lock")) { // output.LockName
		return hint(fmt.Errorf("%s: olmgen rendered this directory: it is not a bundle", dir),
			"give the bundle that it was rendered from")
	}
	var chart, kustomization, objects bool
	var config string
	var nested *versionsError
	var versions, packages []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			if IsBundleDir(path) {
				versions = append(versions, e.Name())
			} else if some := lists.Filter(dirsIn(path), hasManifests); len(some) > 0 {
				packages = append(packages, e.Name())
				nested = cmp.Or(nested, newVersionsError(path, lists.Map(some, filepath.Base)))
			}
			continue
		}
		chart = chart || isChart(e.Name())
		kustomization = kustomization || isKustomization(e)
		if !IsManifestName(e.Name()) {
			continue
		}
		data := content(path)
		if bytes.Contains(data, csvKind) {
			return nil // the directory of a CSV
		}
		if renderConfig().Match(data) {
			config = path
		}
		objects = objects || anyObject().Match(data)
	}
	switch {
	case len(versions) > 0:
		return newVersionsError(dir, versions)
	case len(packages) > 0 && !chart && !kustomization:
		nested.above, nested.packages = dir, packages
		return nested
	case chart:
		return chartError(dir)
	case config != "":
		return &RenderConfigError{config}
	case kustomization:
		return kustomizationError(dir)
	case objects:
		return manifestsError(dir)
	}
	return nil
}

// entriesOf returns what is in a directory; nothing if it cannot be read.
func entriesOf(dir string) []fs.DirEntry {
	entries, _ := os.ReadDir(dir)
	return entries
}

// dirsIn returns the paths of what is in a directory.
func dirsIn(dir string) []string {
	return lists.Map(entriesOf(dir), func(e fs.DirEntry) string { return filepath.Join(dir, e.Name()) })
}

const csvFiles = "*.clusterserviceversion.*"

// hasManifests reports whether a directory has the manifests/ of a bundle. A directory of that name without metadata/
// beside it is one only if it has a CSV and no kustomization: config/manifests of Operator SDK makes a bundle.
func hasManifests(dir string) bool {
	manifests := filepath.Join(dir, "manifests")
	entries, err := os.ReadDir(manifests)
	if err != nil || exists(filepath.Join(dir, "metadata")) {
		return err == nil
	}
	return !slices.ContainsFunc(entries, isKustomization) && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		data := content(filepath.Join(manifests, e.Name()))
		return bytes.Contains(data, csvKind) && isCSV().Match(data)
	})
}

// IsBundleDir reports whether a directory looks like a bundle: it has manifests/, or a CSV beside other files.
func IsBundleDir(dir string) bool {
	names, _ := fs.Glob(os.DirFS(dir), csvFiles)
	return len(names) > 0 || hasManifests(dir)
}

// IsAnnotated reports whether a directory has what only a bundle has, metadata/annotations.yaml beside manifests/.
func IsAnnotated(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "metadata", "annotations.yaml"))
	return err == nil && IsBundleDir(dir)
}

// Beside remembers which directories have bundles, or are operators/NAME.
type Beside map[string]bool

// Lacking returns what a directory lacks to be the bundle that it looks like: it is named by a version, has a part of a
// bundle, and stands beside bundles or below operators/NAME. It returns "" for a bundle, and for anything else.
func (b Beside) Lacking(dir string) string {
	if _, err := semver.ParseTolerant(filepath.Base(dir)); err != nil {
		return ""
	}
	has := func(name string) bool { return exists(filepath.Join(dir, name)) }
	manifests := has("manifests")
	if manifests && has("metadata/annotations.yaml") {
		return ""
	}
	above := filepath.Dir(dir)
	legacy := func(e fs.DirEntry) bool { return IsPackageManifestName(e.Name()) }
	csv := func(at string) bool { return isCSV().Match(content(at)) }
	released, is := b[above]
	if !is {
		released = !slices.ContainsFunc(entriesOf(above), legacy) &&
			(filepath.Base(filepath.Dir(above)) == "operators" || slices.ContainsFunc(dirsIn(above), IsAnnotated))
		b[above] = released
	}
	switch {
	case !released, !manifests && !has("metadata") && !slices.ContainsFunc(dirsIn(dir), func(at string) bool {
		return csv(at) || slices.ContainsFunc(dirsIn(at), csv)
	}):
		return ""
	case !manifests:
		return "manifests/"
	}
	return "metadata/annotations.yaml"
}

// BundlesAt returns the bundles that a path is made of: the directory itself, the one whose manifests/ it is, or each
// of its directories. It returns none where others than bundles are, and for a directory that a kustomization applies.
func BundlesAt(dir string) (list []string) {
	above := filepath.Join(dir, "..")
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(abs) == "manifests" && IsAnnotated(above) {
		return []string{above}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, isKustomization) {
		return nil
	}
	if names, _ := fs.Glob(os.DirFS(dir), csvFiles); len(names) > 0 || IsAnnotated(dir) {
		return []string{dir}
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if !IsBundleDir(filepath.Join(dir, e.Name())) {
			return nil
		}
		list = append(list, filepath.Join(dir, e.Name()))
	}
	return list
}

// CompareVersions compares two versions as semantic versions, or as texts if one of them is none.
func CompareVersions(a, b string) int {
	va, errA := semver.ParseTolerant(a)
	vb, errB := semver.ParseTolerant(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return va.Compare(vb)
}

func isChart(name string) bool { return name == "Chart.yaml" }

func isKustomization(e fs.DirEntry) bool { return isKustomizationName(e.Name()) }

func isKustomizationName(name string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, name)
}

func newVersionsError(dir string, versions []string) *versionsError {
	slices.SortFunc(versions, func(a, b string) int {
		return CompareVersions(strings.TrimPrefix(a, "v"), strings.TrimPrefix(b, "v"))
	})
	return &versionsError{dir: dir, versions: versions}
}

// versionsError is the error for a directory of bundles that takes the place of one.
type versionsError struct {
	dir      string
	versions []string // the names of their directories, the newest last
	above    string   // the directory that was given, if it has dir, the first of some packages
	packages []string
}

func (e *versionsError) Error() string {
	if e.above != "" {
		return e.above + ": this directory holds directories of bundles: " + text.FirstOf(5, e.packages)
	}
	if len(e.versions) == 1 {
		return e.dir + ": this is the directory above a bundle"
	}
	return fmt.Sprintf("%s: this directory holds %s: %s", e.dir, text.Count(len(e.versions), "bundle"),
		text.FirstOf(12, e.versions))
}

// Bundles returns the directory and the names of those in it.
func (e *versionsError) Bundles() (dir string, versions []string) { return e.dir, e.versions }

// Hint returns what to do about the error.
func (e *versionsError) Hint() string {
	last := filepath.Join(e.dir, e.versions[len(e.versions)-1])
	switch {
	case e.above != "":
		return "give one bundle, such as " + last
	case len(e.versions) == 1:
		return "give " + last
	}
	return "give one of them, such as " + last
}

func chartError(dir string) error {
	return hint(fmt.Errorf("%s: this is a Helm chart, not a bundle", dir),
		"helm template renders a chart, and diff and permissions read its output; "+
			"a bundle has a ClusterServiceVersion in manifests/")
}

func kustomizationError(dir string) error {
	return hint(fmt.Errorf("%s: this is a kustomization, not a bundle", dir),
		"kustomize build renders it; in an operator's project, make bundle writes the bundle")
}

func manifestsError(path string) error {
	return hint(fmt.Errorf("%s: plain manifests without a ClusterServiceVersion are not a bundle", path),
		"apply them as they are; a bundle has a ClusterServiceVersion in manifests/")
}
