// Package source turns a reference to an operator bundle (a directory, an archive, an image, an entry of a catalog or of a
// legacy package) into a read-only fs.FS that holds one bundle. It parses no Kubernetes object beyond what choosing the bundle
// needs, runs nothing and writes nothing to disk; what is fetched or unpacked stays in memory, within limits.
package source

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/google/go-containerregistry/pkg/authn"
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

// Options say how a reference is read. The zero value recognises the kind by its form, takes credentials from the files that
// docker and podman keep, and uses the network only for image references.
type Options struct {
	Force    string    // a Kind; empty: recognise by form
	Insecure bool      // registries may speak plain HTTP
	Offline  bool      // never touch the network: an image reference is refused
	Stdin    io.Reader // what the reference "-" reads

	// Which bundle of a catalog or package manifest. Version is a version or the name of a bundle (of its CSV).
	Package, Channel, Version string

	Keychain authn.Keychain                   // nil: authn.DefaultKeychain
	Limits   Limits                           // zero fields: those of DefaultLimits
	Warn     func(format string, args ...any) // told of what is odd but readable; may be nil
}

// Limits bound what is kept of a source, unpacked. What an image holds beside its bundle is read past, up to scanFactor times as much.
type Limits struct {
	MaxFileBytes  int64 // one file
	MaxTotalBytes int64 // all files together
	MaxFiles      int   // files and directories
}

// scanFactor bounds what is read but not kept: the base image below a bundle, for the most part.
const scanFactor = 16

// DefaultLimits gives the limits that apply where Options set none. The largest public bundle has 6.8 MB in 105 files.
func DefaultLimits() Limits {
	return Limits{MaxFileBytes: 16 << 20, MaxTotalBytes: 256 << 20, MaxFiles: 20_000}
}

// Source is one bundle, wherever it came from. Close it when the bundle has been read.
type Source struct {
	FS     fs.FS  // the bundle's root; safe for concurrent use
	Ref    string // the reference as given
	Kind   string // one of the Kind constants
	Digest string // digest of the image manifest that was read, sha256:...; empty where there is none
	Image  string // the bundle's image, of a registry by its digest, of a catalog as it says; empty where there is none

	// Labels of an image's configuration below operators.operatorframework.io.bundle. They stand in for metadata/annotations.yaml
	// where a bundle has none.
	Labels map[string]string

	// Properties of a catalog entry in catalog order, as a JSON list, without those that hold the bundle's own objects
	// (olm.bundle.object, olm.csv.metadata). Nil for other kinds.
	Properties json.RawMessage
	Replaces   string // the catalog's channel entry's replaces: it, not the CSV's, is what OLM goes by

	closer io.Closer
}

// Chosen reports whether the bundle was chosen by the Options' Package, Channel and Version. Other sources have one bundle, and do not look
// at these.
func (s *Source) Chosen() bool { return s.Kind == KindCatalog || s.Kind == KindPackageManifest }

// Chooses reports whether Open of a reference would give a Source that is Chosen.
func Chooses(ref string) bool {
	kind, _, err := recognise(ref, "")
	return err == nil && (&Source{Kind: kind}).Chosen()
}

// Close releases what the source holds open. FS must not be used afterwards.
func (s *Source) Close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

// Open finds the bundle that ref names. The forms of a reference:
//
//	DIR, dir:DIR                              a bundle directory, or a package manifest directory (by its *.package.yaml)
//	FILE.tar, .tar.gz, .tgz, tar:FILE, -      an archive; "-" is a tar on Options.Stdin; gzip and zstd are recognised by content
//	FILE.zip, zip:FILE
//	oci://IMAGE, docker://IMAGE               an image in a registry
//	oci-layout:DIR, :DIR:TAG, :DIR@DIGEST     an OCI image layout
//	docker-archive:FILE                       what docker save writes
//	catalog:DIR, catalog:FILE, catalog:-      a file-based catalog, of which Options choose a bundle
//	packagemanifest:DIR                       the legacy nested format, of which Options choose a bundle
//
// An error names the source, and the entry in it where one is to blame; it is or wraps a *manifest.HintError where there is a next step.
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
