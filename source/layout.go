package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

const refName = "org.opencontainers.image.ref.name" // OCI image specification, annotations.md

// layoutImage returns an image of an OCI image layout: DIR, DIR:TAG or DIR@DIGEST. done closes it after reading.
func layoutImage(arg string) (img *image, done func(), err error) {
	dir, want := splitLayout(arg)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	l := ociLayout{name: dir, root: root}
	if img, err = l.image(want); err != nil {
		root.Close()
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	return img, func() { root.Close() }, nil
}

// splitLayout separates the directory from a tag or digest. If a directory has the whole name, there is neither.
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

// ociLayout is a directory that package layout reads. The package has no limits, follows links of directories and
// verifies no digest, so size is called before every file is read, and the digests are compared afterwards.
type ociLayout struct {
	name string
	root *os.Root
}

// size returns the size of a blob. The blob must be a regular file inside the layout.
func (l ociLayout) size(d v1.Descriptor) (int64, error) {
	return l.fileSize(path.Join("blobs", d.Digest.Algorithm, d.Digest.Hex))
}

func (l ociLayout) fileSize(p string) (int64, error) {
	info, err := l.root.Stat(p)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: not a file", p)
	}
	return info.Size(), nil
}

func (l ociLayout) image(want string) (*image, error) {
	size, err := l.fileSize("index.json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("not an OCI image layout: it has no index.json")
	case err != nil:
		return nil, err
	case size > maxImageJSON:
		return nil, fmt.Errorf("index.json: larger than %s", SizeText(maxImageJSON))
	}
	index, err := layout.ImageIndexFromPath(l.name)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	d, err := l.choose(manifest, want)
	if err != nil {
		return nil, err
	}
	return resolve(l.name, index, d, l.size)
}

// choose returns the image or index with a tag or digest, or the only one.
func (l ociLayout) choose(index *v1.IndexManifest, want string) (v1.Descriptor, error) {
	if want == "" {
		return l.only(index)
	}
	for _, d := range index.Manifests {
		tag := d.Annotations[refName]
		if d.Digest.String() == want || tag == want || strings.HasSuffix(tag, ":"+want) {
			return d, nil
		}
	}
	return v1.Descriptor{}, fmt.Errorf("no image %s; there are %s", quote(want), names(index))
}

// only returns the image of a layout that holds one, possibly for several platforms.
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
		err := fmt.Errorf("the layout has %d images: %s", len(index.Manifests), names(index))
		return v1.Descriptor{}, hint(err, "choose one: oci-layout:%s:TAG or oci-layout:%s@DIGEST", l.name, l.name)
	}
	d, err := choosePlatform(index)
	if err != nil {
		return d, fmt.Errorf("index.json: %w", err)
	}
	return d, nil
}

func names(index *v1.IndexManifest) string {
	return text.Names(lists.Map(index.Manifests, func(d v1.Descriptor) string {
		return cmp.Or(d.Annotations[refName], d.Digest.String())
	}))
}
