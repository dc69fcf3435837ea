package catalog

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/source"
)

func FuzzCatalog(f *testing.F) {
	data, err := os.ReadFile(etcdCatalog)
	must(f, err)
	f.Add(data)
	f.Add([]byte(`{"schema": "olm.package", "name": "x", "defaultChannel": "a"}{"schema": "olm.channel", "package": "x", "name": "a", "entries": [{"name": "x.v1"}]}` +
		`{"schema": "olm.bundle", "package": "x", "name": "x.v1", "properties": [{"type": "olm.bundle.object", "value": {"data": "e30="}}]}`))
	f.Add([]byte("a: &a [x]\nb: *a\n---\n%YAML 1.1\n---\n..."))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		for _, version := range []string{"", "0.9.2"} {
			s, err := Open(context.Background(), "catalog:-", Options{Choice: bundle.Choice{Version: version},
				Source: source.Options{Stdin: bytes.NewReader(data), Offline: true,
					Limits: source.Limits{MaxFileBytes: 10_000, MaxTotalBytes: 100_000}}})
			if err != nil {
				continue
			}
			if text := properties(t, s); !strings.HasPrefix(text, "[") {
				t.Errorf("properties are %s", text)
			}
			must(t, fs.WalkDir(s.FS, ".", func(_ string, _ fs.DirEntry, err error) error { return err }))
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
		s, err := Open(context.Background(), "packagemanifest:"+dir, Options{Source: source.Options{Offline: true}})
		if err != nil {
			return
		}
		defer s.Close()
		must(t, fs.WalkDir(s.FS, ".", func(_ string, _ fs.DirEntry, err error) error { return err }))
	})
}
