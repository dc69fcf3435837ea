package source

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// labelPrefix is what the keys of metadata/annotations.yaml and the labels of an image begin with (spec 12.1).
const labelPrefix = "operators.operatorframework.io.bundle."

// maxImageJSON bounds an image's manifests, indexes and configuration; registries refuse more than 4 MiB.
const maxImageJSON = 4 << 20

type image struct {
	name   string // for errors
	digest string // of its manifest; empty: unknown
	ref    string // in its registry, by digest; empty: not from one
	config *v1.ConfigFile
	layers []layer // from the lowest to the highest
}

// layer is a layer as it is stored. It has a digest (of the stored bytes), a diffID (of the unpacked tar) or both.
type layer struct {
	name           string
	digest, diffID v1.Hash
	size           int64 // as stored; negative: unknown
	open           func() (io.ReadCloser, error)
}

// sizeFunc is called before a blob is read. It returns the size of the blob, or an error if the blob must not be read.
type sizeFunc func(v1.Descriptor) (int64, error)

// resolve returns the image that an entry of an index stands for: itself or, of an index, the one for the platform.
func resolve(name string, index v1.ImageIndex, d v1.Descriptor, size sizeFunc) (*image, error) {
	for range 4 { // levels of indexes
		if err := size.check(d); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Digest, err)
		}
		if !d.MediaType.IsIndex() {
			break
		}
		child, err := index.ImageIndex(d.Digest)
		if err != nil {
			return nil, err
		}
		if err := sameDigest("index", child, d.Digest); err != nil {
			return nil, err
		}
		manifest, err := decoded(child.RawManifest, child.IndexManifest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Digest, err)
		}
		next, err := choosePlatform(manifest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Digest, err)
		}
		index, d = child, next
	}
	if !d.MediaType.IsImage() {
		return nil, fmt.Errorf("%s: not an image but %s", d.Digest, quote(string(d.MediaType)))
	}
	img, err := index.Image(d.Digest)
	if err != nil {
		return nil, err
	}
	return newImage(name, img, d, size)
}

// newImage reads the manifest and the configuration of an image, and compares their digests.
func newImage(name string, img v1.Image, d v1.Descriptor, size sizeFunc) (*image, error) {
	if err := sameDigest("manifest", img, d.Digest); err != nil {
		return nil, err
	}
	manifest, err := decoded(img.RawManifest, img.Manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Digest, err)
	}
	kind := cmp.Or(manifest.MediaType, d.MediaType) // some registries have no content type or a wrong one
	if !kind.IsImage() {
		return nil, fmt.Errorf("not an image but %s", quote(string(kind)))
	}
	if err := size.check(manifest.Config); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	config, err := img.ConfigName() // computed from the bytes that were read
	if err != nil {
		return nil, err
	}
	if config != manifest.Config.Digest {
		return nil, fmt.Errorf("configuration: digest is %s, not %s", config, manifest.Config.Digest)
	}
	out := &image{name: name, digest: d.Digest.String()}
	if out.config, err = img.ConfigFile(); err != nil {
		return nil, fmt.Errorf("%s: %w", config, err)
	}
	for _, desc := range manifest.Layers {
		if err := sized(desc); err != nil {
			return nil, fmt.Errorf("layer %s: %w", desc.Digest, err)
		}
		open := func() (io.ReadCloser, error) {
			if _, err := size(desc); err != nil {
				return nil, err
			}
			l, err := img.LayerByDigest(desc.Digest)
			if err != nil {
				return nil, err
			}
			return l.Compressed()
		}
		l := layer{name: desc.Digest.String(), digest: desc.Digest, size: desc.Size, open: open}
		out.layers = append(out.layers, l)
	}
	return out, nil
}

// sized returns an error if a descriptor has no size. The library counts nothing then (verify.SizeUnknown).
func sized(d v1.Descriptor) error {
	if d.Size < 0 {
		return fmt.Errorf("its descriptor has the size %d", d.Size)
	}
	return nil
}

// check returns an error if a blob is too large to be held in memory.
func (size sizeFunc) check(d v1.Descriptor) error {
	if err := sized(d); err != nil {
		return err
	}
	n, err := size(d)
	if err == nil && n > maxImageJSON {
		err = fmt.Errorf("larger than %s", text.Size(maxImageJSON))
	}
	return err
}

// sameDigest compares the digest of a manifest or index that was read with the digest in its descriptor.
func sameDigest(what string, read interface{ Digest() (v1.Hash, error) }, want v1.Hash) error {
	got, err := read.Digest()
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s: digest is %s, not %s", what, got, want)
	}
	return nil
}

// source returns the bundle in the image: the files below its manifests and metadata directories.
func (img *image) source(ctx context.Context, limits Limits) (*Source, error) {
	labels := map[string]string{}
	maps.Copy(labels, img.config.Config.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return !strings.HasPrefix(key, labelPrefix) })
	kept, err := keptDirs(labels)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", img.name, err)
	}
	m, err := img.unpack(ctx, newTree(img.name, limits), kept)
	if err != nil {
		return nil, err
	}
	if len(m.root.children) == 0 {
		return nil, hint(fmt.Errorf("%s: not a bundle image: nothing in %s", img.name, strings.Join(kept, " or ")),
			"use the image of the bundle, not the image of the operator")
	}
	return &Source{FS: m, Digest: img.digest, Image: img.ref, Labels: labels}, nil
}

// maxDescriptors is how many objects a manifest or an index may have: decoded, one takes a hundred times its bytes.
const maxDescriptors = 20 * maxLayers

// decoded returns what decode makes of a manifest or an index. One with more objects than that is refused before.
func decoded[T any](raw func() ([]byte, error), decode func() (*T, error)) (*T, error) {
	text, err := raw()
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte("{")); n > maxDescriptors {
		return nil, fmt.Errorf("the manifest has %d objects, more than %d", n, maxDescriptors)
	}
	return decode()
}

// maxLayers is how many layers an image may have: twice as many as Docker stores, which took 125 for years and takes
// 250 now (moby: layer/layer_store.go, and daemon/internal/layer/layer_store.go at ad6b80a888d3; maxLayerDepth).
const maxLayers = 2 * 250

// unpack adds the files below some directories to a tree, layer by layer. Of equal layers only the highest is fetched.
func (img *image) unpack(ctx context.Context, t *tree, kept []string) (memFS, error) {
	if n := len(img.layers); n > maxLayers {
		return memFS{}, fmt.Errorf("%s: the image has %d layers, more than %d", img.name, n, maxLayers)
	}
	last := map[[2]v1.Hash]int{}
	for i, l := range img.layers {
		last[[2]v1.Hash{l.digest, l.diffID}] = i
	}
	var layers []layer
	for i, l := range img.layers {
		if last[[2]v1.Hash{l.digest, l.diffID}] == i {
			layers = append(layers, l)
		}
	}
	img.layers = layers
	u := &unpacker{ctx: ctx, tree: t, kept: kept}
	u.maxBytes, u.maxEntries = t.limits.scanned()
	var sum int64
	for _, l := range img.layers { // unpacked, they are not smaller
		if l.size > u.maxBytes || sum+max(l.size, 0) > u.maxBytes {
			err := fmt.Errorf("%w: %s, which is over the limit of %s for an image", errTooLong, text.Size(l.size),
				text.Size(u.maxBytes))
			return memFS{}, readError(img.name+": layer "+l.name, "", err)
		}
		sum += max(l.size, 0)
	}
	for i, l := range img.layers {
		t.layer = i
		t.archive = img.name + ": layer " + l.name
		if err := u.unpack(l); err != nil {
			return memFS{}, err
		}
	}
	t.archive = img.name
	return t.finish()
}

func keptDirs(labels map[string]string) ([]string, error) {
	dirs := []string{"manifests", "metadata"}
	for i, key := range []string{olm.BundleManifests, olm.BundleMetadata} {
		if labels[key] == "" {
			continue
		}
		dir, err := cleanName(strings.TrimPrefix(labels[key], "/"))
		if err != nil {
			return nil, fmt.Errorf("label %s: directory %s %w", key, shorten(labels[key]), err)
		}
		dirs[i] = dir
	}
	return dirs, nil
}

type unpacker struct {
	ctx  context.Context
	tree *tree
	kept []string

	// Counts of what was unpacked from all layers, kept or not.
	bytes, maxBytes     int64
	entries, maxEntries int
}

func (u *unpacker) unpack(l layer) error {
	rc, err := l.open()
	if err != nil {
		return readError(u.tree.archive, "", err)
	}
	defer rc.Close()
	if l.digest.Hex == "" {
		return u.readLayer(rc, l.diffID)
	}
	stored, err := newVerifier(rc, l.digest, l.size)
	if err != nil {
		return readError(u.tree.archive, "", err)
	}
	err = u.readLayer(stored, v1.Hash{})
	if err != nil && !errors.As(err, new(*streamError)) || errors.Is(err, errTooLong) || u.ctx.Err() != nil {
		return err
	}
	// Read the rest of a layer that cannot be unpacked, because a wrong digest is the better error.
	_, drainErr := io.Copy(io.Discard, stored)
	if drainErr == nil {
		drainErr = stored.check()
	}
	if drainErr != nil {
		return readError(u.tree.archive, "", drainErr)
	}
	return err
}

// readLayer unpacks a layer. Unless diffID is zero, it checks the digest of the unpacked layer.
func (u *unpacker) readLayer(stored io.Reader, diffID v1.Hash) error {
	unpacked, done, err := decompress(stored)
	if err != nil {
		return readError(u.tree.archive, "", err)
	}
	defer done()
	check := func() error { return nil }
	if diffID.Hex != "" {
		v, err := newVerifier(unpacked, diffID, -1)
		if err != nil {
			return readError(u.tree.archive, "", err)
		}
		unpacked, check = v, v.check
	}
	m := newMeter(u.ctx, unpacked, u.maxBytes)
	m.left -= u.bytes
	err = eachTarEntry(u.tree.archive, m, math.MaxInt, u.entry)
	u.bytes += m.read
	if err != nil {
		return err
	}
	if err := check(); err != nil {
		return readError(u.tree.archive, "", err)
	}
	return nil
}

const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
	aufs     = ".wh..wh." // internal files of an old storage driver
)

// entry adds one entry of a layer. Names outside of the kept directories may be odd: systemd units have backslashes.
func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	if u.entries++; u.entries > u.maxEntries {
		return u.tree.errorf(h.Name, "is over the limit of %d entries in an image", u.maxEntries)
	}
	p, err := cleanName(h.Name)
	if err != nil {
		return u.tree.errorf(h.Name, "%w", err)
	}
	dir, base := path.Split(p)
	dir = path.Clean(dir)
	switch {
	case base == opaque:
		if hidden := u.tree.root.find(dir); hidden != nil {
			for name := range hidden.children {
				u.tree.prune(hidden, name)
			}
		}
		return nil
	case strings.HasPrefix(base, aufs):
		return nil
	case strings.HasPrefix(base, whiteout):
		hidden := strings.TrimPrefix(base, whiteout)
		if hidden == "" || hidden == "." || hidden == ".." {
			return u.tree.errorf(h.Name, "is a whiteout of nothing")
		}
		u.tree.remove(path.Join(dir, hidden))
		return nil
	}
	for _, dir := range u.kept {
		if dir == "." || p == dir || strings.HasPrefix(p, dir+"/") {
			return u.tree.addTarEntry(h, r)
		}
	}
	if h.Typeflag != tar.TypeDir { // in the place of a directory above a kept one
		u.tree.remove(p)
	}
	return nil
}

// choosePlatform returns the only image of an index, or else the one for linux/amd64. Bundles contain no programs, so
// any would do, but the choice must not depend on the machine.
func choosePlatform(index *v1.IndexManifest) (v1.Descriptor, error) {
	var images []v1.Descriptor
	var platforms []string
	for _, d := range index.Manifests {
		p := d.Platform
		// BuildKit keeps attestations as manifests for the platform unknown/unknown.
		if !d.MediaType.IsImage() && !d.MediaType.IsIndex() || p != nil && p.OS == "unknown" {
			continue
		}
		images = append(images, d)
		if p != nil {
			platforms = append(platforms, p.String())
		}
	}
	if len(images) == 1 {
		return images[0], nil
	}
	for _, d := range images {
		if d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == "amd64" {
			return d, nil
		}
	}
	if len(images) == 0 {
		return v1.Descriptor{}, errors.New("the index has no image")
	}
	return v1.Descriptor{}, fmt.Errorf("the index has %d images, none for linux/amd64: %s",
		len(images), text.Names(platforms))
}
