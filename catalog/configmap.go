package catalog

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// The keys of a ConfigMap that is a catalog (operator-registry: pkg/sqlite/configmap.go).
const (
	configMapCRDs     = "customResourceDefinitions"
	configMapCSVs     = "clusterServiceVersions"
	configMapPackages = "packages"
)

// ReadConfigMap reads the catalog that a CatalogSource with sourceType configmap or internal names: a ConfigMap with
// packages, ClusterServiceVersions and CustomResourceDefinitions, which are those of legacy packages
// (operator-registry: pkg/sqlite/configmap.go).
func ReadConfigMap(o *manifest.Object) (*Catalog, error) {
	r := &legacyReader{dir: o.File, options: Options{}.orDefault()}
	crds, err := r.listed(o, configMapCRDs)
	if err != nil {
		return nil, err
	}
	csvs, err := r.listed(o, configMapCSVs)
	if err != nil {
		return nil, err
	}
	versions, err := r.flatVersions(csvs, crds)
	if err != nil {
		return nil, o.Errorf("data."+configMapCSVs, "%v", err)
	}
	packages, err := r.listed(o, configMapPackages)
	if err != nil {
		return nil, err
	}
	c := &Catalog{Packages: map[string]*Package{}}
	for _, f := range packages {
		p := &legacyPackage{dir: o.File, versions: versions}
		if err := p.decode(f.docs[0]); err != nil {
			return nil, o.Errorf("data."+configMapPackages, "%v", err)
		}
		if err := c.addConfigMap(o, p); err != nil {
			return nil, o.Errorf("data", "%v", err)
		}
	}
	return c, nil
}

// listed returns the items of a list in a ConfigMap as files.
func (r *legacyReader) listed(o *manifest.Object, key string) ([]*legacyFile, error) {
	field := "data." + key
	value, err := o.Get("data", key)
	if err != nil {
		return nil, err
	}
	text, ok := value.(string)
	if !ok {
		return nil, o.Errorf("data", "couldn't find expected key %s in configmap", key)
	}
	docs, err := manifest.ReadFile(o.File, []byte(text), manifest.Limits{})
	if err != nil {
		if inner, ok := errors.AsType[*manifest.Error](err); ok { // its line is one of the text
			return nil, o.Errorf(field, "line %d: %s", inner.Line, inner.Msg)
		}
		return nil, o.Errorf(field, "%v", err)
	}
	var files []*legacyFile
	for _, d := range docs {
		value, err := d.Value()
		if err != nil {
			return nil, o.Errorf(field, "%v", err)
		}
		items, ok := value.([]any)
		if !ok && value != nil {
			return nil, o.Errorf(field, "is not a list")
		}
		for _, item := range items {
			data, err := json.Marshal(item)
			if err != nil {
				return nil, o.Errorf(field, "%v", err)
			}
			f := &legacyFile{name: fmt.Sprintf("%s-%d.json", key, len(files)), data: data}
			if err := r.parse(f, o.File); err != nil {
				return nil, o.Errorf(field, "%v", err)
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// addConfigMap adds the versions of a package that its channels reach.
func (c *Catalog) addConfigMap(o *manifest.Object, p *legacyPackage) error {
	all := p.versions
	p.versions = make([]*legacyVersion, len(all))
	for i, v := range all {
		own := *v
		own.channels = nil
		p.versions[i] = &own
	}
	silent := func(string, ...any) {}
	if err := p.check(silent); err != nil {
		return err
	}
	p.fillChannels(silent)
	for _, v := range p.versions {
		if len(v.channels) == 0 {
			continue
		}
		files, err := p.bundle(v)
		if err != nil {
			return err
		}
		open := func() (*source.Source, error) {
			return source.OpenBytes(v.csv.Metadata.Name, source.KindPackageManifest, files, source.Limits{})
		}
		b, err := readBundle(o.File, open)
		if err != nil {
			return err
		}
		c.add(listed(b, Place{File: o.File, Line: o.LineOf("data." + configMapCSVs)}, &origin{dir: o.File, open: open}))
	}
	return nil
}
