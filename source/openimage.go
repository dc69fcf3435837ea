package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/olmgen/olmgen/manifest"
)

// openImage returns what reads a bundle image of a kind. It fetches one layer after the other.
func openImage(kind string) opener {
	return func(ctx context.Context, arg string, o Options) (s *Source, err error) {
		err = withImage(ctx, kind, arg, o, func(ctx context.Context, img *image) error {
			s, err = img.source(ctx, o.Limits)
			return err
		})
		return s, err
	}
}

// withImage calls fn with an image in a registry, a layout or an archive. fn can read its layers until ctx, which has
// the deadline of an image in a registry, is done.
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
	switch {
	case err != nil:
		err = pullError(ref, registry.failed(err))
	default:
		err = pullError("", fn(limited, img))
	}
	if err != nil && context.Cause(limited) == errTimeout { //nolint:errorlint // the very error
		return timeoutError(ref, registry.lastHost(), o.Timeout)
	}
	return err
}

func timeoutError(ref, host string, timeout time.Duration) error {
	err := fmt.Errorf("%s: not read within %s; the last request was to %s", ref, timeout, host)
	return manifest.WithHint(err, "for a large image or a slow line allow more time", OptionTimeout)
}

// isImageKind reports whether sources of a kind are images.
func isImageKind(kind string) bool {
	return kind == KindOCI || kind == KindOCILayout || kind == KindDockerArchive
}
