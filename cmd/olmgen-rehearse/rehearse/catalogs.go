package rehearse

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
)

// nobody is an address that nobody answers at.
const nobody = "127.0.0.1:1"

// serve serves the content of each CatalogSource, and has its object name the address. One whose content is not known
// has none, so that the others can be resolved. Nobody answers for one that nobody answered for in the dump, or that
// opm refuses.
func (p *Player) serve(ctx context.Context, s *State, objects []*unstructured.Unstructured) error {
	report, err := s.Check(ctx, nil, nil)
	if err != nil {
		return err
	}
	for _, source := range s.sources() {
		key := source.Namespace + "/" + source.Name
		from := s.find(v1alpha1.CatalogSourceKind, source.Namespace, source.Name)
		given := s.given(source.Namespace, source.Name)
		switch {
		case p.address[key] != "":
		case given == nil && from != nil && broken(from), given != nil && given.Refusal() != nil:
			p.address[key] = nobody
		default:
			dir := filepath.Join(p.dir, fmt.Sprintf("catalog-%d", len(p.address)+1))
			if err := s.write(ctx, dir, given, report); err != nil {
				return fmt.Errorf("catalog %s: %w", key, err)
			}
			served, err := catalog.ServeFBC(ctx, dir)
			if err != nil {
				return fmt.Errorf("catalog %s: %w", key, err)
			}
			p.served, p.address[key], s.request.written[key] = append(p.served, served), served.Address, dir
		}
		for _, o := range objects {
			if o.GetKind() == v1alpha1.CatalogSourceKind && o.GetNamespace()+"/"+o.GetName() == key {
				o.Object["spec"] = p.spec(source)
				delete(o.Object, "status")
			}
		}
	}
	return nil
}

// spec returns that of a CatalogSource that is served.
func (p *Player) spec(source resolve.Source) map[string]any {
	return map[string]any{"sourceType": "grpc", "address": p.address[source.Namespace+"/"+source.Name],
		"priority": int64(source.Priority)}
}

// write writes a catalog as a file that opm reads. Bundles of the packages that the state asks for have their objects,
// if they are in the catalog, or if OLM is predicted to install them and their image can be read. OLM tries to unpack
// the others, which the report says.
func (s *State) write(ctx context.Context, dir string, c *fbc.Catalog, report *predict.Report) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || c == nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "catalog.json"))
	if err != nil {
		return err
	}
	defer f.Close()
	names := review.Wanted(s.before, s.applied)
	wanted, predicted := lists.Set(names, text.OneLine), map[string]bool{}
	updates := lists.Map(report.Updates, func(u predict.Update) predict.Install { return u.Install })
	for _, i := range append(updates, report.Installs...) {
		if i.Choice.Package != nil {
			wanted[i.Choice.Package.Name], predicted[i.Name] = true, true
		}
	}
	out := json.NewEncoder(f)
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
			if wanted[name] || len(names) == 0 {
				objects, failed := s.objects(ctx, fbc.Choice{Package: pkg, Bundle: b}, predicted[b.Name])
				if failed != nil && predicted[b.Name] {
					s.unknown = append(s.unknown, text.OneLine(failed.Error()))
				}
				properties = append(properties, objects...)
				if len(objects) > 0 {
					image = "" // or OLM would unpack it
				}
			}
			say(olm.SchemaBundle, name, map[string]any{"name": b.Name, "image": image, "properties": properties})
		}
		if pkg.Deprecations != nil {
			entries := lists.Map(pkg.Deprecations, func(d fbc.Deprecation) any {
				reference := map[string]any{"schema": d.Schema}
				if d.Name != "" {
					reference["name"] = d.Name
				}
				return map[string]any{"reference": reference, "message": d.Message}
			})
			say(olm.SchemaDeprecations, name, map[string]any{"entries": entries})
		}
	}
	return err
}

// objects returns those of a bundle as properties.
func (s *State) objects(ctx context.Context, choice fbc.Choice, fetch bool) (list []any, err error) {
	o := s.request.Source
	o.Offline = o.Offline || !fetch
	files, err := choice.Files(ctx, fbc.Options{Source: o})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files.FS); err != nil {
		return nil, err
	}
	b, err := catalog.Read(dir)
	for _, x := range b.Properties {
		if x.Type == property.TypeBundleObject {
			list = append(list, x)
		}
	}
	return list, err
}
