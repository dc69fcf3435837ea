// Package pin makes catalogs that hold what Git approved, and nothing newer.
//
// [Make] takes what the Subscriptions of namespaces and the ClusterExtensions of a cluster ask for, and the releases
// that are approved. It returns a [Pin]: for each catalog the approved releases, the releases on the way to them from
// what may be installed, and the dependencies. Before it returns, it plays each namespace and ClusterExtension on the
// new catalogs, as a new cluster and from each release that may be installed. OLM must come to rest at what is
// approved, and install nothing else on the way. Else the error is a [Refusal].
package pin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
)

// Source names a catalog: a CatalogSource, or without Namespace a ClusterCatalog.
type Source struct{ Namespace, Name string }

func (s Source) String() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// Package is a package of a catalog.
type Package struct {
	Source Source
	Name   string
}

// Compare orders packages by their catalogs, then by name.
func (p Package) Compare(o Package) int {
	return cmp.Or(cmp.Compare(p.Source.Namespace, o.Source.Namespace), cmp.Compare(p.Source.Name, o.Source.Name),
		cmp.Compare(p.Name, o.Name))
}

// Release is a release of a package. For a Subscription it is one of a channel.
type Release struct {
	Channel string
	Bundle  string // name of the bundle, which is that of its ClusterServiceVersion
}

// Namespace is what the Subscriptions of a namespace ask for.
type Namespace struct {
	// State is the namespace in a new cluster: its Subscriptions, its catalogs, and nothing installed.
	State *resolve.State
	// Approved are the releases that are known to be approved. A dependency has its Channel. What is missing is what
	// OLM installs from the catalogs.
	Approved map[Package]Release
	// Left are dependencies of earlier releases that clusters may still have: OLM does not remove them, and their
	// Subscriptions need the package in the catalog.
	Left map[Package]Release
	// Installed are the names of other releases that clusters may have.
	Installed map[Package][]string
	// Starts are further states that clusters may be in.
	Starts []*resolve.State
}

// Extension is what a ClusterExtension asks for.
type Extension struct {
	Name      string
	Request   extension.Request
	Sources   []extension.Source
	Approved  string   // name of the bundle; empty: what OLM installs from the catalogs
	Installed []string // names of other releases that clusters may have
}

// Request is what one cluster asks for.
type Request struct {
	Namespaces []Namespace
	Extensions []Extension
	// Rename returns the name of the pinned catalog of a catalog; nil keeps the names. An Extension whose catalog gets
	// another name is made to select that one only.
	Rename func(Source) Source
}

// Pin is the answer to a [Request].
type Pin struct {
	Catalogs []Catalog // sorted by Source
	// Namespaces and Extensions are the releases at which each Namespace and Extension of the Request comes to rest, in
	// its order.
	Namespaces [][]Approval
	Extensions []Approval
}

// Approval is a release that a cluster is to have.
type Approval struct {
	Package
	Release
	RequiredBy string // of a dependency: the bundle that requires it
	Left       bool   // a dependency that nothing requires any more
}

// Refusal is why what is approved cannot be pinned.
type Refusal struct {
	Namespace string // of a Subscription
	Name      string // of the Subscription or ClusterExtension; empty: it is about the namespace, or about a catalog
	Text      string
	Tip       string // what to do
	Field     string // of the object, to be changed; may be empty
	Other     *Asker // stands at the end of Text; nil if there is none
}

// Error names the object and what is wrong.
func (r *Refusal) Error() string {
	if by := (Asker{r.Namespace, r.Name}); by != (Asker{}) {
		return fmt.Sprintf("%s: %s", by, r.Said())
	}
	return r.Said()
}

// Said returns what is wrong.
func (r *Refusal) Said() string {
	if r.Other == nil {
		return r.Text
	}
	return fmt.Sprintf("%s %s", r.Text, r.Other)
}

// Asker is a Subscription; without Namespace it is a ClusterExtension, and without Name a namespace with a dependency.
type Asker struct{ Namespace, Name string }

func (a Asker) String() string {
	switch {
	case a.Namespace == "":
		return "ClusterExtension " + a.Name
	case a.Name == "":
		return "namespace " + a.Namespace
	}
	return fmt.Sprintf("Subscription %s/%s", a.Namespace, a.Name)
}

// Hint returns what to do.
func (r *Refusal) Hint() string { return r.Tip }

// Make returns the pinned catalogs. The error is a *Refusal, that of ctx, or about content that cannot be read again.
func Make(ctx context.Context, q Request) (*Pin, error) {
	b := &builder{request: q, packages: map[Package]*pinned{}}
	if b.request.Rename == nil {
		b.request.Rename = func(s Source) Source { return s }
	}
	for i := range q.Namespaces {
		n := &namespace{Namespace: &q.Namespaces[i]}
		if err := n.settle(ctx); err != nil {
			return nil, err
		}
		if err := n.walks(ctx, b); err != nil {
			return nil, err
		}
		b.namespaces = append(b.namespaces, n)
	}
	for i := range q.Extensions {
		x := &clusterExtension{Extension: &q.Extensions[i]}
		if err := x.settle(); err != nil {
			return nil, err
		}
		if err := x.walks(b); err != nil {
			return nil, err
		}
		b.extensions = append(b.extensions, x)
	}
	pin := &Pin{}
	for _, n := range b.namespaces {
		pin.Namespaces = append(pin.Namespaces, n.approvals())
	}
	for _, x := range b.extensions {
		pin.Extensions = append(pin.Extensions, x.approval())
	}
	var err error
	if pin.Catalogs, err = b.build(ctx); err != nil {
		return nil, err
	}
	return pin, b.verify(ctx, pin.Catalogs)
}

// builder collects what the pinned catalogs hold.
type builder struct {
	request    Request
	namespaces []*namespace
	extensions []*clusterExtension
	packages   map[Package]*pinned
}

// pinned is what a pinned catalog holds of a package.
type pinned struct {
	source   *catalog.Package
	channels map[string]*pinnedChannel
}

// pinnedChannel is what a pinned catalog holds of a channel.
type pinnedChannel struct {
	head string            // what is approved; empty if nothing of the channel is
	by   Asker             // what asks for the head
	keep map[string]string // why a bundle is there, by its name
}

func (b *builder) channel(p Package, source *catalog.Package, name string) *pinnedChannel {
	if b.packages[p] == nil {
		b.packages[p] = &pinned{source: source, channels: map[string]*pinnedChannel{}}
	}
	channels := b.packages[p].channels
	if channels[name] == nil {
		channels[name] = &pinnedChannel{keep: map[string]string{}}
	}
	return channels[name]
}

// approve makes a release the head of its channel. The error is that another one is.
func (b *builder) approve(p Package, source *catalog.Package, r Release, why string, by Asker) error {
	c := b.channel(p, source, r.Channel)
	if c.head != "" && c.head != r.Bundle {
		return &Refusal{Namespace: by.Namespace, Name: by.Name, Other: &c.by,
			Text: fmt.Sprintf("%s is approved%s; channel %s of package %s in catalog %s can have one approved "+
				"release, and has %s%s for", r.Bundle, as(why), r.Channel, p.Name, p.Source, c.head,
				as(c.keep[c.head])),
			Tip: "approve one release for both; in one cluster, have one of them name a catalog of its own; if they " +
				"are of several clusters, pin each into a directory of its own"}
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
func (c *pinnedChannel) why(bundle, why string) {
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
