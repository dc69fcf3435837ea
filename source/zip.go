package source

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// openZip reads a zip file.
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
	if err == nil {
		err = checkCharacters(f.Name)
	}
	if err != nil {
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
		return manifest.OverLimit(t.errorf(f.Name, "is larger than %s", SizeText(t.limits.MaxFileBytes)))
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
