package source

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/olmgen/olmgen/internal/olm"
)

func TestLayers(t *testing.T) {
	noise := []entry{file("etc/passwd", "x"), symlink("lib", "/usr/lib"), {name: "dev/null", kind: '3'}, file(`usr/lib/system-systemd\x2dcryptsetup.slice`, ""), dir("/")}
	tests := []struct {
		name   string
		labels map[string]string
		layers [][]entry
		want   map[string]string
	}{
		{"only the bundle's directories are kept", nil, [][]entry{append(noise, goodBundle...)}, goodFiles},
		{"without labels", map[string]string{}, [][]entry{goodBundle}, goodFiles},
		{"other directories", map[string]string{olm.BundleManifests: "/deploy/olm/manifests/", olm.BundleMetadata: "deploy/metadata"},
			[][]entry{{file("manifests/no", ""), file("deploy/olm/manifests/yes", "1"), file("deploy/olm/no", ""), file("deploy/metadata/yes", "2")}},
			map[string]string{"deploy/olm/manifests/yes": "1", "deploy/metadata/yes": "2"}},
		{"a higher layer replaces", nil, [][]entry{{file("manifests/a", "1"), file("manifests/b", "1")}, {file("manifests/a", "2")}},
			map[string]string{"manifests/a": "2", "manifests/b": "1"}},
		{"a whiteout", nil, [][]entry{{file("manifests/a", "1"), file("manifests/b", "1")}, {file("manifests/.wh.a", "")}},
			map[string]string{"manifests/b": "1"}},
		{"a whiteout and a new file, in either order", nil, [][]entry{{file("manifests/a", "1"), file("manifests/b", "1")},
			{file("manifests/.wh.a", ""), file("manifests/a", "2"), file("manifests/b", "2"), file("manifests/.wh.b", "")}},
			map[string]string{"manifests/a": "2", "manifests/b": "2"}},
		{"a whiteout of a directory", nil, [][]entry{{file("manifests/a", "1"), file("metadata/a", "1")}, {file(".wh.manifests", "")}},
			map[string]string{"metadata/a": "1"}},
		{"a whiteout of a directory above", map[string]string{olm.BundleManifests: "deploy/manifests"}, [][]entry{{file("deploy/manifests/a", "1"), file("metadata/a", "1")}, {file(".wh.deploy", "")}},
			map[string]string{"metadata/a": "1"}},
		{"an opaque directory", nil, [][]entry{{file("manifests/a", "1"), file("manifests/b", "1"), file("metadata/a", "1")},
			{file("manifests/b", "2"), file("manifests/.wh..wh..opq", ""), file("manifests/c", "2")}},
			map[string]string{"manifests/b": "2", "manifests/c": "2", "metadata/a": "1"}},
		{"a whiteout that is whited out", nil, [][]entry{{file("manifests/a", "1")}, {file("manifests/.wh.a", "")}, {file("manifests/a", "3")}},
			map[string]string{"manifests/a": "3"}},
		{"a whiteout of nothing there", nil, [][]entry{{file("manifests/a", "1")}, {file("manifests/.wh.b", ""), file("x/.wh.y", "")}},
			map[string]string{"manifests/a": "1"}},
		{"a file becomes a directory", nil, [][]entry{{file("manifests/a", "1")}, {file("manifests/a/b", "2")}},
			map[string]string{"manifests/a/b": "2"}},
		{"a directory becomes a file", nil, [][]entry{{file("manifests/a/b", "1")}, {file("manifests/a", "2")}},
			map[string]string{"manifests/a": "2"}},
		{"a directory above becomes a file", map[string]string{olm.BundleManifests: "deploy/manifests"}, [][]entry{{file("deploy/manifests/a", "1"), file("metadata/a", "1")}, {file("deploy", "")}},
			map[string]string{"metadata/a": "1"}},
		{"a link into a lower layer", nil, [][]entry{{file("manifests/a", "1")}, {hardlink("manifests/b", "manifests/a"), symlink("manifests/c", "a")}, {file("manifests/a", "3")}},
			map[string]string{"manifests/a": "3", "manifests/b": "1", "manifests/c": "3"}},
		{"the sum counts what is left", nil, [][]entry{{file("manifests/a", strings.Repeat("x", 900))}, {file("manifests/a", strings.Repeat("y", 900))}, {file("manifests/a", "3")}},
			map[string]string{"manifests/a": "3"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var layers [][]byte
			for _, entries := range test.layers {
				layers = append(layers, tarOf(t, entries...))
			}
			for _, ref := range savedAs(t, imageOf(t, test.labels, layers...)) {
				s := open(t, ref, Options{Limits: small})
				same(t, ref, contents(t, s.FS), test.want)
			}
		})
	}
}

func TestHostileLayers(t *testing.T) {
	zeros := strings.Repeat("\x00", 1000)
	tests := []struct {
		name   string
		labels map[string]string
		layers [][]entry
		want   string
	}{
		{"a path that climbs out", nil, [][]entry{{file("manifests/../../x", "")}}, `entry "manifests/../../x": has a path that leaves the archive`},
		{"a path that climbs out, elsewhere", nil, [][]entry{{file("usr/../../x", "")}}, `entry "usr/../../x": has a path that leaves the archive`},
		{"an absolute path", nil, [][]entry{{file("/manifests/x", "")}}, `entry "/manifests/x": has an absolute path`},
		{"a backslash", nil, [][]entry{{file(`manifests/a\b`, "")}}, `entry "manifests/a\\b": has a backslash in its name`},
		{"a device", nil, [][]entry{{{name: "manifests/null", kind: '3'}}}, `entry "manifests/null": is a device`},
		{"a file twice in one layer", nil, [][]entry{{file("manifests/a", "1"), file("manifests/a", "2")}}, `entry "manifests/a": occurs twice`},
		{"a link out of the image", nil, [][]entry{{symlink("manifests/a", "../../x")}}, `entry "manifests/a": links to "../../x", which leaves the archive`},
		{"a link out of the bundle", nil, [][]entry{{file("etc/passwd", ""), symlink("manifests/a", "../etc/passwd")}}, `entry "manifests/a": links to "etc/passwd", which does not exist`},
		{"a hard link out of the bundle", nil, [][]entry{{file("etc/passwd", ""), hardlink("manifests/a", "etc/passwd")}}, `entry "manifests/a": links to "etc/passwd", which is not a file before it in the archive`},
		{"manifests is a link", nil, [][]entry{{symlink("manifests", "etc"), file("metadata/x", "")}}, `entry "manifests": links to "etc", which does not exist`},
		{"a whiteout of the parent", nil, [][]entry{{file("manifests/.wh...", "")}}, `entry "manifests/.wh...": is a whiteout of nothing`},
		{"a whiteout without name", nil, [][]entry{{file("manifests/.wh.", "")}}, `entry "manifests/.wh.": is a whiteout of nothing`},
		{"a large file", nil, [][]entry{{file("manifests/a", zeros+"x")}}, `entry "manifests/a": is larger than 1000 bytes`},
		{"many bytes", nil, [][]entry{{file("manifests/a", zeros)}, {file("manifests/b", zeros)}, {file("manifests/c", "x")}},
			`entry "manifests/c": is over the limit of 2000 bytes for all files together`},
		{"many files", nil, [][]entry{many(21, func(i int) entry { return file(fmt.Sprintf("manifests/%d", i), "") })},
			`entry "manifests/19": is over the limit of 20 files and directories`},
		{"many entries beside the bundle", nil, [][]entry{many(120, func(i int) entry { return file(fmt.Sprint(i), "") }), many(160, func(i int) entry { return file(fmt.Sprint(i), "") })},
			`entry "136": is over the limit of 256 entries in an image`},
		{"many bytes beside the bundle", nil, [][]entry{many(400, func(i int) entry { return file(fmt.Sprint(i), zeros) })}, `too large: more than 128000 bytes unpacked`},
		{"no bundle", nil, [][]entry{{file("etc/passwd", "")}}, "not a bundle image: nothing in manifests or metadata\nhint: use the image of the bundle, not the image of the operator"},
		{"no layers", nil, nil, "not a bundle image: nothing in manifests or metadata\nhint: use the image of the bundle, not the image of the operator"},
		{"a label that climbs out", map[string]string{olm.BundleManifests: "../manifests"}, [][]entry{goodBundle},
			`label operators.operatorframework.io.bundle.manifests.v1: directory "../manifests" has a path that leaves the archive`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var layers [][]byte
			for _, entries := range test.layers {
				layers = append(layers, tarOf(t, entries...))
			}
			for _, ref := range savedAs(t, imageOf(t, test.labels, layers...)) {
				limits := small
				if test.name == "many entries beside the bundle" {
					limits = Limits{MaxFiles: 4}
				}
				got := openError(t, ref, Options{Limits: limits})
				_, file, _ := strings.Cut(ref, ":")
				if !strings.HasPrefix(got, file+": ") || !strings.HasSuffix(got, ": "+test.want) {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			}
		})
	}
}

func TestLayerBomb(t *testing.T) {
	inDir(t, nil)
	data, err := io.ReadAll(bomb(t, headerOf(t, "usr/zeros", 10<<30)))
	must(t, err)
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(data, types.OCILayer))
	must(t, err)
	p, err := layout.Write("layout", empty.Index)
	must(t, err)
	must(t, p.AppendImage(img))
	got := openError(t, "oci-layout:layout", Options{Limits: Limits{MaxTotalBytes: 1 << 20}})
	if !strings.HasSuffix(got, ": too large: more than 64 MiB unpacked") {
		t.Error(got)
	}
}

func TestZstdLayer(t *testing.T) {
	inDir(t, nil)
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(zstdOf(t, tarOf(t, goodBundle...)), types.OCILayerZStd))
	must(t, err)
	p, err := layout.Write("layout", empty.Index)
	must(t, err)
	must(t, p.AppendImage(img))
	same(t, "files", contents(t, open(t, "oci-layout:layout", Options{}).FS), goodFiles)
}
