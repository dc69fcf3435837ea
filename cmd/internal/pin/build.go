package pin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Catalog is a pinned catalog.
type Catalog struct {
	Source   Source // what it is made of
	To       Source // its own name
	Packages []Content
	Catalog  *catalog.Catalog // the same, as its documents say it

	source   *catalog.Catalog
	priority int
}

// Content is a package of a pinned catalog.
type Content struct {
	Name     string
	Channels []*Channel        // sorted by name
	Bundles  []*catalog.Bundle // from the lowest version to the highest
	File     []byte            // the documents: olm.package, olm.channel, olm.bundle, olm.deprecations, others
	Images   []string          // of the bundles, and those that they name
	Unnamed  []string          // images of bundles that do not name them as relatedImages

	source *catalog.Package
}

// Channel is a channel of a pinned catalog.
type Channel struct {
	Name    string
	Entries []Entry // from the head down

	pkg    *catalog.Package // of the source
	source *catalog.Channel
	head   string            // what is approved; empty if nothing of the channel is
	by     asker             // what asks for the head
	keep   map[string]string // why a bundle is there, by its name
}

// Make returns the pinned catalogs of what a cluster asks for, and a lock with what is approved. rename returns the
// name of the pinned catalog of a catalog; nil keeps the names. A ClusterExtension whose catalog gets another name is
// made to select that one only. The error is a *manifest.Error that says why what is approved cannot be pinned, several
// of them as a RefusedError, that of ctx, or about content that cannot be read again.
func Make(ctx context.Context, in *Input, rename func(Source) Source) (*Pin, error) {
	b := &builder{input: in, rename: rename, packages: map[Package]*Content{}}
	if rename == nil {
		b.rename = func(s Source) Source { return s }
	}
	p, refused := &Pin{Lock: &Lock{}}, RefusedError(nil)
	for _, n := range in.Namespaces {
		if err := n.walks(ctx, b); err != nil {
			refused = append(refused, err)
		} else {
			p.Lock.Operators = append(p.Lock.Operators, n.locked()...)
		}
	}
	for _, x := range in.Extensions {
		if err := x.walks(b); err != nil {
			refused = append(refused, err)
		} else {
			p.Lock.Operators = append(p.Lock.Operators, x.locked())
		}
	}
	switch err := ctx.Err(); {
	case err != nil:
		return nil, err
	case len(refused) == 1:
		return nil, refused[0]
	case len(refused) > 1:
		return nil, refused
	}
	var err error
	if p.Catalogs, err = b.build(ctx); err != nil {
		return nil, err
	}
	for _, c := range p.Catalogs {
		p.Lock.Catalogs = append(p.Lock.Catalogs, LockedCatalog{Source: c.Source.String(), Name: c.To.String()})
	}
	return p, b.verify(ctx, p.Catalogs)
}

type builder struct {
	input    *Input
	rename   func(Source) Source
	packages map[Package]*Content
}

func (b *builder) channel(p Package, source *catalog.Package, name string) *Channel {
	c := b.packages[p]
	if c == nil {
		c = &Content{Name: p.Name, source: source}
		b.packages[p] = c
	}
	ch := lists.Find(c.Channels, func(ch *Channel) bool { return ch.Name == name })
	if ch == nil {
		ch = &Channel{Name: name, pkg: source, source: source.Channel(name), keep: map[string]string{}}
		c.Channels = append(c.Channels, ch)
	}
	return ch
}

// approve makes a release the head of its channel. The error is that another one is.
func (b *builder) approve(p Package, source *catalog.Package, r Release, why string, by asker) error {
	c := b.channel(p, source, r.Channel)
	if c.head != "" && c.head != r.Bundle {
		return by.refuse(fmt.Sprintf("%s is approved%s; channel %s of package %s in catalog %s can have one approved "+
			"release, and has %s%s for %s", r.Bundle, as(why), r.Channel, p.Name, p.Source, c.head, as(c.keep[c.head]),
			c.by), "approve one release for both; in one cluster, have one of them name a catalog of its own; if they "+
			"are of several clusters, pin each into a directory of its own", "")
	}
	c.head, c.by = r.Bundle, cmp.Or(c.by, by)
	c.why(r.Bundle, why)
	return nil
}

// as returns why a release is approved, if Git does not say so.
func as(why string) string {
	if why == whyApproved {
		return ""
	}
	return " as a " + why
}

// why adds a bundle. The reason why it is approved stands before others.
func (c *Channel) why(bundle, why string) {
	if old, ok := c.keep[bundle]; !ok || rank(why) < rank(old) || rank(why) == rank(old) && why < old {
		c.keep[bundle] = why
	}
}

// The reasons why a bundle is in a pinned catalog.
const (
	whyApproved   = "approved"
	whyDependency = "dependency of "
	whyLeft       = "dependency of an earlier release"
	whyOnTheWay   = "on the way to "
	whyChain      = "keeps the chain of updates"
)

func rank(why string) int {
	order := []string{whyApproved, whyDependency, whyLeft, whyOnTheWay, whyChain}
	return slices.IndexFunc(order, func(prefix string) bool { return strings.HasPrefix(why, prefix) })
}

func (b *builder) build(ctx context.Context) ([]Catalog, error) {
	var out []Catalog
	for _, p := range slices.SortedFunc(maps.Keys(b.packages), Package.Compare) {
		if n := len(out); n == 0 || out[n-1].Source != p.Source {
			out = append(out, Catalog{Source: p.Source, To: b.rename(p.Source)})
		}
		content := b.packages[p]
		if err := content.fill(ctx); err != nil {
			return nil, err
		}
		last := &out[len(out)-1]
		last.Packages = append(last.Packages, *content)
	}
	for i := range out {
		out[i].source, out[i].priority = b.input.catalog(out[i].Source)
		if err := out[i].read(ctx); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (in *Input) catalog(s Source) (*catalog.Catalog, int) {
	for _, n := range in.Namespaces {
		for _, c := range n.State.Catalogs {
			if c.Namespace == s.Namespace && c.Name == s.Name {
				return c.Catalog, c.Priority
			}
		}
	}
	for _, x := range in.Extensions {
		for _, c := range x.Sources {
			if s.Namespace == "" && c.Name == s.Name {
				return c.Catalog, int(c.Priority)
			}
		}
	}
	return nil, 0
}

// fill adds the entries of the channels, their bundles and the documents.
func (c *Content) fill(ctx context.Context) (err error) {
	slices.SortFunc(c.Channels, func(a, b *Channel) int { return cmp.Compare(a.Name, b.Name) })
	bundles := map[string]*catalog.Bundle{}
	for _, ch := range c.Channels {
		if err := ch.fill(); err != nil {
			return err
		}
		for _, e := range ch.Entries {
			if bundles[e.Name] = c.source.Bundle(e.Name); bundles[e.Name] == nil {
				return &manifest.Error{Msg: fmt.Sprintf("package %s has no bundle %s, which is an entry of channel %s",
					c.Name, e.Name, ch.Name)}
			}
		}
	}
	c.Bundles = slices.SortedFunc(maps.Values(bundles), func(x, y *catalog.Bundle) int {
		return cmp.Or(compareVersions(c.source, x.Name, y.Name), cmp.Compare(x.Name, y.Name))
	})
	c.File, err = c.document(ctx)
	return err
}

// read reads the documents of a pinned catalog as opm and OLM do.
func (c *Catalog) read(ctx context.Context) error {
	files := map[string][]byte{}
	for _, p := range c.Packages {
		files[path.Join(p.Name, "catalog.yaml")] = p.File
	}
	opened, err := source.OpenBytes("pinned", source.KindCatalog, files, source.DefaultLimits())
	if err != nil {
		return err
	}
	if c.Catalog, err = catalog.ReadFS(ctx, opened.FS, catalog.Options{}); err != nil {
		return err
	}
	if r := c.Catalog.Refusal(); r != nil {
		return &manifest.Error{Msg: fmt.Sprintf("opm refuses the pinned catalog of %s: %s", c.Source, r.Text)}
	}
	return nil
}
