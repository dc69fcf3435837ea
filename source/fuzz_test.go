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

func FuzzCatalog(f *testing.F) {
	data, err := os.ReadFile(etcdCatalog)
	must(f, err)
	f.Add(data)
	f.Add([]byte(`{"schema": "olm.package", "name": "x"}{"schema": "olm.channel", "package": "x", "name": "a", "entries": [{"name": "x.v1"}]}` +
		`{"schema": "olm.bundle", "package": "x", "name": "x.v1", "properties": [{"type": "olm.bundle.object", "value": {"data": "e30="}}]}`))
	f.Add([]byte("a: &a [x]\nb: *a\n---\n%YAML 1.1\n---\n..."))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
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

// FuzzPackageManifest reads a legacy package: its package.yaml, and a ClusterServiceVersion in one of its directories.
func FuzzPackageManifest(f *testing.F) {
	f.Add([]byte("packageName: etcd\ndefaultChannel: a\nchannels:\n- {name: a, currentCSV: etcd.v1}\n"),
		[]byte("kind: ClusterServiceVersion\nmetadata: {name: etcd.v1}\nspec: {version: 1.0.0, replaces: etcd.v0}\n"))
	f.Add([]byte("packageName: [etcd]\nchannels: {}\n"), []byte("- a"))
	dir := f.TempDir()
	must(f, os.Mkdir(filepath.Join(dir, "1.0.0"), 0o755))
	f.Fuzz(func(t *testing.T, pkg, csv []byte) {
		fuzztest.Limit(t, len(pkg)+len(csv))
		must(t, os.WriteFile(filepath.Join(dir, "etcd.package.yaml"), pkg, 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "1.0.0", "etcd.clusterserviceversion.yaml"), csv, 0o644))
		s, err := Open(context.Background(), "packagemanifest:"+dir, Options{Offline: true})
		if err != nil {
			return
		}
		defer s.Close()
		must(t, fs.WalkDir(s.FS, ".", func(_ string, _ fs.DirEntry, err error) error { return err }))
	})
}
