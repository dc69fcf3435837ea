package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/internal/whole/pipeline"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// modeSkipPatch is a mode of updateGraph that opm alone has.
const modeSkipPatch = "semver-skippatch"

// arrange sets the update graphs of the packages of directories, by their pipeline files, and leaves out packages that
// opm refuses: one of them does not take away the others.
func (c *Catalog) arrange(ctx context.Context, folders []*folder, o Options) {
	for _, f := range folders {
		if !f.pipeline {
			continue
		}
		packages := lists.Filter(c.sorted(), func(p *Package) bool { return p.dir == f.dir })
		if err := c.arrangeDir(ctx, f.dir, packages, o); err != nil {
			if len(packages) == 0 {
				packages = []*Package{{Name: filepath.Base(f.dir)}}
			}
			file := filepath.Join(f.dir, pipeline.File)
			if e, ok := errors.AsType[*manifest.Error](err); !ok || e.File != filepath.ToSlash(file) {
				err = fmt.Errorf("%s: %w", file, err)
			}
			for _, p := range packages {
				c.leaveOut(p, err)
			}
		}
	}
	for _, p := range c.sorted() {
		if c.Missing(p.Name) != nil {
			c.endAtHighest(p, "nothing that can be read leads to the highest release of channel %s from %s")
		}
		p.dropStray()
		if list := p.check(); len(list) > 0 {
			c.refused = append(c.refused, p)
			err, remedy := fmt.Errorf("%s: %s", list[0].File, list[0].said()), list[0].Hint
			arranged := func(f *folder) bool { return f.dir == p.dir && f.pipeline }
			if p.dir != "" && !slices.ContainsFunc(folders, arranged) &&
				slices.ContainsFunc(p.Channels, func(ch *Channel) bool { return len(ch.Heads()) > 1 }) {
				file := filepath.Join(p.dir, pipeline.File)
				err = fmt.Errorf("%w, and there is no %s that says how they follow each other", err, file)
				remedy += ", or write updateGraph: " + pipeline.ModeSemver + " there, or choose a version"
			}
			c.leaveOut(p, hint(err, "%s", remedy))
		}
	}
}

// leaveOut takes a package out of the catalog.
func (c *Catalog) leaveOut(p *Package, err error) {
	delete(c.Packages, p.Name)
	c.Faulty = append(c.Faulty, Faulty{Package: p.Name, Missing: true, All: true, Err: err})
}

func (c *Catalog) arrangeDir(ctx context.Context, dir string, packages []*Package, o Options) error {
	ci, err := pipeline.ReadCI(dir)
	switch {
	case err != nil:
		return err
	case ci.FBC.Enabled:
		return c.fromTemplate(ctx, dir, ci.FBC.Mapping, packages, o)
	case ci.UpdateGraph == "", ci.UpdateGraph == pipeline.ModeReplaces:
		for _, p := range packages {
			c.endAtHighest(p, filepath.Join(dir, pipeline.File)+": channel %s ends at its highest release, to which "+
				"nothing leads from %s: opm drops them")
		}
		return nil
	case ci.UpdateGraph != pipeline.ModeSemver && ci.UpdateGraph != modeSkipPatch:
		return hint(fmt.Errorf("updateGraph is %q", ci.UpdateGraph), "write %s or %s", pipeline.ModeReplaces,
			pipeline.ModeSemver)
	}
	for _, p := range packages {
		for _, ch := range p.Channels {
			if err := p.linkByVersion(ch, ci.UpdateGraph == modeSkipPatch); err != nil {
				return err
			}
		}
	}
	return nil
}

// linkByVersion has each release of a channel replace the next lower one, whatever its CSV says. skipPatch keeps the
// highest release of each minor version alone (operator-registry: pkg/registry/bundlegraphloader.go).
func (p *Package) linkByVersion(ch *Channel, skipPatch bool) error {
	versions := map[string]semver.Version{}
	for _, e := range ch.Entries {
		v, ok := p.Bundle(e.Name).Version()
		if !ok {
			return fmt.Errorf("%s has no version that can be compared", e.Name)
		}
		versions[e.Name] = v
	}
	slices.SortStableFunc(ch.Entries, func(a, b Entry) int { return versions[a.Name].Compare(versions[b.Name]) })
	linked := &Channel{Place: ch.Place, Name: ch.Name}
	for i, e := range ch.Entries {
		e.Replaces = ""
		if i > 0 {
			e.Replaces = ch.Entries[i-1].Name
		}
		if i+1 < len(ch.Entries) && skipPatch && minor(versions[e.Name]) == minor(versions[ch.Entries[i+1].Name]) {
			continue
		}
		linked.add(e)
	}
	*ch = *linked
	return nil
}

// endAtHighest drops from the channels of a package what does not lead to the highest release, and says so: why has a
// place for the channel and for what is dropped.
func (c *Catalog) endAtHighest(p *Package, why string) {
	all := *p
	for _, ch := range p.Channels {
		if gone := p.endAtHighest(ch); len(gone) > 0 {
			err := fmt.Errorf(why, ch.Name, text.FirstOf(12, gone))
			c.dropped = append(c.dropped, dropped{&all, hint(err, "name it in skips of a newer release, or in its "+
				"skipRange, or write updateGraph: %s, or name the directory of the release", pipeline.ModeSemver)})
			c.Faulty = append(c.Faulty, Faulty{Package: p.Name, All: true, Err: err})
		}
	}
}

// endAtHighest drops the releases of a channel with several heads that do not lead to the highest one along replaces,
// and returns their names: the pipeline adds one release after the other, and opm makes the channel anew each time
// (operator-registry: pkg/registry/populator.go, SemverPackageManifest; pkg/sqlite/load.go, addPackageChannels).
func (p *Package) endAtHighest(ch *Channel) (gone []string) {
	if len(ch.Heads()) < 2 {
		return nil
	}
	var head *Entry
	var highest semver.Version
	for i, e := range ch.Entries {
		v, ok := p.Bundle(e.Name).Version()
		if !ok {
			return nil
		}
		if head == nil || v.GT(highest) {
			head, highest = &ch.Entries[i], v
		}
	}
	walked, served := map[string]bool{}, map[string]bool{}
	for e := head; e != nil && !walked[e.Name]; e = ch.Entry(e.Replaces) {
		walked[e.Name], served[e.Name] = true, true
		for _, skipped := range e.Skips {
			served[skipped] = true
		}
	}
	cut := &Channel{Place: ch.Place, Name: ch.Name}
	for _, e := range ch.Entries {
		if served[e.Name] {
			cut.add(e)
		} else {
			gone = append(gone, e.Name)
		}
	}
	*ch = *cut
	return gone
}

func minor(v semver.Version) string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// add adds an entry.
func (c *Channel) add(e Entry) {
	c.Entries = append(c.Entries, e)
	c.index.add(e.Name)
}

// dropStray drops the bundles that are in no channel.
func (p *Package) dropStray() {
	all := p.Bundles
	p.Bundles, p.index.bundles = nil, index{}
	for _, b := range all {
		if len(p.channelsOf(b.Name)) > 0 {
			p.Bundles = append(p.Bundles, b)
			p.index.bundles.add(b.Name)
		}
	}
}

const schemaBasic = "olm.template.basic"

// template makes a package of the bundles that are known.
type template struct {
	name    string // of its file
	data    []byte
	known   []*Package // of two that have a bundle, the first counts
	ignored []Fault
}

// FromTemplate returns the catalog that opm makes of a template, which is an olm.template.basic or an olm.semver: data
// is what its file has. Catalogs say what its images are; of two that have one, the first counts. The error is an
// fs.ErrNotExist if none of them has a bundle that the template names; then the catalog has nothing but what opm
// ignores.
func FromTemplate(ctx context.Context, file string, data []byte, known ...*Catalog) (*Catalog, error) {
	t := &template{name: file, data: data}
	for _, c := range known {
		t.known = append(t.known, c.sorted()...)
	}
	p, err := t.render(ctx)
	made := &Catalog{Packages: map[string]*Package{}, ignored: t.ignored}
	if err != nil {
		return made, fmt.Errorf("%s: %w", file, err)
	}
	made.Packages[p.Name] = p
	return made, nil
}

// fromTemplate replaces a package by the one that its template makes, with the bundles of its directory or of the
// published catalog beside it. Of several templates, that of the newest catalog counts.
func (c *Catalog) fromTemplate(ctx context.Context, dir string, mapping []pipeline.Mapping, packages []*Package,
	o Options) error {
	var file, newest string
	for _, m := range mapping {
		for _, name := range m.Catalogs {
			if newest == "" || source.CompareVersions(name, newest) > 0 {
				file, newest = m.Template, name
			}
		}
	}
	switch {
	case len(packages) > 1:
		return errors.New("fbc is for one package, and the directory has " + text.Count(len(packages), "package"))
	case !filepath.IsLocal(file):
		return errors.New("fbc.catalog_mapping names no template of " + pipeline.Templates)
	}
	t := &template{name: filepath.Join(dir, pipeline.Templates, file), known: packages}
	var err error
	if t.data, err = whole.ReadFile(t.name, budget.CatalogDoc); err != nil {
		return err
	}
	path := filepath.Join(dir, "..", "..", "catalogs", newest, filepath.Base(dir))
	if _, err := os.Stat(path); err == nil && filepath.IsLocal(newest) {
		served, err := readFiles(ctx, path, o)
		if err != nil {
			return err
		}
		if names := served.Names(); len(names) == 1 {
			t.known = append(slices.Clone(packages), served.Packages[names[0]])
		}
	}
	p, err := t.render(ctx)
	c.ignored = append(c.ignored, t.ignored...)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	for _, have := range packages {
		delete(c.Packages, have.Name)
		why := fmt.Errorf("%s does not name it", t.name)
		c.dropped = append(c.dropped, dropped{have, hint(why, "add it there, or name the directory of the release")})
	}
	c.Packages[p.Name] = p
	return nil
}

func (t *template) render(ctx context.Context) (*Package, error) {
	data, err := yaml.YAMLToJSON(t.data)
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema  string
		Entries []json.RawMessage
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	switch head.Schema {
	case schemaBasic:
		t.ignored = unknownFields(head.Schema, data, lines(t.place(), t.data))
		return t.basic(ctx, head.Entries)
	case "olm.semver":
		var s semverTemplate
		if err := yaml.UnmarshalStrict(t.data, &s); err != nil { // as opm does
			return nil, err
		}
		return t.semver(&s)
	}
	return nil, fmt.Errorf("olmgen does not know the template %q", head.Schema)
}

// place returns the place of all that a template makes.
func (t *template) place() Place { return Place{t.name, 1} }

// add adds a bundle.
func (p *Package) add(b *Bundle) {
	p.Bundles = append(p.Bundles, b)
	p.index.bundles.add(b.Name)
}

// named returns a bundle by its name, or nil.
func (t *template) named(name string) *Bundle {
	for _, p := range t.known {
		if b := p.Bundle(name); b != nil {
			return b
		}
	}
	return nil
}

// imaged returns the bundle of an image: that of the directory that its tag names, or of a published catalog.
func (t *template) imaged(image string) *Bundle {
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	tagged := tag != "" && !strings.Contains(image, "@")
	for _, p := range t.known {
		for _, b := range p.Bundles {
			if tagged && b.origin != nil && b.origin.open != nil &&
				strings.TrimPrefix(filepath.Base(b.origin.dir), "v") == strings.TrimPrefix(tag, "v") {
				return b.from(image)
			}
		}
	}
	for _, p := range t.known {
		for _, b := range p.Bundles {
			if b.Image == image {
				return t.named(b.Name).from(image)
			}
		}
	}
	return nil
}

// from returns the bundle with the image that it is in.
func (b *Bundle) from(image string) *Bundle {
	out := *b
	out.Image = image
	return &out
}

// basic adds the documents of an olm.template.basic, and the bundles that its channels name (operator-registry:
// alpha/template/basic).
func (t *template) basic(ctx context.Context, entries []json.RawMessage) (*Package, error) {
	var documents []byte
	images, imaged := 0, map[string]*Bundle{}
	named := make([]struct {
		Schema, Image, Name, Package string
		Properties, RelatedImages    []any
	}, len(entries))
	at := lines(t.place(), t.data)
	for i, e := range entries {
		head := &named[i]
		if err := json.Unmarshal(e, head); err != nil {
			return nil, err
		}
		if head.Schema != olm.SchemaBundle {
			t.ignored = append(t.ignored, unknownFields(head.Schema, e, func(field string) Place {
				return at(fmt.Sprintf("entries[%d].%s", i, field))
			})...)
			documents = append(append(documents, e...), ' ') // all in line 1
			continue
		}
		images++
		if head.Image == "" || head.Package != "" || len(head.Properties)+len(head.RelatedImages) > 0 {
			return nil, fmt.Errorf("entries[%d]: opm wants the image of a bundle, and neither package, properties nor "+
				"relatedImages", i)
		}
		if b := t.imaged(head.Image); b != nil {
			imaged[b.Name] = b
		}
	}
	limits := Options{}.catalogLimits()
	files, err := source.OpenBytes(t.name, source.KindCatalog, map[string][]byte{"catalog.json": documents}, limits)
	if err != nil {
		return nil, err
	}
	files.Name = func(string) string { return t.name }
	c, err := read(ctx, t.name, files, limits)
	if err != nil {
		return nil, err
	}
	names := c.Names()
	switch {
	case len(c.faults) > 0:
		return nil, errors.New(c.faults[0].Text)
	case len(names) != 1:
		return nil, fmt.Errorf("it is of %s, and must be of one", text.Count(len(names), "package"))
	}
	p := c.Packages[names[0]]
	if docs, err := manifest.ReadFile(t.name, t.data, whole.Limits(budget.CatalogDoc)); err == nil && len(docs) > 0 {
		for i, head := range named {
			p.locate(head.Schema, head.Name, docs[0], fmt.Sprintf("entries[%d]", i))
		}
	}
	if err := t.fill(p, imaged); err != nil {
		return nil, err
	}
	if len(p.Bundles) > images {
		return nil, fmt.Errorf("its channels have %s, and it names %s", text.Count(len(p.Bundles), "bundle"),
			text.Count(images, "image"))
	}
	return p, nil
}

// fill adds the bundles that the channels of a package name, and those of images.
func (t *template) fill(p *Package, imaged map[string]*Bundle) error {
	for _, ch := range p.Channels {
		for _, e := range ch.Entries {
			if p.Bundle(e.Name) != nil {
				continue
			}
			b := cmp.Or(imaged[e.Name], t.named(e.Name))
			if b == nil {
				return p.unknown(e.Name)
			}
			p.add(b)
		}
	}
	for _, name := range lists.Keys(imaged) { // opm refuses what is in no channel
		if p.Bundle(name) == nil {
			p.add(imaged[name])
		}
	}
	return nil
}

// locate sets the lines of a document that is a field of a template.
func (p *Package) locate(schema, name string, d *manifest.Document, field string) {
	line := d.Errorf(field, "").Line
	switch ch := p.Channel(name); {
	case schema == olm.SchemaPackage:
		p.Line = line
	case schema == olm.SchemaChannel && ch != nil:
		ch.Line = line
		for i := range ch.Entries {
			ch.Entries[i].Line = d.Errorf(fmt.Sprintf("%s.entries[%d]", field, i), "").Line
		}
	case schema == olm.SchemaDeprecations:
		for i := range p.Deprecations {
			p.Deprecations[i].Line = d.Errorf(fmt.Sprintf("%s.entries[%d]", field, i), "").Line
		}
	}
}

// unknownBundle is the name or the image of a bundle that nothing describes.
type unknownBundle string

func (u unknownBundle) Error() string {
	return fmt.Sprintf("nothing says what %s is: no directory beside %s, and no published catalog has it", string(u),
		pipeline.File)
}

// unknown returns what is wrong with a channel whatever its bundles are, or that a bundle is not known.
func (p *Package) unknown(bundle string) error {
	for _, ch := range p.Channels {
		if f := ch.chainFault(); f != nil {
			return hint(fmt.Errorf("invalid channel %q: %s", ch.Name, f.Text), "%s", f.Hint)
		}
	}
	return hint(unknownBundle(bundle), "put each bundle into a directory of the name of its version, beside a %s "+
		"whose catalog_mapping names the template", pipeline.File)
}

// Is has the bundle be one that does not exist here.
func (unknownBundle) Is(err error) bool { return err == fs.ErrNotExist }
