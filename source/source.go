// Package source opens a reference as a read-only fs.FS: a directory, an archive, an image, the files of a file-based
// catalog, or those of a legacy package. It chooses nothing.
//
// [Open] takes a reference and returns a [Source]. [Find] lists what holds bundles below a path. [In] and [From] move
// references between directories. A catalog or legacy package has several bundles: package
// [github.com/olmgen/olmgen/catalog] chooses one of them, and package [github.com/olmgen/olmgen/bundle] reads it.
//
// The package runs nothing and writes nothing to disk. What it fetches or unpacks stays in memory, within [Limits].
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/olmgen/olmgen/bundle/signature"
	"github.com/olmgen/olmgen/internal/base/budget"
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

	Timeout  time.Duration                    // for all that one image in a registry needs; zero: five minutes
	Keychain authn.Keychain                   // nil: authn.DefaultKeychain
	Limits   Limits                           // zero fields: those of DefaultLimits
	Warn     func(format string, args ...any) // called for each warning; may be nil

	transport http.RoundTripper // of tests
	wait      time.Duration     // of tests; zero: answerTime
}

// Limits bound the unpacked files of a bundle. Other files of an image are read up to scanFactor times these limits.
type Limits struct {
	MaxFileBytes  int64 // one file
	MaxTotalBytes int64 // all files together
	MaxFiles      int   // files and directories
}

// scanFactor bounds what is read but not kept, up to the budget of an image: mostly the base image of a bundle.
const scanFactor = 64

// scanned returns the bytes and entries of an image that are read at most, kept or not.
func (l Limits) scanned() (bytes int64, entries int) {
	image := budget.Of(budget.Image)
	return min(l.MaxTotalBytes*scanFactor, max(l.MaxTotalBytes, image.Bytes)),
		min(l.MaxFiles*scanFactor, max(l.MaxFiles, budget.Int(image.Files)))
}

// DefaultLimits returns the limits that apply if Options has none.
func DefaultLimits() Limits {
	bundle := budget.Of(budget.Bundle)
	return Limits{MaxFileBytes: budget.Of(budget.File).Bytes, MaxTotalBytes: bundle.Bytes,
		MaxFiles: budget.Int(bundle.Files)}
}

// Source is what a reference names. Close it when it has been read.
type Source struct {
	FS     fs.FS  // of one bundle, a catalog or a legacy package; safe for concurrent use
	Ref    string // the reference as given
	Kind   string // one of the Kind constants
	Digest string // of the image manifest that was read, sha256:...; empty if there is none
	Image  string // the bundle's image: by digest from a registry, as written from a catalog; empty if there is none

	// Labels of the image with the prefix of bundles stand for a missing metadata/annotations.yaml.
	Labels map[string]string

	// Name returns how messages call a file of a catalog. Nil for other kinds.
	Name    func(file string) string
	AnyName bool // a file of the catalog may have any name; else it is .yaml, .yml or .json

	closer io.Closer
}

// HasSeveral reports whether sources of a kind may hold several bundles.
func HasSeveral(kind string) bool { return kind == KindCatalog || kind == KindPackageManifest }

// Close closes the files of the source. FS must not be used afterwards.
func (s *Source) Close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

// Open opens what ref names. The forms of a reference:
//
//	DIR, dir:DIR                              a bundle directory; with a *.package.yaml, a package manifest directory
//	FILE.tar, .tar.gz, .tgz, tar:FILE, -      an archive; "-" is Options.Stdin; it may be compressed with gzip or zstd
//	FILE.zip, zip:FILE
//	oci://IMAGE, docker://IMAGE               an image in a registry
//	oci-layout:DIR, :DIR:TAG, :DIR@DIGEST     an OCI image layout
//	docker-archive:FILE                       the output of docker save
//	catalog:DIR, catalog:FILE, catalog:-      the files of a file-based catalog; an image in place of DIR has one too
//	packagemanifest:DIR                       the files of a package in the legacy nested format
//
// An error names the source and, if there is one, the entry in it. With a next step it is or wraps a
// *manifest.HintError.
func Open(ctx context.Context, ref string, o Options) (*Source, error) {
	o = o.withDefaults()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kind, arg, err := Recognise(ref, o.Force)
	if err != nil {
		return nil, err
	}
	open := openers[kind]
	if open == nil {
		return nil, hint(errors.New("unknown kind of source "+quote(kind)), "the kinds are %s", kinds)
	}
	if len(o.VerifyKeys) > 0 && kind != KindOCI && kind != KindCatalog {
		return nil, o.Unsigned(ref)
	}
	s, err := open(ctx, arg, o)
	if bad, ok := errors.AsType[*fs.PathError](err); ok && bad.Path == arg {
		return nil, fmt.Errorf("%s: %w", ref, bad.Err)
	}
	if err != nil {
		return nil, err
	}
	s.Ref, s.Kind = ref, kind
	return s, nil
}

var openers = map[string]func(ctx context.Context, arg string, o Options) (*Source, error){
	KindDir: openDir, KindTar: openTar, KindZip: openZip, KindOCI: openImage(KindOCI),
	KindOCILayout: openImage(KindOCILayout), KindDockerArchive: openImage(KindDockerArchive),
	KindCatalog: openCatalog, KindPackageManifest: openLegacy,
}

// OrDefault returns the limits with the fields of DefaultLimits where they are zero.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits()
	return Limits{limit(l.MaxFileBytes, d.MaxFileBytes, 1<<50), limit(l.MaxTotalBytes, d.MaxTotalBytes, 1<<50),
		limit(l.MaxFiles, d.MaxFiles, 1<<30)}
}

// limit returns a limit, or the default of one that is not set. Sums and multiples of limits must not overflow.
func limit[T int | int64](given, usual, most T) T {
	if given <= 0 {
		given = usual
	}
	return min(given, most)
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.OrDefault()
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	o.Keychain = cmp.Or[authn.Keychain](o.Keychain, authn.DefaultKeychain)
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	return o
}
