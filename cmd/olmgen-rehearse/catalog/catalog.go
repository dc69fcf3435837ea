// Package catalog serves catalogs of operator bundles on loopback, with the code of opm and operator-registry. Bundles
// have their objects in the catalog, so that no image has to be unpacked.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/registry"
	"github.com/operator-framework/operator-registry/pkg/server"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
)

// Read reads a bundle directory and returns what a catalog says of it. Its objects are among the properties.
func Read(dir string) (b declcfg.Bundle, err error) {
	logrus.SetOutput(io.Discard) // what it says of every file is no news
	in, err := registry.NewImageInput(image.SimpleReference(""), dir)
	if err != nil {
		return b, fmt.Errorf("%s: %w", dir, err)
	}
	b = declcfg.Bundle{Schema: declcfg.SchemaBundle, Name: in.Bundle.Name, Package: in.Bundle.Package}
	if _, b.Properties, err = registry.ObjectsAndPropertiesFromBundle(in.Bundle); err != nil {
		err = fmt.Errorf("%s: %w", dir, err)
	}
	return b, err
}

// Served is a catalog that is served.
type Served struct {
	Address string

	server *grpc.Server
	cache  cache.Cache
	dir    string
}

// Stop ends the server.
func (s *Served) Stop() {
	s.server.Stop()
	_ = errors.Join(s.cache.Close(), os.RemoveAll(s.dir)) // nobody asks for it any more
}

// ServeFBC does what "opm serve" does with the file-based catalog in a directory.
func ServeFBC(ctx context.Context, dir string) (_ *Served, err error) {
	s := &Served{server: grpc.NewServer()}
	if s.dir, err = os.MkdirTemp("", "olmgen-e2e-opm-"); err != nil {
		return nil, err
	}
	if s.cache, err = cache.New(s.dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err = s.cache.Build(ctx, os.DirFS(dir)); err == nil {
		err = s.cache.Load(ctx)
	}
	var l net.Listener
	if err == nil {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	s.Address = l.Addr().String()
	api.RegisterRegistryServer(s.server, server.NewRegistryServer(s.cache))
	go func() { _ = s.server.Serve(l) }() // until Stop
	return s, nil
}
