package catalog

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/registry"
	"github.com/operator-framework/operator-registry/pkg/server"
	"google.golang.org/grpc"
)

// Served is a file-based catalog that opm's code serves.
type Served struct {
	Address string
	stop    func()
}

// Stop ends the server.
func (s *Served) Stop() { s.stop() }

// ServeFBC does what "opm serve" does with a file-based catalog. No node can pull the images of its bundles, so
// contents, by image, are sent in their place.
func ServeFBC(ctx context.Context, dir string, contents map[string]*api.Bundle) (*Served, error) {
	tmp, err := os.MkdirTemp("", "olmgen-e2e-opm-")
	if err != nil {
		return nil, err
	}
	store, err := cache.New(tmp)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	remove := func() { _ = errors.Join(store.Close(), os.RemoveAll(tmp)) }
	if err = store.Build(ctx, os.DirFS(dir)); err == nil {
		err = store.Load(ctx)
	}
	var l net.Listener
	if err == nil {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		remove()
		return nil, err
	}
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, server.NewRegistryServer(pulled{store, contents}))
	go func() { _ = s.Serve(l) }() // until Stop
	return &Served{Address: l.Addr().String(), stop: func() {
		s.Stop()
		remove()
	}}, nil
}

// pulled is a catalog whose bundles have been pulled and unpacked.
type pulled struct {
	registry.GRPCQuery
	contents map[string]*api.Bundle
}

func (p pulled) unpack(b *api.Bundle) *api.Bundle {
	if content := p.contents[b.BundlePath]; content != nil {
		b.BundlePath, b.CsvJson, b.Object = "", content.CsvJson, content.Object
	}
	return b
}

type sender struct {
	registry.BundleSender
	unpack func(*api.Bundle) *api.Bundle
}

func (s sender) Send(b *api.Bundle) error { return s.BundleSender.Send(s.unpack(b)) }

func (p pulled) SendBundles(ctx context.Context, to registry.BundleSender) error {
	return p.GRPCQuery.SendBundles(ctx, sender{to, p.unpack})
}

func (p pulled) GetBundle(ctx context.Context, pkg, channel, csv string) (*api.Bundle, error) {
	b, err := p.GRPCQuery.GetBundle(ctx, pkg, channel, csv)
	if err != nil {
		return nil, err
	}
	return p.unpack(b), nil
}
