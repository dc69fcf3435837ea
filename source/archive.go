package source

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

var errNoStdin = errors.New("standard input: there is none")

// openTar reads a tar archive, plain or compressed, from a file or standard input.
func openTar(ctx context.Context, arg string, o Options) (*Source, error) {
	name, r := arg, o.Stdin
	if arg == "-" {
		name = "standard input"
		if r == nil {
			return nil, errNoStdin
		}
	} else {
		f, err := os.Open(arg)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	m, err := readTar(ctx, name, r, o.Limits)
	if err != nil {
		return nil, err
	}
	return &Source{FS: m.withoutWrapper()}, nil
}

// readTar reads a whole archive into memory. If it fails on the archive of an image, the error has a hint.
func readTar(ctx context.Context, name string, r io.Reader, limits Limits) (memFS, error) {
	t := newTree(name, limits)
	image := false
	m, err := func() (memFS, error) {
		unpacked, done, err := decompress(newMeter(ctx, r, 1<<50))
		if err != nil {
			return memFS{}, readError(name, "", err)
		}
		defer done()
		// Headers and padding come on top of the content.
		m := newMeter(ctx, unpacked, limits.MaxTotalBytes+int64(limits.MaxFiles)*maxName+1<<20)
		err = eachTarEntry(name, m, limits.MaxFiles, func(h *tar.Header, r io.Reader) error {
			at := strings.TrimPrefix(h.Name, "./")
			image = image || at == "manifest.json" || at == "oci-layout" ||
				strings.HasPrefix(at, "blobs/sha256/") || strings.HasSuffix(at, "/layer.tar")
			return t.addTarEntry(h, r)
		})
		if err != nil {
			return memFS{}, err
		}
		return t.finish()
	}()
	if err == nil && (len(m.root.children) == 0 || image && m.withoutWrapper().root.find("manifests") == nil) {
		err = fmt.Errorf("%s: the archive has no bundle", name)
	}
	if err != nil && image {
		err = hint(err, "this looks like an image: use docker-archive:FILE for the output of docker save; "+
			"unpack an OCI layout and use oci-layout:DIR")
	}
	return m, err
}

// eachTarEntry calls visit for every entry of a tar stream. It reads to the end, where a checksum may be.
func eachTarEntry(name string, m *meter, maxEntries int, visit func(*tar.Header, io.Reader) error) error {
	r := tar.NewReader(m)
	end := int64(0) // of the last entry's content
	for count := 0; ; count++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			if count == 0 && errors.Is(err, tar.ErrHeader) {
				err = errors.New("not a tar archive")
			}
			return readError(name, "", err)
		}
		if count >= maxEntries {
			return entryError(name, h.Name, fmt.Errorf("is over the limit of %d entries", maxEntries))
		}
		end = m.read
		switch h.Typeflag {
		case tar.TypeLink, tar.TypeSymlink, tar.TypeChar, tar.TypeBlock, tar.TypeDir, tar.TypeFifo:
			// These have no content, whatever their size field says.
		default:
			end += (h.Size + 511) / 512 * 512
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // git archive writes one
			continue
		}
		isSparse := func(key string) bool { return strings.HasPrefix(key, "GNU.sparse.") }
		if h.Typeflag == tar.TypeGNUSparse || lists.Any(maps.Keys(h.PAXRecords), isSparse) {
			return entryError(name, h.Name, errors.New("is a sparse file"))
		}
		if err := visit(h, r); err != nil {
			return err
		}
	}
	// If a plain archive was cut between two entries, only the missing end of the archive shows it.
	if m.read < end+512 {
		return readError(name, "", fmt.Errorf("%w: no end of archive", io.ErrUnexpectedEOF))
	}
	if _, err := io.Copy(io.Discard, m); err != nil {
		return readError(name, "", err)
	}
	return nil
}

func (t *tree) addTarEntry(h *tar.Header, r io.Reader) error {
	p, err := cleanName(h.Name)
	if err = cmp.Or(err, checkCharacters(h.Name)); err != nil {
		return t.errorf(h.Name, "%w", err)
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return t.addFile(p, h.Size, r)
	case tar.TypeDir:
		return t.addDir(p)
	case tar.TypeLink:
		return t.addHardLink(p, h.Linkname)
	case tar.TypeSymlink:
		return t.addSymlink(p, h.Linkname)
	case tar.TypeBlock, tar.TypeChar:
		return t.errorf(h.Name, "is a device")
	case tar.TypeFifo:
		return t.errorf(h.Name, "is a named pipe")
	}
	return t.errorf(h.Name, "is neither file, directory nor link (type %q)", h.Typeflag)
}

func openZip(ctx context.Context, arg string, o Options) (*Source, error) {
	if arg == "-" {
		err := errors.New("standard input: a zip archive must be a file, because it is read from its end")
		return nil, hint(err, "save it to a file, or use a tar archive")
	}
	f, err := os.Open(arg)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m, err := readZip(ctx, arg, f, info.Size(), o.Limits)
	if err != nil {
		return nil, err
	}
	return &Source{FS: m.withoutWrapper()}, nil
}

func readZip(ctx context.Context, name string, r io.ReaderAt, size int64, limits Limits) (memFS, error) {
	// zip.NewReader keeps the whole directory of the archive in memory, so what it reads is bounded.
	directory := &allowance{r: r, left: int64(limits.MaxFiles)*512 + 1<<20}
	z, err := zip.NewReader(directory, size)
	switch {
	case directory.left < 0:
		return memFS{}, fmt.Errorf("%s: the list of entries is too long for %d entries, which is the limit",
			name, limits.MaxFiles)
	case errors.Is(err, zip.ErrFormat):
		return memFS{}, fmt.Errorf("%s: not a zip archive, or cut short", name)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return memFS{}, readError(name, "", err)
	}
	directory.off = true
	if len(z.File) > limits.MaxFiles {
		return memFS{}, fmt.Errorf("%s: %d entries, and the limit is %d", name, len(z.File), limits.MaxFiles)
	}
	t := newTree(name, limits)
	for _, f := range z.File {
		if err := t.addZipEntry(ctx, f); err != nil {
			return memFS{}, err
		}
	}
	m, err := t.finish()
	if err == nil && len(t.root.children) == 0 {
		err = fmt.Errorf("%s: the archive has no bundle", name)
	}
	return m, err
}

func (t *tree) addZipEntry(ctx context.Context, f *zip.File) error {
	p, err := cleanName(f.Name)
	if err = cmp.Or(err, checkCharacters(f.Name)); err != nil {
		return t.errorf(f.Name, "%w", err)
	}
	mode := f.Mode()
	switch {
	case mode.IsDir():
		return t.addDir(p)
	case mode.Type() != 0 && mode.Type() != fs.ModeSymlink:
		return t.errorf(f.Name, "is neither file, directory nor link (%s)", mode.Type())
	case f.Flags&1 != 0:
		return t.errorf(f.Name, "is encrypted")
	case f.UncompressedSize64 > uint64(t.limits.MaxFileBytes):
		return manifest.OverLimit(t.errorf(f.Name, "is larger than %s", text.Size(t.limits.MaxFileBytes)))
	}
	r, err := f.Open()
	if err != nil {
		return readError(t.archive, f.Name, err)
	}
	defer r.Close()
	m := newMeter(ctx, r, 1<<50)
	if mode.Type() == 0 {
		return t.addFile(p, int64(f.UncompressedSize64), m)
	}
	target := new(strings.Builder)
	if _, err := io.Copy(target, io.LimitReader(m, maxName+1)); err != nil {
		return readError(t.archive, f.Name, err)
	}
	return t.addSymlink(p, target.String())
}

// allowance is an io.ReaderAt that fails after a number of bytes, unless it is off.
type allowance struct {
	r    io.ReaderAt
	left int64
	off  bool
}

func (b *allowance) ReadAt(p []byte, at int64) (int, error) {
	if !b.off {
		if b.left -= int64(len(p)); b.left < 0 {
			return 0, errTooLong
		}
	}
	return b.r.ReadAt(p, at)
}
