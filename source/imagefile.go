package source

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

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
		return nil, fmt.Errorf("index.json: larger than %s", text.Size(maxImageJSON))
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

// archiveImage reads the image in a file that docker save (or podman save) wrote, plain or compressed.
func archiveImage(ctx context.Context, arg string, o Options) (*image, error) {
	a := &dockerArchive{ctx: ctx, file: arg, limits: o.Limits, entries: map[string]dockerEntry{}}
	f, err := a.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := eachTarEntry(arg, f.(*unpackedFile).meter, o.Limits.MaxFiles, a.addEntry); err != nil {
		return nil, err
	}
	return a.image()
}

// dockerArchive is an archive for package tarball. That has no limits and takes equal names, so entries are checked.
type dockerArchive struct {
	ctx     context.Context
	file    string
	limits  Limits
	entries map[string]dockerEntry // files and links, by clean path
}

type dockerEntry struct {
	size       int64
	compressed bool
	link       string // path of the entry that a link points to
}

// open returns the archive from its start, unpacked. It is a tarball.Opener.
func (a *dockerArchive) open() (io.ReadCloser, error) {
	f, err := os.Open(a.file)
	if err != nil {
		return nil, err
	}
	unpacked, done, err := decompress(f)
	if err != nil {
		f.Close()
		return nil, readError(a.file, "", err)
	}
	most, _ := a.limits.scanned()
	return &unpackedFile{newMeter(a.ctx, unpacked, most), f, done}, nil
}

type unpackedFile struct {
	*meter
	file *os.File
	done func()
}

func (u *unpackedFile) Close() error {
	u.done()
	return u.file.Close()
}

func (a *dockerArchive) addEntry(h *tar.Header, r io.Reader) error {
	p, err := cleanName(h.Name)
	if err = cmp.Or(err, checkCharacters(h.Name)); err != nil {
		return entryError(a.file, h.Name, err)
	}
	e := dockerEntry{size: h.Size}
	switch h.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeReg:
		var head [4]byte
		n, err := io.ReadFull(r, head[:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return readError(a.file, h.Name, err)
		}
		e.compressed = isGzip(head[:n]) || isZstd(head[:n])
	case tar.TypeSymlink, tar.TypeLink: // docker save once wrote a link for a layer that an image has twice
		e.link = path.Join(path.Dir(p), h.Linkname) // tarball takes both kinds of links as relative to the entry
	default:
		return entryError(a.file, h.Name, errors.New("is neither file, directory nor link"))
	}
	if _, twice := a.entries[p]; twice {
		return entryError(a.file, h.Name, errors.New("occurs twice"))
	}
	a.entries[p] = e
	return nil
}

// find follows links to a file. A link leads to another entry only, so it cannot leave the archive.
func (a *dockerArchive) find(p string) (dockerEntry, error) {
	at := path.Clean(p)
	for range 10 {
		e, ok := a.entries[at]
		if !ok {
			return e, fmt.Errorf("no entry %s", shorten(at))
		}
		if e.link == "" {
			return e, nil
		}
		at = e.link
	}
	return dockerEntry{}, fmt.Errorf("entry %s leads through too many links", shorten(p))
}

// checkJSON refuses a file that is too large to be read whole.
func (a *dockerArchive) checkJSON(p string) error {
	e, err := a.find(p)
	if err != nil {
		return fmt.Errorf("%s: %w", a.file, err)
	}
	if e.size > maxImageJSON {
		return entryError(a.file, p, fmt.Errorf("is larger than %s", text.Size(maxImageJSON)))
	}
	return nil
}

func (a *dockerArchive) only() (tarball.Descriptor, error) {
	var none tarball.Descriptor
	if _, ok := a.entries["manifest.json"]; !ok {
		return none, hint(fmt.Errorf("%s: not an archive of docker save: it has no manifest.json", a.file),
			"for the archive of a bundle directory use tar:%s", a.file)
	}
	if err := a.checkJSON("manifest.json"); err != nil {
		return none, err
	}
	images, err := tarball.LoadManifest(a.open)
	if err != nil {
		return none, entryError(a.file, "manifest.json", err)
	}
	if len(images) != 1 {
		tags := slices.Concat(lists.Map(images, func(i tarball.Descriptor) []string { return i.RepoTags })...)
		err := fmt.Errorf("%s: %d images: %s", a.file, len(images), text.Names(tags))
		return none, hint(err, "save the bundle's image alone")
	}
	return images[0], nil
}

func (a *dockerArchive) image() (*image, error) {
	found, err := a.only()
	if err != nil {
		return nil, err
	}
	if err := a.checkJSON(found.Config); err != nil {
		return nil, err
	}
	// The package returns the bytes of a layer's file as Compressed or Uncompressed, depending on the first layer.
	stored := v1.Layer.Uncompressed
	for i, p := range found.Layers {
		e, err := a.find(p)
		if err != nil {
			return nil, fmt.Errorf("%s: layer %s: %w", a.file, p, err)
		}
		if i == 0 && e.compressed {
			stored = v1.Layer.Compressed
		}
	}
	opened, err := tarball.Image(a.open, nil)
	if err != nil {
		return nil, readError(a.file, "", err)
	}
	img := &image{name: a.file}
	if img.config, err = opened.ConfigFile(); err != nil {
		return nil, entryError(a.file, found.Config, err)
	}
	ids := img.config.RootFS.DiffIDs
	if len(ids) != len(found.Layers) {
		return nil, fmt.Errorf("%s: %d layers, but the image's configuration has the digests of %d",
			a.file, len(found.Layers), len(ids))
	}
	layers, err := opened.Layers()
	if err != nil {
		return nil, readError(a.file, "", err)
	}
	for i, l := range layers {
		open := func() (io.ReadCloser, error) { return stored(l) }
		img.layers = append(img.layers, layer{name: found.Layers[i], diffID: ids[i], size: -1, open: open})
	}
	return img, nil
}
