package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/olmgen/olmgen/bundle"
)

// Labels of catalog images (operator-registry: pkg/containertools/labels.go).
const (
	keyConfigs  = "operators.operatorframework.io.index.configs.v1"  // the directory of a file-based catalog
	keyDatabase = "operators.operatorframework.io.index.database.v1" // the file of a catalog in SQLite
)

// IsCatalogImage reports whether a reference names an image that says that it is a catalog. It reads the configuration
// of the image, and no layer.
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

// openCatalogImage opens the files of the file-based catalog in an image.
func openCatalogImage(ctx context.Context, ref string, o Options) (s *Source, err error) {
	kind, arg := cutPrefix(ref)
	err = withImage(ctx, kind, arg, o, func(ctx context.Context, img *image) error {
		files, err := img.catalog(ctx, o.Limits)
		s = &Source{FS: files, AnyName: true, Name: func(p string) string { return ref + "/" + p }}
		return err
	})
	return s, err
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
	case labels[bundle.KeyManifests] != "" || labels[bundle.KeyPackage] != "":
		return "", errors.New("the image of a bundle, not of a catalog")
	}
	return "", hint(fmt.Errorf("not a catalog image: it has no label %s", keyConfigs),
		"opm render IMAGE writes the catalog of an image that opm can read")
}
