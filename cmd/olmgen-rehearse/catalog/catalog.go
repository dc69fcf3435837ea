// Package catalog is a catalog of operator bundles that lie in directories: operator-registry's gRPC API, on loopback.
// It reads them with operator-registry's own code and sends their objects inline, so that no image has to be unpacked.
package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/registry"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Channel is the one channel of every package.
const Channel = "stable"

// Catalog serves bundles. Of several bundles of a package, each replaces the one before it.
type Catalog struct {
	api.UnimplementedRegistryServer
	Address string

	bundles []*api.Bundle
	server  *grpc.Server
}

// Serve starts a catalog of the bundles in the directories.
func Serve(dirs ...string) (*Catalog, error) {
	c := &Catalog{server: grpc.NewServer()}
	for _, dir := range dirs {
		b, err := Read(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if older := c.head(b.PackageName); older != nil {
			b.Replaces = older.CsvName
		}
		c.bundles = append(c.bundles, b)
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.Address = l.Addr().String()
	api.RegisterRegistryServer(c.server, c)
	go func() { _ = c.server.Serve(l) }() // until Stop
	return c, nil
}

// Stop ends the server.
func (c *Catalog) Stop() { c.server.Stop() }

// Read reads a bundle directory and returns what a catalog sends for it.
func Read(dir string) (*api.Bundle, error) {
	logrus.SetOutput(io.Discard) // what it says of every file is no news
	in, err := registry.NewImageInput(image.SimpleReference(""), dir)
	if err != nil {
		return nil, err
	}
	objects, properties, err := registry.ObjectsAndPropertiesFromBundle(in.Bundle)
	if err != nil {
		return nil, err
	}
	b := &api.Bundle{CsvName: in.Bundle.Name, PackageName: in.Bundle.Package, ChannelName: Channel, Object: objects}
	if b.Version, err = in.Bundle.Version(); err != nil {
		return nil, err
	}
	for _, o := range in.Bundle.Objects {
		if o.GetKind() == "ClusterServiceVersion" {
			csv, err := json.Marshal(o)
			if err != nil {
				return nil, err
			}
			b.CsvJson = string(csv)
		}
	}
	return b, addProperties(b, properties)
}

func addProperties(b *api.Bundle, properties []property.Property) error {
	for _, p := range properties {
		gvk := &api.GroupVersionKind{}
		switch p.Type {
		case property.TypeBundleObject:
			continue // the objects are sent as such
		case property.TypeGVK, property.TypeGVKRequired:
			if err := json.Unmarshal(p.Value, gvk); err != nil {
				return err
			}
		}
		b.Properties = append(b.Properties, &api.Property{Type: p.Type, Value: string(p.Value)})
		switch p.Type {
		case property.TypeGVK:
			b.ProvidedApis = append(b.ProvidedApis, gvk)
		case property.TypeGVKRequired:
			b.RequiredApis = append(b.RequiredApis, gvk)
			b.Dependencies = append(b.Dependencies, &api.Dependency{Type: property.TypeGVK, Value: string(p.Value)})
		case property.TypePackageRequired:
			b.Dependencies = append(b.Dependencies, &api.Dependency{Type: property.TypePackage, Value: string(p.Value)})
		}
	}
	return nil
}

// head returns the newest bundle of a package.
func (c *Catalog) head(name string) *api.Bundle {
	for _, b := range slices.Backward(c.bundles) {
		if b.PackageName == name {
			return b
		}
	}
	return nil
}

// ListPackages is a part of the gRPC API.
func (c *Catalog) ListPackages(_ *api.ListPackageRequest, s api.Registry_ListPackagesServer) error {
	for _, b := range c.bundles {
		if b != c.head(b.PackageName) {
			continue
		}
		if err := s.Send(&api.PackageName{Name: b.PackageName}); err != nil {
			return err
		}
	}
	return nil
}

// ListBundles is a part of the gRPC API.
func (c *Catalog) ListBundles(_ *api.ListBundlesRequest, s api.Registry_ListBundlesServer) error {
	for _, b := range c.bundles {
		if err := s.Send(b); err != nil {
			return err
		}
	}
	return nil
}

// GetPackage is a part of the gRPC API.
func (c *Catalog) GetPackage(_ context.Context, r *api.GetPackageRequest) (*api.Package, error) {
	if b := c.head(r.Name); b != nil {
		return &api.Package{Name: b.PackageName, DefaultChannelName: Channel,
			Channels: []*api.Channel{{Name: Channel, CsvName: b.CsvName}}}, nil
	}
	return nil, status.Error(codes.NotFound, r.Name)
}

// GetBundle is a part of the gRPC API.
func (c *Catalog) GetBundle(_ context.Context, r *api.GetBundleRequest) (*api.Bundle, error) {
	for _, b := range c.bundles {
		if b.PackageName == r.PkgName && b.CsvName == r.CsvName {
			return b, nil
		}
	}
	return nil, status.Error(codes.NotFound, r.CsvName)
}
