package source

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// openImage returns what reads a bundle image of a kind. It fetches one layer after the other.
func openImage(kind string) func(context.Context, string, Options) (*Source, error) {
	return func(ctx context.Context, arg string, o Options) (s *Source, err error) {
		err = withImage(ctx, kind, arg, o, func(ctx context.Context, img *image) error {
			s, err = img.source(ctx, o.Limits)
			return err
		})
		return s, err
	}
}

// withImage calls fn with an image in a registry, a layout or an archive. Its layers can be read until ctx is done.
func withImage(ctx context.Context, kind, arg string, o Options, fn func(context.Context, *image) error) error {
	if kind == KindOCI {
		return withPulled(ctx, arg, o, fn)
	}
	var img *image
	var err error
	done := func() {}
	if kind == KindOCILayout {
		img, done, err = layoutImage(arg)
	} else {
		img, err = archiveImage(ctx, arg, o)
	}
	if err != nil {
		return err
	}
	defer done()
	return fn(ctx, img)
}

var errTimeout = errors.New("the time for a reference is over")

func withPulled(ctx context.Context, ref string, o Options, fn func(context.Context, *image) error) error {
	if o.Offline {
		return hint(fmt.Errorf("%s: images are not fetched offline", ref), FetchElsewhere, ref)
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	registry := newRegistryTransport(o)
	img, err := pull(limited, registry, ref, o)
	if err != nil {
		err = pullError(ref, registry.failed(err))
	} else {
		err = pullError("", fn(limited, img))
	}
	if err != nil && context.Cause(limited) == errTimeout { //nolint:errorlint // the very error
		registry.mu.Lock()
		defer registry.mu.Unlock()
		err = fmt.Errorf("%s: not read within %s; the last request was to %s", ref, o.Timeout, registry.last)
		return manifest.WithHint(err, "for a large image or a slow line allow more time", option.Timeout)
	}
	return err
}

func isImageKind(kind string) bool {
	return kind == KindOCI || kind == KindOCILayout || kind == KindDockerArchive
}

// Labels of catalog images (operator-registry: pkg/containertools/labels.go).
const (
	keyConfigs  = "operators.operatorframework.io.index.configs.v1"  // the directory of a file-based catalog
	keyDatabase = "operators.operatorframework.io.index.database.v1" // the file of a catalog in SQLite
)

// IsCatalogImage reports whether a reference names an image that says that it is a catalog. It reads no layer.
func IsCatalogImage(ctx context.Context, ref string, o Options) (is bool, err error) {
	kind, arg := cutPrefix(ref)
	if !isImageKind(kind) {
		return false, nil
	}
	err = withImage(ctx, kind, arg, o.withDefaults(), func(_ context.Context, img *image) error {
		labels := img.config.Config.Labels
		is = labels[keyConfigs] != "" || labels[keyDatabase] != ""
		return nil
	})
	return is, err
}

// Unpack returns the files and directories of an image that have these paths, or are below them. ref has the prefix of
// a kind of image. Limits bound what is unpacked. An error names the image and, if there is one, the file in it.
func (o Options) Unpack(ctx context.Context, ref string, paths ...string) (fs.FS, error) {
	kind, arg := cutPrefix(ref)
	if !isImageKind(kind) {
		return nil, fmt.Errorf("%s: not an image", ref)
	}
	o = o.withDefaults()
	var files memFS
	err := withImage(ctx, kind, arg, o, func(ctx context.Context, img *image) (err error) {
		files, err = img.unpack(ctx, newTree(img.name, o.Limits), paths)
		return err
	})
	return files, err
}

// catalog returns the file-based catalog in an image. Its files are in memory, compressed.
func (img *image) catalog(ctx context.Context, limits Limits) (fs.FS, error) {
	labels := img.config.Config.Labels
	dir, err := configsDir(labels)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", img.name, err)
	}
	t := newTree(img.name, limits)
	t.packed = true
	m, err := img.unpack(ctx, t, []string{dir})
	if err != nil {
		return nil, err
	}
	root := m.root.find(dir)
	if root == nil || !root.IsDir() {
		return nil, fmt.Errorf("%s: label %s: the image has no directory %s", img.name, keyConfigs,
			shorten(labels[keyConfigs]))
	}
	return memFS{&node{name: ".", mode: root.mode, children: root.children}}, nil
}

func configsDir(labels map[string]string) (string, error) {
	switch {
	case labels[keyConfigs] != "":
		dir, err := cleanName(strings.Trim(labels[keyConfigs], "/"))
		if err != nil {
			return "", fmt.Errorf("label %s: directory %s %w", keyConfigs, shorten(labels[keyConfigs]), err)
		}
		return dir, nil
	case labels[keyDatabase] != "":
		return "", hint(errors.New("a catalog in the old SQLite format, which is not supported"),
			"opm migrate IMAGE DIR makes a file-based catalog of it")
	case labels[olm.BundleManifests] != "" || labels[olm.BundlePackage] != "":
		return "", errors.New("the image of a bundle, not of a catalog")
	}
	return "", hint(fmt.Errorf("not a catalog image: it has no label %s", keyConfigs),
		"opm render IMAGE writes the catalog of an image that opm can read")
}

// FetchElsewhere is the hint for an image that is not fetched; it has a verb for the image.
const FetchElsewhere = "fetch it with network access (skopeo copy docker://%s oci:DIR) and use oci-layout:DIR"

func pull(ctx context.Context, registry *registryTransport, ref string, o Options) (*image, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return nil, errors.New("not a reference such as quay.io/org/bundle:v1 or quay.io/org/bundle@sha256:<64 digits>")
	}
	if slices.Contains(o.InsecureRegistries, parsed.Context().RegistryStr()) {
		if parsed, err = name.ParseReference(ref, name.Insecure); err != nil {
			return nil, err
		}
	}
	watch.Step(ctx, "reading "+ref, 0)
	puller, err := remote.NewPuller(remote.WithContext(ctx), remote.WithTransport(registry),
		remote.WithAuthFromKeychain(o.Keychain), remote.WithUserAgent("olmgen"))
	if err != nil {
		return nil, err
	}
	d, err := puller.Get(ctx, parsed)
	if err != nil {
		return nil, err
	}
	byDigest := parsed.Context().Digest(d.Digest.String())
	if len(o.VerifyKeys) > 0 {
		if err := verifySigned(ctx, puller, byDigest, o.VerifyKeys); err != nil {
			return nil, err
		}
	}
	img, err := remoteImage(ref, d)
	if err != nil {
		return nil, err
	}
	img.ref = byDigest.String()
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, l := range img.layers { // as long as their descriptors say; all other bodies are held in memory
		registry.layers[l.digest.String()] = l.size
	}
	return img, nil
}

func remoteImage(ref string, d *remote.Descriptor) (*image, error) {
	size := func(d v1.Descriptor) (int64, error) { return d.Size, nil } // the transport counts what comes
	if !d.MediaType.IsIndex() {
		img, err := d.Image()
		if err != nil {
			return nil, err
		}
		return newImage(ref, img, d.Descriptor, size)
	}
	index, err := d.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := decoded(index.RawManifest, index.IndexManifest)
	if err != nil {
		return nil, err
	}
	child, err := choosePlatform(manifest)
	if err != nil {
		return nil, err
	}
	return resolve(ref, index, child, size)
}

// pullError adds the image's name, unless ref is empty, and a hint. What a registry answers becomes one short line.
func pullError(ref string, err error) error {
	wrapped := err
	var answer *transport.Error
	if errors.As(err, &answer) {
		wrapped = &answerError{text.Middle(text.Printable(text.OneLine(err.Error())), 600), err}
	}
	if ref != "" {
		wrapped = fmt.Errorf("%s: %w", ref, wrapped)
	}
	switch {
	case errors.Is(err, errNoTLS), errors.Is(err, errPlain):
		return manifest.WithHint(wrapped, "the registry must speak TLS, unless its host may be insecure",
			option.InsecureRegistries)
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return hint(wrapped, "to trust another authority, set SSL_CERT_FILE to a file with its certificate")
	case errors.Is(err, errToken):
		return hint(wrapped, "a token server gets the password of its registry: it must speak TLS if the registry does")
	case ref != "" && errors.As(err, new(*net.OpError)):
		return hint(wrapped,
			"the registry cannot be reached: set HTTPS_PROXY if there is a proxy, or "+FetchElsewhere, ref)
	case answer == nil:
		return wrapped
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return hint(wrapped, "log in first (docker login, podman login), or check the name: "+
			"registries give the same answer for a repository that does not exist")
	case http.StatusNotFound:
		return hint(wrapped, "check repository, tag and digest")
	}
	return wrapped
}

type answerError struct {
	text string
	err  error
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.err }
