// Package source opens operator bundles wherever they are: in a directory, an archive, an image, a catalog or a legacy
// package. Each source is a read-only fs.FS that holds one bundle.
//
// The package runs nothing and writes nothing to disk. What it fetches or unpacks stays in memory, within limits. It
// parses Kubernetes objects only as far as it needs them to choose a bundle.
package source

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/olmgen/olmgen/bundle/signature"
)

// The kinds of sources: the values of Source.Kind and of Options.Force.
const (
	KindDir             = "dir"
	KindTar             = "tar"
	KindZip             = "zip"
	KindOCI             = "oci"
	KindOCILayout       = "oci-layout"
	KindDockerArchive   = "docker-archive"
	KindCatalog         = "catalog"
	KindPackageManifest = "packagemanifest"
)

// Options say how a reference is read. With the zero value, Open recognises the kind of a reference by its form, takes
// credentials from the files of docker and podman, and uses the network for image references only.
type Options struct {
	Force   string    // a Kind; empty: recognise by form
	Offline bool      // never use the network: image references are refused
	Stdin   io.Reader // what the reference "-" means

	// InsecureRegistries are the registries, HOST or HOST:PORT, that may speak plain HTTP. ParseRegistry checks one.
	InsecureRegistries []string
	// VerifyKeys, if there are any, must have signed what is read: only signed images in registries are.
	VerifyKeys signature.Keys

	// The bundle in a catalog or legacy package. Version is a version or the name of a CSV.
	Package, Channel, Version string

	// Metadata allows a bundle that has nothing but what its catalog says of it (olm.csv.metadata). It is used if the
	// image of the bundle is not fetched, because of Offline, or because the catalog does not name it.
	Metadata bool

	Catalogs *Catalogs                        // keeps the catalogs in images; nil: they are read each time
	Keychain authn.Keychain                   // nil: authn.DefaultKeychain
	Limits   Limits                           // zero fields: those of DefaultLimits
	Warn     func(format string, args ...any) // called for each warning; may be nil

	transport http.RoundTripper // of tests
	wait      time.Duration     // of tests; zero: answerTime
}

// Limits bound the unpacked files of a bundle. The other files of an image are read, but not kept, up to scanFactor
// times these limits.
type Limits struct {
	MaxFileBytes  int64 // one file
	MaxTotalBytes int64 // all files together
	MaxFiles      int   // files and directories
}

// scanFactor bounds what is read but not kept, which is mostly the base image of a bundle.
const scanFactor = 16

// DefaultLimits returns the limits that apply if Options has none. The largest public bundle has 6.8 MB in 105 files.
func DefaultLimits() Limits {
	return Limits{MaxFileBytes: 16 << 20, MaxTotalBytes: 256 << 20, MaxFiles: 20_000}
}

// Source is one bundle. Close it when the bundle has been read.
type Source struct {
	FS     fs.FS  // the bundle's root; safe for concurrent use
	Ref    string // the reference as given
	Kind   string // one of the Kind constants
	Digest string // of the image manifest that was read, sha256:...; empty if there is none
	Image  string // the bundle's image: by digest from a registry, as written from a catalog; empty if there is none

	// Metadata is true if FS has what the catalog says of the bundle, and not its objects: a ClusterServiceVersion
	// without permissions and Deployments.
	Metadata bool

	// Labels of the image that begin with operators.operatorframework.io.bundle. A bundle without
	// metadata/annotations.yaml uses them instead.
	Labels map[string]string

	// Properties of a catalog entry in the order of the catalog, as a JSON list, without those that hold the bundle's
	// own objects (olm.bundle.object, olm.csv.metadata). Nil for other kinds.
	Properties json.RawMessage

	// Fields of the entry in the catalog's channel, which OLM uses instead of the CSV's.
	Replaces  string
	Skips     []string
	SkipRange string

	closer io.Closer
}

// Chosen reports whether Package, Channel and Version of the Options chose the bundle. Sources with only one bundle
// ignore them.
func (s *Source) Chosen() bool { return s.Kind == KindCatalog || s.Kind == KindPackageManifest }

// Chooses reports whether Open of a reference would return a Source that is Chosen.
func Chooses(ref string) bool {
	kind, _, err := recognise(ref, "")
	return err == nil && (&Source{Kind: kind}).Chosen()
}

// Close closes the files of the source. FS must not be used afterwards.
func (s *Source) Close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

// Open finds the bundle that ref names. The forms of a reference:
//
//	DIR, dir:DIR                              a bundle directory; with a *.package.yaml, a package manifest directory
//	FILE.tar, .tar.gz, .tgz, tar:FILE, -      an archive; "-" is Options.Stdin; it may be compressed with gzip or zstd
//	FILE.zip, zip:FILE
//	oci://IMAGE, docker://IMAGE               an image in a registry
//	oci-layout:DIR, :DIR:TAG, :DIR@DIGEST     an OCI image layout
//	docker-archive:FILE                       the output of docker save
//	catalog:DIR, catalog:FILE, catalog:-      a file-based catalog, from which Options choose a bundle
//	packagemanifest:DIR                       the legacy nested format, from which Options choose a bundle
//
// An error names the source and, if there is one, the entry in it. With a next step it is or wraps a
// *manifest.HintError.
func Open(ctx context.Context, ref string, o Options) (*Source, error) {
	o = o.withDefaults()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kind, arg, err := recognise(ref, o.Force)
	if err != nil {
		return nil, err
	}
	open, err := opener(kind)
	if err != nil {
		return nil, err
	}
	if len(o.VerifyKeys) > 0 && kind != KindOCI && kind != KindCatalog {
		return nil, unsigned(ref)
	}
	s, err := open(ctx, arg, o)
	if err != nil {
		return nil, err
	}
	s.Ref, s.Kind = ref, kind
	return s, nil
}

func opener(kind string) (func(context.Context, string, Options) (*Source, error), error) {
	switch kind {
	case KindDir:
		return openDir, nil
	case KindTar:
		return openTar, nil
	case KindZip:
		return openZip, nil
	case KindOCI:
		return openRemote, nil
	case KindOCILayout:
		return openLayout, nil
	case KindDockerArchive:
		return openDockerArchive, nil
	case KindCatalog:
		return openCatalog, nil
	case KindPackageManifest:
		return openPackageManifest, nil
	}
	return nil, hint(errors.New("unknown kind of source "+quote(kind)), "the kinds are %s", kinds)
}

func (o Options) withDefaults() Options {
	d := DefaultLimits()
	if o.Limits.MaxFileBytes <= 0 {
		o.Limits.MaxFileBytes = d.MaxFileBytes
	}
	if o.Limits.MaxTotalBytes <= 0 {
		o.Limits.MaxTotalBytes = d.MaxTotalBytes
	}
	if o.Limits.MaxFiles <= 0 {
		o.Limits.MaxFiles = d.MaxFiles
	}
	// Sums and multiples of limits must not overflow.
	o.Limits.MaxFileBytes = min(o.Limits.MaxFileBytes, 1<<50)
	o.Limits.MaxTotalBytes = min(o.Limits.MaxTotalBytes, 1<<50)
	o.Limits.MaxFiles = min(o.Limits.MaxFiles, 1<<30)
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	return o
}
