package source

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// checkTree is what must hold of whatever an archive was accepted as: a proper file system, within the limits.
func checkTree(t *testing.T, m memFS) {
	t.Helper()
	var names []string
	files, size := 0, int64(0)
	must(t, fs.WalkDir(m, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return err
		}
		if files++; d.Type() != 0 && !d.IsDir() {
			t.Errorf("%q is neither file nor directory", p)
		}
		if strings.ContainsAny(p, "\\\x00") || !fs.ValidPath(p) {
			t.Errorf("bad name %q", p)
		}
		info, err := d.Info()
		size += info.Size()
		names = append(names, p)
		return err
	}))
	if files > small.MaxFiles || size > small.MaxTotalBytes {
		t.Errorf("%d files, %d bytes", files, size)
	}
	if slices.ContainsFunc(names, func(p string) bool { return strings.ContainsAny(p, `*?[^`) }) {
		return // TestFS takes names as patterns
	}
	if err := fstest.TestFS(m, names...); err != nil {
		t.Error(err)
	}
}

func FuzzTar(f *testing.F) {
	for _, test := range hostile {
		f.Add(tarOf(f, test.entries...))
	}
	good := tarOf(f, append(goodBundle, symlink("metadata/link", "../manifests/csv.yaml"), hardlink("hard", "manifests/csv.yaml"))...)
	f.Add(good)
	f.Add(gzipOf(f, good))
	f.Add(zstdOf(f, good))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := readTar(context.Background(), "fuzz.tar", bytes.NewReader(data), small); err == nil {
			checkTree(t, m.withoutWrapper())
		}
		layers := &unpacker{ctx: context.Background(), tree: newTree("fuzz", small), kept: []string{"manifests", "metadata"}, maxBytes: 32000, maxEntries: 320}
		for layers.tree.layer = range 2 {
			if layers.readLayer(bytes.NewReader(data), v1.Hash{}) != nil {
				return
			}
		}
		if m, err := layers.tree.finish(); err == nil {
			checkTree(t, m)
		}
	})
}

func FuzzZip(f *testing.F) {
	for _, test := range hostile {
		f.Add(zipOf(f, test.entries...))
	}
	f.Add(zipOf(f, append(goodBundle, symlink("metadata/link", "../manifests/csv.yaml"))...))
	f.Add(lyingZip(f, 10_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := readZip(context.Background(), "fuzz.zip", bytes.NewReader(data), int64(len(data)), small); err == nil {
			checkTree(t, m.withoutWrapper())
		}
	})
}

func FuzzCatalog(f *testing.F) {
	data, err := os.ReadFile(etcdCatalog)
	must(f, err)
	f.Add(data)
	f.Add([]byte(`{"schema": "olm.package", "name": "x"}{"schema": "olm.channel", "package": "x", "name": "a", "entries": [{"name": "x.v1"}]}` +
		`{"schema": "olm.bundle", "package": "x", "name": "x.v1", "properties": [{"type": "olm.bundle.object", "value": {"data": "e30="}}]}`))
	f.Add([]byte("a: &a [x]\nb: *a\n---\n%YAML 1.1\n---\n..."))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, version := range []string{"", "0.9.2"} {
			s, err := Open(context.Background(), "catalog:-", Options{Stdin: bytes.NewReader(data), Offline: true, Version: version,
				Limits: Limits{MaxFileBytes: 10_000, MaxTotalBytes: 100_000}})
			if err != nil {
				continue
			}
			if !strings.HasPrefix(string(s.Properties), "[") {
				t.Errorf("properties are %s", s.Properties)
			}
			must(t, fs.WalkDir(s.FS, ".", func(_ string, _ fs.DirEntry, err error) error { return err }))
		}
	})
}
