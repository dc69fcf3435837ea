package catalog

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Registry serves images on loopback, without TLS.
type Registry struct {
	Address string
	server  *http.Server
}

// NewRegistry starts an empty registry.
func NewRegistry() (*Registry, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0)
	r := &Registry{Address: l.Addr().String(),
		server: &http.Server{Handler: registry.New(registry.Logger(quiet)), ErrorLog: quiet}} //nolint:gosec // our own
	go func() { _ = r.server.Serve(l) }() // until Stop
	return r, nil
}

// Stop ends the server.
func (r *Registry) Stop() { r.server.Close() }

// PushBundle pushes the image of a bundle's directory and returns its reference, with the digest.
func (r *Registry) PushBundle(repository, dir string) (string, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[file], err = os.ReadFile(path.Join(dir, file))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return r.push(repository, files, nil)
}

// PushCatalog pushes the image of a file-based catalog, and returns its reference.
func (r *Registry) PushCatalog(repository string, catalog []byte) (string, error) {
	return r.push(repository, map[string][]byte{"configs/catalog.json": catalog},
		map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"})
}

func (r *Registry) push(repository string, files map[string][]byte, labels map[string]string) (string, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, file := range slices.Sorted(maps.Keys(files)) { // or the digest would be another one each time
		data := files[file]
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return "", err
		}
		if _, err := w.Write(data); err != nil {
			return "", err
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	})
	if err != nil {
		return "", err
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err == nil {
		image, err = mutate.Config(image, v1.Config{Labels: labels})
	}
	if err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	reference := fmt.Sprintf("%s/%s@%s", r.Address, repository, digest)
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return "", err
	}
	return reference, remote.Write(ref, image)
}
