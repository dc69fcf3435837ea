package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/olmgen/olmgen/manifest"
)

const refName = "org.opencontainers.image.ref.name" // OCI image specification, annotations.md

// openLayout reads an image from an OCI image layout directory: DIR, DIR:TAG or DIR@DIGEST.
func openLayout(ctx context.Context, arg string, o Options) (*Source, error) {
	dir, want := splitLayout(arg)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l := ociLayout{name: dir, root: root}
	d, err := l.choose(want)
	if err != nil {
		return nil, err
	}
	img, err := l.image(d)
	if err != nil {
		return nil, err
	}
	return img.source(ctx, o.Limits)
}

// splitLayout separates the directory from a tag or digest. A directory that exists under the whole name is that.
func splitLayout(arg string) (dir, want string) {
	if exists(arg) {
		return arg, ""
	}
	if dir, digest, ok := strings.Cut(arg, "@"); ok && exists(dir) {
		return dir, digest
	}
	if i := strings.LastIndex(arg, ":"); i > 0 && exists(arg[:i]) {
		return arg[:i], arg[i+1:]
	}
	return arg, ""
}

type ociLayout struct {
	name string
	root *os.Root
}

// choose gives the image or index that is wanted: a tag or digest, or the only one.
func (l ociLayout) choose(want string) (v1.Descriptor, error) {
	var none v1.Descriptor
	data, err := l.read("index.json")
	if errors.Is(err, os.ErrNotExist) {
		return none, fmt.Errorf("%s: not an OCI image layout: it has no index.json", l.name)
	} else if err != nil {
		return none, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(data))
	if err != nil {
		return none, fmt.Errorf("%s: index.json: %w", l.name, err)
	}
	if want == "" {
		return l.only(index)
	}
	for _, d := range index.Manifests {
		tag := d.Annotations[refName]
		if d.Digest.String() == want || tag == want || strings.HasSuffix(tag, ":"+want) {
			return d, nil
		}
	}
	return none, fmt.Errorf("%s: no image %s; there are %s", l.name, quote(want), names(index))
}

// only gives the image of a layout that holds one, possibly for several platforms.
func (l ociLayout) only(index *v1.IndexManifest) (v1.Descriptor, error) {
	tag, platforms := "", 0
	for i, d := range index.Manifests {
		if d.Platform != nil {
			platforms++
		}
		if i > 0 && d.Annotations[refName] != tag {
			platforms = -len(index.Manifests)
		}
		tag = d.Annotations[refName]
	}
	if len(index.Manifests) > 1 && platforms != len(index.Manifests) {
		return v1.Descriptor{}, hint(fmt.Errorf("%s: %d images, and it is not said which: %s", l.name, len(index.Manifests), names(index)),
			"write oci-layout:%s:TAG or oci-layout:%s@DIGEST", l.name, l.name)
	}
	d, err := choosePlatform(index)
	if err != nil {
		return d, fmt.Errorf("%s: index.json: %w", l.name, err)
	}
	return d, nil
}

func names(index *v1.IndexManifest) string {
	var list []string
	for _, d := range index.Manifests {
		if tag := d.Annotations[refName]; tag != "" {
			list = append(list, tag)
		} else {
			list = append(list, d.Digest.String())
		}
	}
	return someOf(list)
}

// someOf lists names for an error, not too many of them.
func someOf(list []string) string {
	slices.Sort(list)
	if len(list) == 0 {
		return "none"
	}
	return manifest.FirstOf(12, list)
}

func (l ociLayout) image(d v1.Descriptor) (*image, error) {
	for range 4 {
		if !d.MediaType.IsIndex() {
			break
		}
		data, err := l.blob(d)
		if err != nil {
			return nil, err
		}
		index, err := v1.ParseIndexManifest(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", l.name, d.Digest, err)
		}
		child, err := choosePlatform(index)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", l.name, d.Digest, err)
		}
		d = child
	}
	if !d.MediaType.IsImage() {
		return nil, fmt.Errorf("%s: %s: not an image but %s", l.name, d.Digest, quote(string(d.MediaType)))
	}
	data, err := l.blob(d)
	if err != nil {
		return nil, err
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", l.name, d.Digest, err)
	}
	if data, err = l.blob(manifest.Config); err != nil {
		return nil, err
	}
	img := &image{name: l.name, digest: d.Digest.String()}
	if img.config, err = v1.ParseConfigFile(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", l.name, manifest.Config.Digest, err)
	}
	for _, desc := range manifest.Layers {
		img.layers = append(img.layers, layer{name: desc.Digest.String(), digest: desc.Digest, size: desc.Size, open: func() (io.ReadCloser, error) {
			return l.open(blobPath(desc.Digest))
		}})
	}
	return img, nil
}

func blobPath(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

// blob reads and checks a manifest, index or configuration.
func (l ociLayout) blob(d v1.Descriptor) ([]byte, error) {
	data, err := l.read(blobPath(d.Digest))
	if err != nil {
		return nil, err
	}
	if err := verifyBytes(data, d.Digest); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", l.name, blobPath(d.Digest), err)
	}
	return data, nil
}

func (l ociLayout) read(p string) ([]byte, error) {
	f, err := l.open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImageJSON+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	if len(data) > maxImageJSON {
		return nil, fmt.Errorf("%s: %s: larger than %s", l.name, p, bytesText(maxImageJSON))
	}
	return data, nil
}

func (l ociLayout) open(p string) (*os.File, error) {
	info, err := l.root.Stat(p)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a file", p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	return l.root.Open(p)
}
