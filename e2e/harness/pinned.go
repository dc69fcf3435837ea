package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/olmgen/olmgen/cmd/e2e/harness/live"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// pinned has a real OLM take operators from a pinned catalog.
func (o options) pinned(ctx context.Context, _ material) error {
	all, err := o.scripts("pinned")
	if err != nil {
		return err
	}
	return o.play(ctx, "pinned", all, func() any { return map[string]*catalog.Served{} })
}

// serve is the step "serve NAME DIRECTORY": opm's code serves a file-based catalog for the CatalogSource of that name,
// which is made if it is not there. The bundles below "bundles" are sent in the place of the images
// registry.test/PACKAGE:VERSION.
func serve(s *session, args []string) error {
	dirs, err := filepath.Glob(s.MkAbs("bundles/*"))
	if err != nil {
		return err
	}
	contents := map[string]declcfg.Bundle{}
	for _, dir := range dirs {
		b, err := catalog.Read(dir)
		if err != nil {
			return err
		}
		properties, err := property.Parse(b.Properties)
		if err != nil {
			return err
		}
		contents["registry.test/"+b.Package+":"+properties.Packages[0].Version] = b
	}
	content, err := declcfg.LoadFS(s.ctx, os.DirFS(s.MkAbs(args[1])))
	if err != nil {
		return err
	}
	for i, b := range content.Bundles {
		if unpacked, ok := contents[b.Image]; ok {
			content.Bundles[i].Image, content.Bundles[i].Properties = "", append(b.Properties, lists.Filter(
				unpacked.Properties, func(p property.Property) bool { return p.Type == property.TypeBundleObject })...)
		}
	}
	served, err := live.Serve(s.ctx, content)
	if err != nil {
		return err
	}
	all, _ := s.state.(map[string]*catalog.Served)
	if before := all[args[0]]; before != nil {
		before.Stop()
	}
	all[args[0]] = served
	s.Defer(served.Stop)
	source := fmt.Sprintf("{apiVersion: %q, kind: CatalogSource, metadata: {name: %q, namespace: olm}, spec: "+
		"{sourceType: grpc, address: %q}}", v1alpha1.SchemeGroupVersion, args[0], served.Address)
	file := s.MkAbs(args[0] + ".yaml")
	if err := os.WriteFile(file, []byte("---\n"+source), 0o600); err != nil {
		return err
	}
	return s.Exec("kubectl", "apply", "--as", "serves-catalogs", "--as-group", "system:masters", "-f", file)
}
