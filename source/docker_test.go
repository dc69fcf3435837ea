package source

import (
	"os"
	"strings"
	"testing"
)

func TestDockerArchive(t *testing.T) {
	img := goodImage(t)
	savedAs(t, img)
	data, err := os.ReadFile("image.tar")
	must(t, err)
	must(t, os.WriteFile("image.tar.gz", gzipOf(t, data), 0o644))
	for _, name := range []string{"image.tar", "image.tar.gz"} {
		s := open(t, "docker-archive:"+name, Options{Offline: true})
		same(t, name, contents(t, s.FS), goodFiles)
		same(t, "labels", s.Labels, bundleLabels)
		same(t, "digest", s.Digest, "")
	}
	same(t, "as tar", openError(t, "image.tar", Options{}), "image.tar: the archive has no bundle\n"+
		"hint: this looks like an image: use docker-archive:FILE for the output of docker save; unpack an OCI layout and use oci-layout:DIR")
	must(t, os.WriteFile("bundle.tar", tarOf(t, goodBundle...), 0o644))
	same(t, "a bundle", openError(t, "docker-archive:bundle.tar", Options{}), "bundle.tar: not an archive of docker save: it has no manifest.json\n"+
		"hint: for the archive of a bundle directory use tar:bundle.tar")
}

func TestDockerArchiveThatIsNotRight(t *testing.T) {
	plain := tarOf(t, goodBundle...)
	good := imageOf(t, nil, plain)
	config, err := good.RawConfigFile()
	must(t, err)
	manifest := func(s string) entry { return file("manifest.json", s) }
	one := manifest(`[{"Config": "config.json", "RepoTags": ["etcd:v1"], "Layers": ["1/layer.tar"]}]`)
	tests := []struct {
		name    string
		entries []entry
		want    string
	}{
		{"old links between layers", []entry{one, file("config.json", string(config)), symlink("1/layer.tar", "../2/layer.tar"), file("2/layer.tar", string(plain))}, ""},
		{"compressed layers", []entry{one, file("config.json", string(config)), file("1/layer.tar", string(gzipOf(t, plain)))}, ""},
		{"compressed layers behind a link", []entry{one, file("config.json", string(config)),
			symlink("1/layer.tar", "../2/layer.tar"), file("2/layer.tar", string(zstdOf(t, plain)))}, ""},
		{"another layer", []entry{one, file("config.json", string(config)), file("1/layer.tar", string(tarOf(t)))}, "layer 1/layer.tar: digest is sha256:"},
		{"a layer cut short", []entry{one, file("config.json", string(config)), file("1/layer.tar", string(plain[:1000]))}, "layer 1/layer.tar: cut short"},
		{"a layer that is missing", []entry{one, file("config.json", string(config))}, `layer 1/layer.tar: no entry "1/layer.tar"`},
		{"a layer outside", []entry{one, file("config.json", string(config)), symlink("1/layer.tar", "../../layer.tar")}, `layer 1/layer.tar: no entry "../layer.tar"`},
		{"links in a circle", []entry{one, file("config.json", string(config)), symlink("1/layer.tar", "layer.tar")}, `layer 1/layer.tar: entry "1/layer.tar" leads through too many links`},
		{"no configuration", []entry{one}, `no entry "config.json"`},
		{"a huge configuration", []entry{one, file("config.json", strings.Repeat(" ", maxImageJSON+1))}, `entry "config.json": is larger than 4 MiB`},
		{"more layers than digests", []entry{manifest(`[{"Config": "config.json", "Layers": ["1", "2"]}]`), file("config.json", string(config)), file("1", ""), file("2", "")}, "2 layers, but the image's configuration has the digests of 1"},
		{"two images", []entry{manifest(`[{"RepoTags": ["etcd:v1"]}, {"RepoTags": ["etcd:v2"]}]`)}, "2 images: etcd:v1, etcd:v2\nhint: save the bundle's image alone"},
		{"no image", []entry{manifest(`[]`)}, "0 images: none"},
		{"no JSON", []entry{manifest(`{`)}, `entry "manifest.json": unexpected EOF`},
		{"an entry twice", []entry{one, one}, `entry "manifest.json": occurs twice`},
		{"a path that climbs out", []entry{one, file("../x", "")}, `entry "../x": has a path that leaves the archive`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inDir(t, nil)
			must(t, os.WriteFile("image.tar", tarOf(t, test.entries...), 0o644))
			if test.want == "" {
				same(t, "files", contents(t, open(t, "docker-archive:image.tar", Options{}).FS), goodFiles)
				return
			}
			if got := openError(t, "docker-archive:image.tar", Options{}); !strings.HasPrefix(got, "image.tar: "+test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
