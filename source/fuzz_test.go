package source

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/olmgen/olmgen/golden/fuzztest"
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
	if slices.ContainsFunc(names, func(p string) bool { return strings.ContainsAny(p, `*?[]^-`) }) {
		return // TestFS makes patterns of names, and does not escape these
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
		fuzztest.Limit(t, len(data))
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
		fuzztest.Limit(t, len(data))
		if m, err := readZip(context.Background(), "fuzz.zip", bytes.NewReader(data), int64(len(data)), small); err == nil {
			checkTree(t, m.withoutWrapper())
		}
	})
}

func FuzzDockerArchive(f *testing.F) {
	layer := tarOf(f, goodBundle...)
	config, err := imageOf(f, nil, layer).RawConfigFile()
	must(f, err)
	one := file("manifest.json", `[{"Config": "config.json", "RepoTags": ["etcd:v1"], "Layers": ["1/layer.tar"]}]`)
	f.Add(tarOf(f, one, file("config.json", string(config)), file("1/layer.tar", string(layer))))
	f.Add(tarOf(f, one, file("config.json", string(config)), symlink("1/layer.tar", "../2/layer.tar"), file("2/layer.tar", string(gzipOf(f, layer)))))
	f.Add(tarOf(f, one, file("config.json", "{}"), symlink("1/layer.tar", "layer.tar")))
	name := filepath.Join(f.TempDir(), "image.tar")
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		must(t, os.WriteFile(name, data, 0o644))
		if s, err := Open(context.Background(), "docker-archive:"+name, Options{Limits: small, Offline: true}); err == nil {
			checkTree(t, s.FS.(memFS))
		}
	})
}
