package catalog

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// legacyPackage is a package in the package manifest format.
type legacyPackage struct {
	dir            string // as given by the user, for errors
	name           string
	channels       []legacyChannel
	defaultChannel string
	versions       []*legacyVersion // from the lowest to the highest
}

type legacyChannel struct {
	Name       string `json:"name"`
	CurrentCSV string `json:"currentCSV"`
}

// legacyVersion is one version: a CSV and the files beside it.
type legacyVersion struct {
	dir      string // relative to the package's
	csv      csv
	files    map[string][]byte // by name
	crds     []crd             // in the files
	channels []string          // in the order of the package

	incomplete bool // the package lacks a CRD that it owns, or what it replaces
}

// csv has the fields of a ClusterServiceVersion that choosing and checking need.
type csv struct {
	Metadata named `json:"metadata"`
	Spec     struct {
		Version  string   `json:"version"`
		Replaces string   `json:"replaces"`
		Skips    []string `json:"skips"`
		CRDs     struct {
			Owned []struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"owned"`
		} `json:"customresourcedefinitions"`
	} `json:"spec"`
}

// crd has those fields of a CustomResourceDefinition, of v1 or v1beta1.
type crd struct {
	Metadata named `json:"metadata"`
	Spec     struct {
		Version  string  `json:"version"`
		Versions []named `json:"versions"`
	} `json:"spec"`
}

type named struct {
	Name string `json:"name"`
}

func (c crd) has(name, version string) bool {
	return c.Metadata.Name == name && (c.Spec.Version == version || slices.Contains(c.Spec.Versions, named{version}))
}

// readPackage reads and checks a whole package.
func readPackage(ctx context.Context, dir string, o Options) (*legacyPackage, error) {
	r := &legacyReader{ctx: ctx, dir: dir, options: o, byDir: map[string][]*legacyFile{}}
	files, err := source.Open(ctx, source.KindPackageManifest+":"+dir, o.Source)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	if err := r.readFiles(files.FS); err != nil {
		return nil, err
	}
	p, err := r.manifest()
	if err != nil {
		return nil, err
	}
	if p.versions, err = r.versions(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.versions, func(a, b *legacyVersion) int {
		return source.CompareVersions(a.csv.Spec.Version, b.csv.Spec.Version)
	})
	if err := p.check(o.Source.Warn); err != nil {
		return nil, err
	}
	p.fillChannels(o.Source.Warn)
	return p, nil
}

// check applies the rules for packages in the Operator Registry (OpenShift 4.5 documentation, "Packaging formats",
// 1.3.1):
//
//   - a package has at least one channel: error
//   - the CSV that a channel points to exists: error
//   - a version has exactly one CSV: error, see versions
//   - a CRD that a CSV owns is in the directory of its version: warning
//   - a CSV that another one replaces exists: warning
//
// Published packages break the last two rules: old versions are removed, and another package may bring a CRD. Neither
// changes the files of the chosen version.
func (p *legacyPackage) check(warn func(string, ...any)) error {
	if len(p.channels) == 0 {
		return fmt.Errorf("%s: package %s has no channel", p.dir, quote(p.name))
	}
	byName := map[string]*legacyVersion{}
	for _, v := range p.versions {
		if other := byName[v.csv.Metadata.Name]; other != nil {
			return fmt.Errorf("%s: ClusterServiceVersion %s is in %s and in %s",
				p.dir, quote(v.csv.Metadata.Name), other.dir, v.dir)
		}
		byName[v.csv.Metadata.Name] = v
	}
	if err := p.checkChannels(byName); err != nil {
		return err
	}
	for _, v := range p.versions {
		at, name := path.Join(p.dir, v.dir), quote(v.csv.Metadata.Name)
		for _, owned := range v.csv.Spec.CRDs.Owned {
			if !slices.ContainsFunc(v.crds, func(c crd) bool { return c.has(owned.Name, owned.Version) }) {
				warn("%s: %s owns %s %s, which is not in the directory", at, name, owned.Name, owned.Version)
				v.incomplete = true
			}
		}
		if old := v.csv.Spec.Replaces; old != "" && byName[old] == nil {
			warn("%s: %s replaces %s, which is not in the package", at, name, quote(old))
			v.incomplete = true
		}
	}
	return nil
}

func (p *legacyPackage) checkChannels(byName map[string]*legacyVersion) error {
	seen := map[string]bool{}
	for _, c := range p.channels {
		switch {
		case c.Name == "":
			return fmt.Errorf("%s: package %s has a channel without a name", p.dir, quote(p.name))
		case seen[c.Name]:
			return fmt.Errorf("%s: package %s has the channel %s twice", p.dir, quote(p.name), quote(c.Name))
		case byName[c.CurrentCSV] == nil:
			return fmt.Errorf("%s: channel %s points to the ClusterServiceVersion %s, which is not in the package",
				p.dir, quote(c.Name), quote(c.CurrentCSV))
		}
		seen[c.Name] = true
	}
	if p.defaultChannel != "" && !seen[p.defaultChannel] {
		return fmt.Errorf("%s: the default channel %s is not one of the package's channels",
			p.dir, quote(p.defaultChannel))
	}
	return nil
}

// fillChannels follows each channel from its current CSV down replaces and skips (spec 12.3).
func (p *legacyPackage) fillChannels(warn func(string, ...any)) {
	byName := lists.By(p.versions, func(v *legacyVersion) string { return v.csv.Metadata.Name })
	for _, c := range p.channels {
		seen := map[string]bool{}
		for queue := []string{c.CurrentCSV}; len(queue) > 0; queue = queue[1:] {
			v := byName[queue[0]]
			if v == nil || seen[queue[0]] {
				continue
			}
			seen[queue[0]] = true
			v.channels = append(v.channels, c.Name)
			queue = append(append(queue, v.csv.Spec.Replaces), v.csv.Spec.Skips...)
		}
	}
	for _, v := range p.versions {
		if len(v.channels) == 0 {
			warn("%s: %s is in no channel", path.Join(p.dir, v.dir), quote(v.csv.Metadata.Name))
		}
	}
}

// choose finds a version by its version, the name of its CSV or its directory. Without one it returns the current
// version of the channel or of the default channel.
func (p *legacyPackage) choose(channel, version string) (*legacyVersion, error) {
	if channel == "" && version == "" {
		channel = p.defaultChannel
	}
	i := slices.IndexFunc(p.channels, func(c legacyChannel) bool { return c.Name == channel })
	switch {
	case i < 0 && channel != "":
		return nil, unknown(channel, p.channelNames(), "package %s has no channel", quote(p.name))
	case i < 0 && version == "":
		err := fmt.Errorf("package %s has no default channel", quote(p.name))
		return nil, hint(err, "choose a channel: %s", text.Names(p.channelNames()))
	case version == "":
		version = p.channels[i].CurrentCSV
	}
	var all []string
	for _, v := range p.versions {
		if channel != "" && !slices.Contains(v.channels, channel) {
			continue
		}
		if v.isNamed(version) {
			return v, nil
		}
		all = append(all, v.version())
	}
	return nil, unknown(version, all, "package %s has no version", quote(p.name))
}

// isNamed reports whether name is the version, its CSV or its directory.
func (v *legacyVersion) isNamed(name string) bool {
	version := v.csv.Spec.Version
	return name == v.csv.Metadata.Name ||
		version != "" && strings.TrimPrefix(name, "v") == version ||
		v.dir != "." && name == v.dir
}

func (p *legacyPackage) channelNames() []string {
	return lists.Map(p.channels, func(c legacyChannel) string { return c.Name })
}

// version returns the name of the version in paths and messages.
func (v *legacyVersion) version() string {
	if v.csv.Spec.Version != "" {
		return v.csv.Spec.Version
	}
	return v.csv.Metadata.Name
}

// bundle returns the files of a version as a bundle has them.
func (p *legacyPackage) bundle(v *legacyVersion) (map[string][]byte, error) {
	annotations, err := annotationsYAML(p.name, v.channels, p.defaultChannel)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"metadata/annotations.yaml": annotations}
	for name, data := range v.files {
		files["manifests/"+name] = data
	}
	return files, nil
}

// decode reads a package manifest.
func (p *legacyPackage) decode(data []byte) error {
	var m struct {
		PackageName    string          `json:"packageName"`
		DefaultChannel string          `json:"defaultChannel"`
		Channels       []legacyChannel `json:"channels"`
	}
	if err := manifest.DecodeJSON(data, &m); err != nil {
		return err
	}
	if m.PackageName == "" {
		return errors.New("packageName is missing")
	}
	p.name, p.channels, p.defaultChannel = m.PackageName, m.Channels, m.DefaultChannel
	if p.defaultChannel == "" && len(p.channels) == 1 {
		p.defaultChannel = p.channels[0].Name
	}
	return nil
}

// manifest finds the package manifest in the package's directory.
func (r *legacyReader) manifest() (*legacyPackage, error) {
	var found []*legacyPackage
	var list []string
	for _, f := range r.byDir["."] {
		for _, d := range f.docs {
			p := &legacyPackage{dir: r.dir}
			if err := p.decode(d); err != nil {
				if source.IsPackageManifestName(f.name) {
					return nil, fmt.Errorf("%s: %w", path.Join(r.dir, f.name), err)
				}
				continue
			}
			list = append(list, p.name)
			if r.options.Package != "" && r.options.Package != p.name {
				continue
			}
			found = append(found, p)
			f.isPackage = true
		}
	}
	switch {
	case len(list) == 0:
		err := fmt.Errorf("%s: there is no package manifest (*.package.yaml with packageName and channels)", r.dir)
		return nil, hint(err, "name the directory of one package")
	case len(found) == 0:
		return nil, unknown(r.options.Package, list, "%s: no package", r.dir)
	case len(found) > 1:
		err := fmt.Errorf("%s: the directory has %d package manifests: %s", r.dir, len(found), text.Names(list))
		return nil, hint(err, "choose a package")
	}
	return found[0], nil
}
