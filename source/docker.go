package source

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

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
		return &entryError{a.file, h.Name, err}
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
		return &entryError{a.file, h.Name, errors.New("is neither file, directory nor link")}
	}
	if _, twice := a.entries[p]; twice {
		return &entryError{a.file, h.Name, errors.New("occurs twice")}
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
		return &entryError{a.file, p, fmt.Errorf("is larger than %s", SizeText(maxImageJSON))}
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
		return none, &entryError{a.file, "manifest.json", err}
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
		return nil, &entryError{a.file, found.Config, err}
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
