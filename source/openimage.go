package source

import "context"

// openImage reads a bundle image.
func openImage(ctx context.Context, kind, arg string, o Options) (s *Source, err error) {
	err = withImage(ctx, kind, arg, o, func(img *image) error {
		s, err = img.source(ctx, o.Limits)
		return err
	})
	return s, err
}

// withImage calls fn with an image in a registry, a layout or an archive. fn can read its layers.
func withImage(ctx context.Context, kind, arg string, o Options, fn func(*image) error) error {
	var img *image
	var err error
	done := func() {}
	switch kind {
	case KindOCI:
		img, err = pullable(ctx, arg, o)
	case KindOCILayout:
		img, done, err = layoutImage(arg)
	default:
		img, err = archiveImage(ctx, arg, o)
	}
	if err != nil {
		return err
	}
	defer done()
	if err = fn(img); kind == KindOCI {
		err = pullError("", err)
	}
	return err
}

// isImageKind reports whether sources of a kind are images.
func isImageKind(kind string) bool {
	return kind == KindOCI || kind == KindOCILayout || kind == KindDockerArchive
}
