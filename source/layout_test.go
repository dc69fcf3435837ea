package source

import (
	"bytes"
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestLayout(t *testing.T) {
	inDir(t, nil)
	one, two := goodImage(t), imageOf(t, nil, tarOf(t, file("manifests/two.yaml", "2")))
	twoFiles := map[string]string{"manifests/two.yaml": "2"}
	p, err := layout.Write("several", empty.Index)
	must(t, err)
	must(t, p.AppendImage(one, layout.WithAnnotations(map[string]string{refName: "v1"})))
	must(t, p.AppendImage(two, layout.WithAnnotations(map[string]string{refName: "example.com/etcd:v2"})))
	_, err = layout.Write("index", mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}}),
	}))
	must(t, err)
	_, err = layout.Write("platforms", mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: two, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}}))
	must(t, err)

	for _, test := range []struct {
		ref   string
		image v1.Image
		want  map[string]string
	}{
		{"several:v1", one, goodFiles},
		{"several:v2", two, twoFiles},
		{"several@" + digestOf(t, two), two, twoFiles},
		{"index", one, goodFiles},
		{"platforms", one, goodFiles},
	} {
		s := open(t, "oci-layout:"+test.ref, Options{Offline: true})
		same(t, test.ref, contents(t, s.FS), test.want)
		same(t, "digest", s.Digest, digestOf(t, test.image))
		same(t, "labels", s.Labels, bundleLabels)
	}
	for ref, want := range map[string]string{
		"several": "several: the layout has 2 images: example.com/etcd:v2, v1\n" +
			"hint: choose one: oci-layout:several:TAG or oci-layout:several@DIGEST",
		"several:v3": `several: no image "v3"; there are example.com/etcd:v2, v1`,
		"nowhere":    "oci-layout:nowhere: no such file or directory",
		".":          ".: not an OCI image layout: it has no index.json",
	} {
		same(t, ref, openError(t, "oci-layout:"+ref, Options{}), want)
	}
}

func TestLayoutThatIsDamaged(t *testing.T) {
	img := goodImage(t)
	layers, err := img.Layers()
	must(t, err)
	config, err := img.ConfigName()
	must(t, err)
	blobOf := func(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }
	layer := blobOf(digestOf(t, layers[1]))
	tests := []struct {
		name, file string
		change     func([]byte) []byte
		want       string
	}{
		{"a changed layer", layer, func(b []byte) []byte { return flip(b, -20) }, "digest is sha256:"},
		{"a changed layer that unpacks", layer, func(b []byte) []byte { b[9] ^= 1; return b }, "digest is sha256:"},
		{"a layer cut short", layer, func(b []byte) []byte { return b[:50] }, "cut short: 50 bytes of "},
		{"a layer with more behind it", layer, func(b []byte) []byte { return append(b, b...) }, "longer than the "},
		{"a changed configuration", blobOf(config.String()), func(b []byte) []byte { return bytes.Replace(b, []byte("etcd"), []byte("evil"), 1) }, "digest is sha256:"},
		{"a changed manifest", blobOf(digestOf(t, img)), func(b []byte) []byte { return append(b, ' ') }, "digest is sha256:"},
		{"a huge index", "index.json", func(b []byte) []byte { return append(b, make([]byte, maxImageJSON)...) }, "index.json: larger than 4 MiB"},
		{"an index that is no JSON", "index.json", func(b []byte) []byte { return b[:20] }, "index.json: unexpected end of JSON input"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			savedAs(t, img)
			data, err := os.ReadFile("layout/" + test.file)
			must(t, err)
			must(t, os.WriteFile("layout/"+test.file, test.change(data), 0o644))
			if got := openError(t, "oci-layout:layout", Options{}); !strings.HasPrefix(got, "layout: ") || !strings.Contains(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	t.Run("a huge manifest", func(t *testing.T) {
		savedAs(t, img)
		must(t, os.Truncate("layout/"+blobOf(digestOf(t, img)), maxImageJSON+1))
		if got := openError(t, "oci-layout:layout", Options{}); !strings.HasSuffix(got, ": larger than 4 MiB") {
			t.Error(got)
		}
	})
	t.Run("a huge configuration", func(t *testing.T) {
		savedAs(t, img)
		must(t, os.Truncate("layout/"+blobOf(config.String()), maxImageJSON+1))
		same(t, "error", openError(t, "oci-layout:layout", Options{}), "layout: configuration: larger than 4 MiB")
	})
	t.Run("directories that are a link out of the layout", func(t *testing.T) {
		savedAs(t, img)
		must(t, os.Rename("layout/blobs", "blobs"))
		must(t, os.Symlink("../blobs", "layout/blobs"))
		if got := openError(t, "oci-layout:layout", Options{}); !strings.Contains(got, "path escapes from parent") {
			t.Error(got)
		}
	})
	t.Run("a blob that is a link out of the layout", func(t *testing.T) {
		savedAs(t, img)
		must(t, os.Rename("layout/"+layer, "outside"))
		must(t, os.Symlink("../../../outside", "layout/"+layer))
		if got := openError(t, "oci-layout:layout", Options{}); !strings.Contains(got, "path escapes from parent") {
			t.Error(got)
		}
	})
}
