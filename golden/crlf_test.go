package golden

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
)

// A bundle with line ends of Windows renders to the same bytes, and has the same digest.
func TestWindowsBundle(t *testing.T) {
	dirs, err := filepath.Glob("*/bundle")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, dir := range append(dirs, "../examples/memcached-operator/bundle", "upgrades/ferry/from") {
		files, windows := fstest.MapFS{}, fstest.MapFS{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(filepath.Join(dir, path))
			files[path] = &fstest.MapFile{Data: data}
			if !bytes.Contains(data, []byte("\r")) {
				data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
			}
			windows[path] = &fstest.MapFile{Data: data}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		a, errA := bundle.Read(files, bundle.ReadOptions{})
		b, errB := bundle.Read(windows, bundle.ReadOptions{})
		if errA != nil || errB != nil {
			if (errA == nil) != (errB == nil) {
				t.Errorf("%s: %v, with CRLF: %v", dir, errA, errB)
			}
			continue
		}
		if a.Digest() != b.Digest() {
			t.Errorf("%s: the digest depends on line ends", dir)
		}
		o := generate.Options{Certs: generate.CertsManager}
		ra, errA := generate.Render(a, o)
		rb, errB := generate.Render(b, o)
		if errA != nil || errB != nil {
			continue // TestGolden renders it as it must be rendered
		}
		for i, x := range ra.Objects {
			if compared++; !bytes.Equal(x.Data, rb.Objects[i].Data) {
				t.Errorf("%s: %s %s (-LF +CRLF)\n%s", dir, x.Kind, x.Name, Diff("object", Tree{"object": x.Data}, Tree{"object": rb.Objects[i].Data}))
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d objects were compared", compared)
	}
}
