package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/manifest"
)

// A tree of other packages from another place is replaced only on request.
func TestReplaceOwner(t *testing.T) {
	old := []Source{{Bundle: "etcd.v1.0.0", Package: "etcd", Source: "bundles/etcd"},
		{Bundle: "vault.v1.0.0", Package: "vault", Source: "bundles/vault"}}
	for _, c := range []struct {
		name    string
		old     []Source
		now     Source
		refused bool
	}{
		{"another package of another source", old, Source{Bundle: "redis.v2.0.0", Package: "redis", Source: "bundles/redis"}, true},
		{"one of the packages", old, Source{Bundle: "vault.v2.0.0", Package: "vault", Source: "elsewhere"}, false},
		{"another package of the same source", old, Source{Bundle: "redis.v1.0.0", Package: "redis", Source: "bundles/etcd"}, false},
		{"another package of the same RenderConfig", []Source{{Bundle: "etcd.v1", Package: "etcd", Config: "../a.yaml", Source: "etcd"}},
			Source{Bundle: "redis.v1", Package: "redis", Config: "../a.yaml", Source: "redis"}, false},
		{"another RenderConfig", []Source{{Bundle: "etcd.v1", Package: "etcd", Config: "../a.yaml", Source: "x"}},
			Source{Bundle: "redis.v1", Package: "redis", Config: "../b.yaml", Source: "x"}, true},
		{"one of the packages of another RenderConfig", []Source{{Bundle: "etcd.v1", Package: "etcd", Config: "../a.yaml", Source: "etcd"},
			{Bundle: "redis.v1", Package: "redis", Config: "../a.yaml", Source: "redis"}},
			Source{Bundle: "redis.v1", Package: "redis", Config: "../b.yaml", Source: "redis"}, true},
		{"one of the packages of a RenderConfig, without one", []Source{{Bundle: "etcd.v1", Package: "etcd", Config: "../a.yaml", Source: "etcd"},
			{Bundle: "redis.v1", Package: "redis", Config: "../a.yaml", Source: "redis"}}, Source{Bundle: "redis.v2", Package: "redis", Source: "redis"}, true},
		{"the only package of another RenderConfig", []Source{{Bundle: "etcd.v1", Package: "etcd", Config: "../a.yaml", Source: "etcd"}},
			Source{Bundle: "etcd.v2", Package: "etcd", Config: "../b.yaml", Source: "etcd"}, false},
		{"a lock without packages", []Source{{Bundle: "etcd.v1.0.0", Source: "a"}},
			Source{Bundle: "etcd.v2.0.0", Package: "etcd", Source: "b"}, false},
		{"a lock without packages of another operator", []Source{{Bundle: "etcd.v1.0.0", Source: "a"}},
			Source{Bundle: "redis.v2.0.0", Package: "redis", Source: "b"}, true},
		{"a lock without sources", nil, Source{Bundle: "redis.v2.0.0", Package: "redis", Source: "b"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := Write(dir, Files{{Path: "a.yaml", Data: []byte("a")}}, WriteOptions{Sources: c.old}); err != nil {
				t.Fatal(err)
			}
			files, o := Files{{Path: "b.yaml", Data: []byte("b")}}, WriteOptions{Sources: []Source{c.now}}
			_, previewed := NewPreview(dir, files, o)
			_, err := Write(dir, files, o)
			var hint *manifest.HintError
			switch {
			case (err != nil) != c.refused || (previewed != nil) != c.refused:
				t.Fatalf("written: %v, previewed: %v", err, previewed)
			case c.refused && (!errors.As(err, &hint) || !strings.Contains(hint.Hint(), "or replace them")):
				t.Errorf("%v without the next step", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "a.yaml")); (err == nil) != c.refused {
				t.Errorf("the old file: %v", err)
			}
			o.Replace = true
			if r, err := Write(dir, files, o); err != nil || c.refused && len(r.Removed) != 1 {
				t.Errorf("replaced: %v, %v", r, err)
			}
		})
	}
}

func TestConfigPath(t *testing.T) {
	dir := t.TempDir()
	for _, c := range [][3]string{
		{filepath.Join(dir, "out"), filepath.Join(dir, "olmgen.yaml"), "../olmgen.yaml"},
		{dir, filepath.Join(dir, "olmgen.yaml"), "olmgen.yaml"},
		{filepath.Join(dir, "a", "out"), filepath.Join(dir, "config", "olmgen.yaml"), "../../config/olmgen.yaml"},
		{filepath.Join(dir, "out"), filepath.Join(filepath.VolumeName(dir)+string(filepath.Separator), "other", "olmgen.yaml"), "olmgen.yaml"},
	} {
		if got := ConfigPath(c[0], c[1]); got != c[2] {
			t.Errorf("%s from %s: %s, want %s", c[1], c[0], got, c[2])
		}
	}
}
