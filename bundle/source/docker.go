package source

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// openDockerArchive reads the image in a file that docker save (or podman save) wrote, plain or compressed.
func openDockerArchive(ctx context.Context, arg string, o Options) (*Source, error) {
	a := &dockerArchive{ctx: ctx, file: arg, limits: o.Limits, entries: map[string]dockerEntry{}}
	if err := a.index(); err != nil {
		return nil, err
	}
	img, err := a.image()
	if err != nil {
		return nil, err
	}
	return img.source(ctx, o.Limits)
}

// dockerArchive is a tar of files that come in any order and are as large as layers are, so it is read once to learn what it holds
// and again for each file that is needed.
type dockerArchive struct {
	ctx     context.Context
	file    string
	limits  Limits
	entries map[string]dockerEntry
}

type dockerEntry struct {
	number int // position in the archive
	size   int64
	link   string // path of the file that it stands for
}

// errStop ends a walk over the archive early.
var errStop = errors.New("stop")

// walk visits every entry. After the end of the walk nothing of the archive is open.
func (a *dockerArchive) walk(visit func(number int, h *tar.Header, r io.Reader) error) error {
	f, err := os.Open(a.file)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, done, err := decompress(f)
	if err != nil {
		return readError(a.file, "", err)
	}
	defer done()
	m := newMeter(a.ctx, unpacked, a.limits.MaxTotalBytes*scanFactor)
	number := 0
	return eachTarEntry(a.file, m, a.limits.MaxFiles, func(h *tar.Header, r io.Reader) error {
		number++
		return visit(number, h, r)
	})
}

func (a *dockerArchive) index() error {
	return a.walk(func(number int, h *tar.Header, _ io.Reader) error {
		p, err := cleanName(h.Name)
		if err == nil {
			err = checkCharacters(h.Name)
		}
		if err != nil {
			return &entryError{a.file, h.Name, err}
		}
		e := dockerEntry{number: number, size: h.Size}
		switch h.Typeflag {
		case tar.TypeDir:
			return nil
		case tar.TypeReg:
		case tar.TypeSymlink: // docker save once wrote layers that came twice so
			e.link = path.Join(path.Dir(p), h.Linkname)
		case tar.TypeLink:
			e.link = path.Clean(h.Linkname)
		default:
			return &entryError{a.file, h.Name, errors.New("is neither file, directory nor link")}
		}
		if _, twice := a.entries[p]; twice {
			return &entryError{a.file, h.Name, errors.New("comes twice")}
		}
		a.entries[p] = e
		return nil
	})
}

// find follows links to a file. They only ever lead to another entry, so they cannot leave the archive.
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

// open streams a file out of the archive.
func (a *dockerArchive) open(p string) (io.ReadCloser, error) {
	e, err := a.find(p)
	if err != nil {
		return nil, err
	}
	pr, pw := io.Pipe()
	go func() {
		err := a.walk(func(number int, _ *tar.Header, r io.Reader) error {
			if number < e.number {
				return nil
			}
			if _, err := io.Copy(pw, r); err != nil {
				return err
			}
			return errStop
		})
		if errors.Is(err, errStop) {
			err = nil
		}
		pw.CloseWithError(err)
	}()
	return pr, nil
}

func (a *dockerArchive) read(p string) ([]byte, error) {
	r, err := a.open(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.file, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxImageJSON+1))
	if err != nil {
		return nil, readError(a.file, p, err)
	}
	if len(data) > maxImageJSON {
		return nil, &entryError{a.file, p, fmt.Errorf("is larger than %s", bytesText(maxImageJSON))}
	}
	return data, nil
}

func (a *dockerArchive) image() (*image, error) {
	if _, ok := a.entries["manifest.json"]; !ok {
		return nil, hint(fmt.Errorf("%s: not an archive of docker save: it has no manifest.json", a.file), "for the archive of a bundle directory use tar:%s", a.file)
	}
	data, err := a.read("manifest.json")
	if err != nil {
		return nil, err
	}
	var images []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(data, &images); err != nil {
		return nil, &entryError{a.file, "manifest.json", err}
	}
	if len(images) != 1 {
		var tags []string
		for _, i := range images {
			tags = append(tags, i.RepoTags...)
		}
		return nil, hint(fmt.Errorf("%s: %d images: %s", a.file, len(images), someOf(tags)), "save the bundle's image alone")
	}
	found := images[0]
	if data, err = a.read(found.Config); err != nil {
		return nil, err
	}
	img := &image{name: a.file}
	if img.config, err = v1.ParseConfigFile(bytes.NewReader(data)); err != nil {
		return nil, &entryError{a.file, found.Config, err}
	}
	ids := img.config.RootFS.DiffIDs
	if len(ids) != len(found.Layers) {
		return nil, fmt.Errorf("%s: %d layers, but the image's configuration has the digests of %d", a.file, len(found.Layers), len(ids))
	}
	for i, p := range found.Layers {
		img.layers = append(img.layers, layer{name: p, diffID: ids[i], size: -1, open: func() (io.ReadCloser, error) { return a.open(p) }})
	}
	return img, nil
}
