package source

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// FetchElsewhere is the hint for an image that is not fetched; it has a verb for the image.
const FetchElsewhere = "fetch it with network access (skopeo copy docker://%s oci:DIR) and use oci-layout:DIR"

// pull reads the manifest and the configuration of an image.
func pull(ctx context.Context, registry *registryTransport, ref string, o Options) (*image, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return nil, err
	}
	if slices.Contains(o.InsecureRegistries, parsed.Context().RegistryStr()) {
		if parsed, err = name.ParseReference(ref, name.Insecure); err != nil {
			return nil, err
		}
	}
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
	registry.stream(img.layers)
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

// pullError adds the image's name, unless ref is empty, and a hint that fits the answer of the registry. An answer is
// put on one line and shortened: a registry may send anything.
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
	case errors.As(err, new(*noTLSError)), errors.As(err, new(*plainError)):
		return manifest.WithHint(wrapped, "the registry must speak TLS, unless its host may be insecure",
			OptionInsecureRegistries)
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return hint(wrapped, "to trust another authority, set SSL_CERT_FILE to a file with its certificate")
	case errors.As(err, new(*tokenServerError)):
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

// answerError is the error that a registry answered with, as one line.
type answerError struct {
	text string
	err  error
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.err }
