package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/model"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/client"
	"github.com/operator-framework/operator-registry/pkg/registry"
	"github.com/operator-framework/operator-registry/pkg/server"
)

// served is a catalog behind operator-registry's gRPC server.
type served struct {
	client *client.Client
	stop   func()
}

// errRefused is opm's reason not to serve a catalog.
type errRefused struct{ error }

// serve does what "opm serve" does: it builds and loads its cache of a file-based catalog, and serves that.
func serve(ctx context.Context, dir string) (*served, error) {
	tmp, err := os.MkdirTemp("", "olmgen-e2e-resolver-")
	if err != nil {
		return nil, err
	}
	store, err := cache.New(tmp)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	stop := func() {
		_ = store.Close()
		_ = os.RemoveAll(tmp)
	}
	if err := store.Build(ctx, os.DirFS(dir)); err != nil {
		stop()
		return nil, errRefused{err}
	}
	if err := store.Load(ctx); err != nil {
		stop()
		return nil, err
	}
	return listen(store, stop)
}

// serveUnvalidated serves a catalog that opm refuses, as an older registry would: with opm's own conversion of each
// bundle, but without its checks of the graph.
func serveUnvalidated(ctx context.Context, dir string) (*served, error) {
	config, err := declcfg.LoadFS(ctx, os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	s := &unvalidated{packages: map[string]*registry.PackageManifest{}}
	for _, p := range config.Packages {
		s.packages[p.Name] = &registry.PackageManifest{PackageName: p.Name, DefaultChannelName: p.DefaultChannel,
			Deprecation: deprecated(config, p.Name, declcfg.SchemaPackage, "")}
	}
	for _, ch := range config.Channels {
		p := s.packages[ch.Package]
		if p == nil {
			return nil, fmt.Errorf("%s: channel %s of the unknown package %s", dir, ch.Name, ch.Package)
		}
		p.Channels = append(p.Channels, registry.PackageChannel{Name: ch.Name,
			Deprecation: deprecated(config, ch.Package, declcfg.SchemaChannel, ch.Name)})
		for _, e := range ch.Entries {
			i := slices.IndexFunc(config.Bundles, func(b declcfg.Bundle) bool {
				return b.Package == ch.Package && b.Name == e.Name
			})
			if i < 0 {
				continue
			}
			b, err := api.ConvertModelBundleToAPIBundle(model.Bundle{
				Package: &model.Package{Name: ch.Package}, Channel: &model.Channel{Name: ch.Name}, Name: e.Name,
				Image: config.Bundles[i].Image, Replaces: e.Replaces, Skips: e.Skips, SkipRange: e.SkipRange,
				Properties: config.Bundles[i].Properties,
			})
			if err != nil {
				return nil, err
			}
			if d := deprecated(config, ch.Package, declcfg.SchemaBundle, e.Name); d != nil {
				b.Deprecation = &api.Deprecation{Message: d.Message}
			}
			s.bundles = append(s.bundles, b)
		}
	}
	slices.SortFunc(s.bundles, func(a, b *api.Bundle) int {
		return cmp.Or(cmp.Compare(a.ChannelName, b.ChannelName), cmp.Compare(a.PackageName, b.PackageName),
			cmp.Compare(a.CsvName, b.CsvName))
	})
	return listen(s, func() {})
}

// deprecated returns what a catalog says about one of a package's parts, or nil.
func deprecated(c *declcfg.DeclarativeConfig, pkg, schema, name string) *registry.Deprecation {
	for _, d := range c.Deprecations {
		for _, e := range d.Entries {
			if d.Package == pkg && e.Reference.Schema == schema && e.Reference.Name == name {
				return &registry.Deprecation{Message: e.Message}
			}
		}
	}
	return nil
}

// unvalidated is the part of a registry that OLM's resolver asks.
type unvalidated struct {
	registry.GRPCQuery // nil: OLM's resolver calls the two methods below only
	packages           map[string]*registry.PackageManifest
	bundles            []*api.Bundle
}

func (s *unvalidated) SendBundles(_ context.Context, to registry.BundleSender) error {
	for _, b := range s.bundles {
		if err := to.Send(b); err != nil {
			return err
		}
	}
	return nil
}

func (s *unvalidated) GetPackage(_ context.Context, name string) (*registry.PackageManifest, error) {
	if p := s.packages[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %q not found", name)
}

// listen serves a registry in memory, and connects to it.
func listen(store registry.GRPCQuery, stop func()) (*served, error) {
	const buffer = 1 << 20
	l := bufconn.Listen(buffer)
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, server.NewRegistryServer(store))
	go func() { _ = s.Serve(l) }() // it ends when s stops
	conn, err := grpc.NewClient("passthrough:registry", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		s.Stop()
		stop()
		return nil, err
	}
	return &served{client.NewClientFromConn(conn), func() {
		_ = conn.Close()
		s.Stop()
		stop()
	}}, nil
}
