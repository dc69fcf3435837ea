package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// pack is a command of the scripts: "pack FORM DIR OUT" puts the bundle in DIR into a zip file, an OCI layout, a docker archive, an
// image in the script's registry (OUT is a reference), or a file-based catalog.
func pack(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: pack FORM DIR OUT")
	}
	dir := ts.MkAbs(args[1])
	switch args[0] {
	case "zip":
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		ts.Check(w.AddFS(os.DirFS(dir)))
		ts.Check(w.Close())
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), b.Bytes(), 0o644))
	case "oci-layout":
		p, err := layout.Write(ts.MkAbs(args[2]), empty.Index)
		ts.Check(err)
		ts.Check(p.AppendImage(image(ts, dir)))
	case "docker-archive":
		tag, err := name.NewTag("example.com/bundle:v1")
		ts.Check(err)
		ts.Check(tarball.WriteToFile(ts.MkAbs(args[2]), tag, image(ts, dir)))
	case "registry":
		ref, err := name.ParseReference(args[2], name.Insecure)
		ts.Check(err)
		ts.Check(remote.Write(ref, image(ts, dir)))
	case "catalog-image": // of the catalog in DIR
		ref, err := name.ParseReference(args[2], name.Insecure)
		ts.Check(err)
		ts.Check(remote.Write(ref, catalogImage(ts, dir)))
	case "catalog-layout":
		p, err := layout.Write(ts.MkAbs(args[2]), empty.Index)
		ts.Check(err)
		ts.Check(p.AppendImage(catalogImage(ts, dir)))
	case "catalog":
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), catalog(ts, dir), 0o644))
	default:
		ts.Fatalf("unknown form %s", args[0])
	}
}

// catalogImage has the files of a directory in /configs, as opm generate dockerfile says.
func catalogImage(ts *testscript.TestScript, dir string) v1.Image {
	root := ts.MkAbs("catalog-image-root")
	ts.Check(os.CopyFS(root+"/configs", os.DirFS(dir)))
	defer os.RemoveAll(root)
	img, err := mutate.Config(image(ts, root), v1.Config{Labels: map[string]string{
		"operators.operatorframework.io.index.configs.v1": "/configs"}})
	ts.Check(err)
	return img
}

func image(ts *testscript.TestScript, dir string) v1.Image {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	ts.Check(w.AddFS(os.DirFS(dir)))
	ts.Check(w.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	ts.Check(err)
	img, err := mutate.AppendLayers(empty.Image, layer)
	ts.Check(err)
	return img
}

// catalog has one package, one channel and one bundle, with the bundle's objects inside.
func catalog(ts *testscript.TestScript, dir string) []byte {
	properties := []any{map[string]any{"type": "olm.package", "value": map[string]any{"packageName": "memcached-operator", "version": "0.0.1"}}}
	ts.Check(fs.WalkDir(os.DirFS(dir), "manifests", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(dir + "/" + path)
		if err != nil {
			return err
		}
		object, err := yaml.YAMLToJSON(data)
		properties = append(properties, map[string]any{"type": "olm.bundle.object", "value": map[string]any{"data": base64.StdEncoding.EncodeToString(object)}})
		return err
	}))
	var b strings.Builder
	for _, x := range []any{
		map[string]any{"schema": "olm.package", "name": "memcached-operator", "defaultChannel": "alpha"},
		map[string]any{"schema": "olm.channel", "package": "memcached-operator", "name": "alpha", "entries": []any{map[string]any{"name": "memcached-operator.v0.0.1"}}},
		map[string]any{"schema": "olm.bundle", "package": "memcached-operator", "name": "memcached-operator.v0.0.1", "image": "example.com/bundle:v1", "properties": properties},
	} {
		data, err := json.Marshal(x)
		ts.Check(err)
		b.Write(append(data, '\n'))
	}
	return []byte(b.String())
}
