package rehearse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
)

// nobody is an address that nobody answers at.
const nobody = "127.0.0.1:1"

// serve serves the content of each CatalogSource and ClusterCatalog, and returns the objects that name what is served,
// with the ClusterCatalogs that nothing among them declares. A CatalogSource whose content is not known has none, so
// that the others can be resolved. Nobody answers for one that nobody answered for in the dump, or that opm refuses.
func (p *Player) serve(ctx context.Context, s *State,
	objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	report, err := s.Check(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, source := range s.sources() {
		key := source.Namespace + "/" + source.Name
		from := s.find(v1alpha1.CatalogSourceKind, source.Namespace, source.Name)
		given := s.given(source.Namespace, source.Name)
		if given == nil && from != nil && broken(from) || given != nil && given.Refusal() != nil {
			p.address[key] = nobody
		} else if err := p.offer(ctx, s, key, given, report); err != nil {
			return nil, fmt.Errorf("catalog %s: %w", key, err)
		}
		for _, o := range objects {
			if o.GetKind() == v1alpha1.CatalogSourceKind && o.GetNamespace()+"/"+o.GetName() == key {
				o.Object["spec"] = p.spec(source)
				delete(o.Object, "status")
			}
		}
	}
	if p.registry == nil {
		return objects, nil
	}
	return p.serveOLMv1(ctx, s, objects, report)
}

// offer serves a catalog, if it is not served as it is.
func (p *Player) offer(ctx context.Context, s *State, key string, c *fbc.Catalog, report *predict.Report) error {
	dir, data, err := p.write(ctx, s, key, c, report, false)
	if was := p.content[key]; err != nil || p.address[key] != "" && bytes.Equal(was, data) {
		return err
	}
	served, err := catalog.ServeFBC(ctx, dir)
	if err != nil {
		return err
	}
	p.served, p.address[key], p.content[key] = append(p.served, served), served.Address, data
	return nil
}

// serveOLMv1 pushes the content of each ClusterCatalog to the registry.
func (p *Player) serveOLMv1(ctx context.Context, s *State, objects []*unstructured.Unstructured,
	report *predict.Report) ([]*unstructured.Unstructured, error) {
	isCatalog := func(o *unstructured.Unstructured) bool {
		return o.GetKind() == olm.KindClusterCatalog && o.GroupVersionKind().Group == olm.GroupV1
	}
	declared := map[string]bool{}
	for _, o := range objects {
		declared[o.GetName()] = declared[o.GetName()] || isCatalog(o)
	}
	for _, c := range s.catalogs.ClusterCatalogs {
		if !declared[c.Name] {
			spec := map[string]any{"priority": int64(c.Priority)}
			o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			o.SetAPIVersion(olm.GroupV1 + "/v1")
			o.SetKind(olm.KindClusterCatalog)
			o.SetName(c.Name)
			objects = append(objects, o)
		}
	}
	for _, o := range objects {
		if !isCatalog(o) {
			continue
		}
		_, data, err := p.write(ctx, s, o.GetName(), s.clusterContent(o.GetName()), report, true)
		if err != nil {
			return nil, err
		}
		image, err := p.registry.PushCatalog("catalog", data)
		if err != nil {
			return nil, err
		}
		delete(o.Object, "status")
		if err := unstructured.SetNestedMap(o.Object, map[string]any{"type": "Image",
			"image": map[string]any{"ref": image}}, "spec", "source"); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// spec returns that of a CatalogSource that is served.
func (p *Player) spec(source resolve.Source) map[string]any {
	return map[string]any{"sourceType": "grpc", "address": p.address[source.Namespace+"/"+source.Name],
		"priority": int64(source.Priority)}
}

// write writes a catalog as a file that opm reads, into a directory of its own.
func (p *Player) write(ctx context.Context, s *State, key string, c *fbc.Catalog, report *predict.Report,
	v1 bool) (dir string, data []byte, err error) {
	if dir, err = os.MkdirTemp(p.dir, "catalog-"); err != nil || c == nil {
		return dir, nil, err
	}
	s.request.written[key] = dir
	names := review.Wanted(s.before, s.applied)
	wanted, predicted := lists.Set(names, strings.Clone), map[string]bool{}
	updates := lists.Map(report.Updates, func(u predict.Update) predict.Install { return u.Install })
	for _, i := range append(updates, report.Installs...) {
		if i.Choice.Package != nil {
			wanted[i.Choice.Package.Name], predicted[i.Name] = true, true
		}
	}
	for _, e := range report.Extensions {
		predicted[e.Bundle] = true
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	say := func(schema, pkg string, fields map[string]any) {
		if fields["schema"] = schema; pkg != "" {
			fields["package"] = pkg
		}
		if err == nil {
			err = out.Encode(fields)
		}
	}
	for _, name := range c.Names() {
		pkg := c.Packages[name]
		if pkg.Declared {
			say(olm.SchemaPackage, "", map[string]any{"name": name, "defaultChannel": pkg.DefaultChannel})
		}
		for _, channel := range pkg.Channels {
			say(olm.SchemaChannel, name, map[string]any{"name": channel.Name, "entries": channel.Entries})
		}
		for _, b := range pkg.Bundles {
			image, properties := b.Image, lists.Map(b.Properties, func(x fbc.Property) any { return x })
			if v1 {
				image = p.registry.Address + "/not-at-hand:" + b.Name // no other registry is asked
			}
			if wanted[name] || len(names) == 0 {
				choice := fbc.Choice{Package: pkg, Bundle: b}
				at, objects, failed := p.place(ctx, s, choice, v1, predicted[b.Name])
				if failed == nil {
					image, properties = at, append(properties, objects...)
				} else if predicted[b.Name] {
					s.unknown = append(s.unknown, failed.Error())
				}
			}
			say(olm.SchemaBundle, name, map[string]any{"name": b.Name, "image": image, "properties": properties})
		}
		if pkg.Deprecations != nil {
			say(olm.SchemaDeprecations, name, map[string]any{"entries": lists.Map(pkg.Deprecations, deprecation)})
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "catalog.json"), text.Bytes(), 0o600)
	}
	return dir, text.Bytes(), err
}

func deprecation(d fbc.Deprecation) any {
	reference := map[string]any{"schema": d.Schema}
	if d.Name != "" {
		reference["name"] = d.Name
	}
	return map[string]any{"reference": reference, "message": d.Message}
}

// place puts the objects of a bundle where OLM finds them: for OLM v1 into an image, else into its properties, and then
// it has no image, which OLM would unpack. fetch says whether the image of a bundle that the catalog only names is
// fetched.
func (p *Player) place(ctx context.Context, s *State, choice fbc.Choice, v1, fetch bool) (image string, objects []any,
	err error) {
	o := s.request.Source
	o.Offline = o.Offline || !fetch
	files, err := choice.Files(ctx, fbc.Options{Source: o})
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(p.dir, "bundle-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files.FS); err != nil {
		return "", nil, err
	}
	if v1 {
		image, err = p.registry.PushBundle(choice.Package.Name, dir)
		return image, nil, err
	}
	b, err := catalog.Read(dir)
	for _, x := range b.Properties {
		if x.Type == property.TypeBundleObject {
			objects = append(objects, x)
		}
	}
	return "", objects, err
}
