package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/manifest"
)

const (
	kinds = "dir, tar, zip, oci, oci-layout, docker-archive, catalog, packagemanifest"
	forms = "DIR, FILE.tar, FILE.tar.gz, FILE.tgz, FILE.zip, - (a tar on standard input), oci://IMAGE, " +
		"docker://IMAGE, or one of dir:, tar:, zip:, oci-layout:, docker-archive:, catalog:, packagemanifest: with " +
		"a path"
)

func hint(err error, format string, args ...any) error {
	return manifest.WithHint(err, fmt.Sprintf(format, args...))
}

func quote(s string) string { return strconv.Quote(s) }

// Recognise returns the kind of source that ref names and ref without its prefix. Without both, the form says it.
func Recognise(ref, force string) (kind, arg string, err error) {
	prefixed, rest := cutPrefix(ref)
	switch {
	case force == "" && prefixed == "":
		kind, err = byForm(ref)
		return kind, ref, err
	case force == "" || force == prefixed:
		kind, arg = prefixed, rest
	case prefixed == "" || exists(ref):
		kind, arg = force, ref
	default:
		return "", "", fmt.Errorf("%s: the prefix is of kind %s, but kind %s was asked for", ref, prefixed, force)
	}
	if arg == "" {
		return "", "", fmt.Errorf("%s: nothing follows the prefix", quote(ref))
	}
	return kind, arg, RefuseCredentials(ref)
}

var (
	imageRef       = lazy.Regexp(`^([^=\s]*=){0,2}(catalog:)?(oci|docker)://`)
	trailingDigest = lazy.Regexp(`@sha[0-9]+:[^/@]*$`)
)

// RefuseCredentials refuses a name or a password in an image reference, or a flag with one. It does not repeat them.
func RefuseCredentials(ref string) error {
	prefix := imageRef().FindString(ref)
	image := trailingDigest().ReplaceAllString(ref, "")
	i := strings.LastIndex(image, "@")
	if prefix == "" || i < 0 {
		return nil
	}
	err := fmt.Errorf("%s***%s: a name or a password is no part of an image reference", prefix, ref[i:])
	return hint(err, "log in (docker login, podman login), and leave out what is before the @")
}

func cutPrefix(ref string) (kind, rest string) {
	for _, p := range []struct{ prefix, kind string }{
		{"dir:", KindDir}, {"tar:", KindTar}, {"zip:", KindZip},
		{"oci://", KindOCI}, {"docker://", KindOCI},
		{"oci-layout:", KindOCILayout}, {"docker-archive:", KindDockerArchive},
		{"catalog:", KindCatalog}, {"packagemanifest:", KindPackageManifest},
	} {
		if rest, ok := strings.CutPrefix(ref, p.prefix); ok {
			return p.kind, rest
		}
	}
	return "", ref
}

// Several returns the path of a catalog or a legacy package, which has several bundles, by its prefix; "" of others.
func Several(ref string) string {
	if kind, rest := cutPrefix(ref); HasSeveral(kind) {
		return rest
	}
	return ""
}

// catalogImage returns the image of a reference catalog:IMAGE, or "".
func catalogImage(ref string) string {
	if kind, rest := cutPrefix(ref); kind == KindCatalog {
		if kind, _ := cutPrefix(rest); isImageKind(kind) {
			return rest
		}
	}
	return ""
}

// Path returns the path that a reference names; "" for an image in a registry and for standard input.
func Path(ref string) string {
	if image := catalogImage(ref); image != "" {
		return Path(image)
	}
	kind, path := cutPrefix(ref)
	if kind == KindOCI || IsStdin(ref) || scheme().MatchString(ref) {
		return ""
	}
	if kind == KindOCILayout {
		path, _ = splitLayout(path)
	}
	return path
}

// In returns ref as it is meant in a file in dir: with its path, if that is relative, joined to dir.
func In(dir, ref string) string {
	if image := catalogImage(ref); image != "" {
		return strings.TrimSuffix(ref, image) + In(dir, image)
	}
	kind, path, moves := relative(ref)
	if !moves {
		return ref
	}
	joined := filepath.Join(dir, path)
	if kind == "" && looksLikeImage(ref) && !exists(joined) {
		return ref // the error says how to write an image
	}
	return strings.TrimSuffix(ref, path) + joined
}

// relative returns the path that a reference names, and whether it is a relative one.
func relative(ref string) (kind, path string, is bool) {
	kind, path = cutPrefix(ref)
	local := kind != KindOCI && !scheme().MatchString(ref)
	return kind, path, local && path != "" && path != "-" && !filepath.IsAbs(path)
}

// From returns ref as a file in dir has to write it: it is the reverse of In. An absolute path stays absolute.
func From(dir, ref string) string {
	if image := catalogImage(ref); image != "" {
		return strings.TrimSuffix(ref, image) + From(dir, image)
	}
	_, path, moves := relative(ref)
	if !moves {
		return ref
	}
	here, err := filepath.Abs(dir)
	abs, fault := filepath.Abs(path)
	if cmp.Or(err, fault) != nil {
		return ref
	}
	rel, err := filepath.Rel(here, abs)
	if err != nil {
		return strings.TrimSuffix(ref, path) + abs
	}
	return strings.TrimSuffix(ref, path) + filepath.ToSlash(rel)
}

// IsStdin reports whether a reference means standard input.
func IsStdin(ref string) bool {
	_, path := cutPrefix(ref)
	return path == "-"
}

var scheme = lazy.Regexp(`^[A-Za-z][A-Za-z0-9+.-]*://`)

func byForm(ref string) (string, error) {
	if ref == "-" {
		return KindTar, nil
	}
	info, err := os.Stat(ref)
	if err != nil {
		return "", missing(ref, err)
	}
	if info.IsDir() {
		return dirKind(ref)
	}
	lower := strings.ToLower(ref)
	switch {
	case hasSuffix(lower, ".tar", ".tar.gz", ".tgz"):
		return KindTar, nil
	case hasSuffix(lower, ".zip"):
		return KindZip, nil
	case hasSuffix(lower, ".yaml", ".yml", ".json"):
		return "", notBundleFile(ref)
	}
	return "", fmt.Errorf("%s: not a form of a source; the forms are %s", ref, forms)
}

func missing(ref string, err error) error {
	if ref == "" || scheme().MatchString(ref) {
		return fmt.Errorf("%s: not a form of a source; the forms are %s", quote(ref), forms)
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	err = fmt.Errorf("%s: %w", ref, err)
	if rest, ok := strings.CutPrefix(ref, "oci:"); ok {
		return hint(err, "for an image in a registry write oci://%s, for an image layout write oci-layout:%s",
			rest, rest)
	}
	if looksLikeImage(ref) {
		return hint(err, "for an image in a registry write oci://%s", ref)
	}
	return hint(err, "a source is a directory, an archive, oci://IMAGE or catalog:DIR")
}

// looksLikeImage reports whether ref has a digest, a tag or a first part like a host name. "foo/bar" is mistyped.
func looksLikeImage(ref string) bool {
	if _, err := name.ParseReference(ref); err != nil {
		return false
	}
	host, rest, ok := strings.Cut(ref, "/")
	if ok && host != "." && host != ".." && strings.ContainsAny(host, ".:") || host == "localhost" {
		return true
	}
	return strings.ContainsAny(rest, ":@") || strings.ContainsAny(host, ":@")
}

var (
	catalogSchema = lazy.Regexp(`(?m)(?:^\s*\{?\s*|[{,]\s*")"?schema"?:\s*["']?olm\.(package|channel|bundle)\b`)

	// A template of a catalog has entries of a catalog (operator-registry: alpha/template).
	templateSchema = lazy.Regexp(`(?m)^\s*\{?\s*"?(?i:schema)"?:\s*["']?olm\.(template\.basic|semver|composite)\b`)
)

// dirKind distinguishes a package manifest directory from a bundle directory.
func dirKind(dir string) (string, error) {
	for _, p := range []string{"manifests", "bundle/manifests"} {
		if exists(filepath.Join(dir, p)) {
			return KindDir, nil
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var catalog, image, bundles bool
	for _, e := range entries {
		switch {
		case !e.IsDir() && IsPackageManifestName(e.Name()):
			return KindPackageManifest, nil
		case e.Name() == "oci-layout":
			image = true
		case e.IsDir() && IsBundleDir(filepath.Join(dir, e.Name())):
			bundles = true
		case e.IsDir():
			files, _ := os.ReadDir(filepath.Join(dir, e.Name()))
			for _, f := range files {
				catalog = catalog || isCatalogFile(filepath.Join(dir, e.Name(), f.Name()))
			}
		default:
			catalog = catalog || isCatalogFile(filepath.Join(dir, e.Name()))
		}
	}
	switch {
	case image:
		err := fmt.Errorf("%s: this is an image layout, not a bundle directory", dir)
		return "", hint(err, "write oci-layout:%s", dir)
	case catalog && !bundles:
		err := fmt.Errorf("%s: this is a file-based catalog, not a bundle directory", dir)
		return "", hint(err, "write catalog:%s", dir)
	}
	return KindDir, nil
}

// isCatalogFile reports whether a file is part of a file-based catalog.
func isCatalogFile(path string) bool {
	if !IsManifestName(path) {
		return false
	}
	data := content(path)
	// An expression takes seconds for a large catalog.
	maybe := slices.ContainsFunc([]string{"olm.template.basic", "olm.semver", "olm.composite"}, func(s string) bool {
		return bytes.Contains(data, []byte(s))
	})
	return catalogSchema().Match(data) && (!maybe || !templateSchema().Match(data))
}

// IsPackageManifestName reports whether a file is the package manifest of a legacy package by its name.
func IsPackageManifestName(name string) bool {
	return hasSuffix(name, ".package.yaml", ".package.yml") || name == "package.yaml" || name == "package.yml"
}

// IsManifestName reports whether a file is read as YAML or JSON.
func IsManifestName(name string) bool {
	return hasSuffix(strings.ToLower(name), ".yaml", ".yml", ".json") && !strings.HasPrefix(filepath.Base(name), ".")
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
