package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/source"
)

// Options say how catalogs and bundles are read.
type Options struct {
	Pull    bool           // the images of bundles whose objects are not in the catalog
	Source  source.Options // of what Load is given
	Cluster fit.Cluster    // that the releases must work in; the zero value: the newest OLM v1
	Form    fit.Form       // who installs them; empty: as Cluster or the tree says
	Workers int            // bundles read at the same time; zero: one a processor. The result does not depend on it
}

// Set is what catalogs and directories hold.
type Set struct {
	Packages []*Package             // by name, then source
	Unread   []Unread               // bundles that cannot be read
	Notes    []string               // on a tree
	metrics  Metrics                // of a tree
	at       map[[2]string]*Package // by name and source, of a tree
	options  Options
}

// Package is an operator with its releases.
type Package struct {
	*catalog.Package        // its update graph: of the catalog, or of what the bundles say
	Source           string // catalog or directory, as it was given
	Releases         []*Release

	matches []string // what Filter has found it by
	life    *fit.Lifecycle
}

// Release is one version of a package.
type Release struct {
	Name, Version string // of the ClusterServiceVersion
	Channels      []string
	Head          bool // of the default channel
	Deprecated    string

	semver   semver.Version
	bundle   *catalog.Bundle
	place    string // for a person
	open     func(context.Context) (*source.Source, error)
	read     *bundle.Bundle // what open has, until the release is inspected; nil: it must be read
	location catalog.Place

	cluster   *cluster         // of a tree that has or installs it; nil for another release
	installed *permissions.CSV // in a tree; nil for another release
	held      bool             // its OperatorCondition holds back upgrades
	planned   *review.Planned  // it is what OLM installs for an object of a tree
}

// Origin returns what a command reads a release from: its image in a catalog, else a directory; empty without both.
func (p *Package) Origin(r *Release) string {
	if r.bundle.Image != "" {
		return "oci://" + r.bundle.Image
	}
	if r.open != nil {
		return r.place
	}
	return ""
}

// Head returns the release that is the head of the default channel, or the newest one; nil if there is none.
func (p *Package) Head() *Release {
	head := lists.Find(p.Releases, func(r *Release) bool { return r.Head })
	if head == nil && len(p.Releases) > 0 {
		return p.Releases[0]
	}
	return head
}

// Load finds the packages of catalogs and directories. A bundle in a directory fills in what a catalog does not hold of
// that bundle. The error is about a path or a catalog; what cannot be read among others in a directory is in Unread.
func Load(ctx context.Context, refs []string, o Options) (*Set, error) {
	s := &Set{options: o}
	folders := &folders{set: s}
	for _, ref := range refs {
		if err := s.add(ctx, ref, folders); err != nil {
			return nil, err
		}
	}
	if err := folders.read(ctx); err != nil {
		return nil, err
	}
	folders.merge(ctx)
	s.finish()
	return s, ctx.Err()
}

func (s *Set) finish() {
	for _, p := range s.Packages {
		p.finish()
	}
	slices.SortStableFunc(s.Packages, func(a, b *Package) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source))
	})
	slices.SortFunc(s.Unread, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Error, b.Error))
	})
	s.Unread = slices.Compact(s.Unread)
}

func (s *Set) add(ctx context.Context, ref string, folders *folders) error {
	found, err := source.Find(ctx, ref)
	if err != nil {
		return err
	}
	for _, f := range found {
		// An image that cannot be read is one of the bundles that cannot be read.
		image, _ := source.IsCatalogImage(ctx, f.Ref(), s.options.Source)
		switch {
		case f.Kind == source.KindCatalog:
			err = s.addCatalog(ctx, f.Path)
		case image:
			err = s.addCatalog(ctx, f.Ref())
		case f.Kind == source.KindPackageManifest:
			folders.legacy(ctx, ref, f)
		default:
			folders.add(ref, f)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && len(found) > 1:
			s.unread(f.Path, err)
		case err != nil:
			return err
		}
	}
	return nil
}

func (s *Set) addCatalog(ctx context.Context, path string) error {
	c, err := catalog.Read(ctx, path, catalog.Options{Source: s.options.Source})
	if err != nil {
		return err
	}
	review.Refused(c, path, s.options.Source)
	for _, f := range c.Faulty {
		if f.Missing {
			s.unread(path, f)
		}
	}
	for _, name := range c.Names() {
		s.Packages = append(s.Packages, s.packageOf(ctx, c.Packages[name], path))
	}
	return nil
}

// packageOf makes a package of one of a catalog.
func (s *Set) packageOf(ctx context.Context, of *catalog.Package, from string) *Package {
	p := &Package{Package: of, Source: filepath.ToSlash(from)}
	documents, err := p.DocumentsOf(ctx, fit.SchemaLifecycle)
	if err != nil {
		s.unread(from, fmt.Errorf("package %s: %w", of.Name, err))
	}
	p.life = fit.ReadLifecycle(documents)
	p.Releases = lists.Map(p.Bundles, p.releaseOf)
	return p
}

func (p *Package) releaseOf(b *catalog.Bundle) *Release {
	return &Release{Name: b.Name, bundle: b, place: filepath.ToSlash(b.File), location: b.Place,
		Deprecated: deprecation(p.Package, b)}
}

func deprecation(p *catalog.Package, b *catalog.Bundle) string {
	if list := (catalog.Choice{Package: p, Bundle: b}).Deprecations(); len(list) > 0 {
		return list[0]
	}
	return ""
}

// finish fills in what follows from the update graph, and sorts the releases, the newest first.
func (p *Package) finish() {
	for _, r := range p.Releases {
		if v, ok := r.bundle.Version(); ok {
			r.semver, r.Version = v, v.String()
		}
		r.Channels = []string{}
		for _, ch := range p.Channels {
			if ch.Entry(r.Name) != nil {
				r.Channels = lists.Add(r.Channels, ch.Name)
			}
		}
		slices.Sort(r.Channels)
	}
	slices.SortStableFunc(p.Releases, func(a, b *Release) int {
		return cmp.Or(b.semver.Compare(a.semver), cmp.Compare(b.Name, a.Name))
	})
	ch := p.Channel(p.DefaultChannel)
	if ch == nil {
		return
	}
	for _, r := range p.Releases { // of several heads it is the newest
		if slices.ContainsFunc(ch.Heads(), func(e *catalog.Entry) bool { return e.Name == r.Name }) {
			r.Head = true
			if why := p.Deprecated(olm.SchemaChannel, ch.Name); why != "" {
				r.Deprecated = cmp.Or(r.Deprecated, "channel "+ch.Name+": "+why)
			}
			return
		}
	}
}

// Neighbour returns the release that another replaces, else the next older version; nil for the oldest.
func (p *Package) Neighbour(r *Release) *Release {
	for _, ch := range p.Channels {
		e := ch.Entry(r.Name)
		if e == nil || e.Replaces == "" {
			continue
		}
		if other := p.release(e.Replaces); other != nil {
			return other
		}
	}
	if at := slices.Index(p.Releases, r); at >= 0 && at+1 < len(p.Releases) {
		return p.Releases[at+1]
	}
	return nil
}

func (p *Package) release(name string) *Release {
	return lists.Find(p.Releases, func(r *Release) bool { return r.Name == name })
}

// Filter leaves the packages that a word finds by name, API, title, keyword or provider of their head, in any case,
// sorted by that: the package of exactly this name first. A head that cannot be read is in Unread.
func (s *Set) Filter(ctx context.Context, word string) {
	ranks := map[*Package]int{}
	for _, p := range s.Packages {
		rank, err := p.find(ctx, strings.ToLower(word))
		if err != nil {
			s.unread(p.Head().place, err)
		}
		ranks[p] = rank
	}
	s.Packages = slices.DeleteFunc(s.Packages, func(p *Package) bool { return len(p.matches) == 0 })
	slices.SortStableFunc(s.Packages, func(a, b *Package) int { return cmp.Compare(ranks[a], ranks[b]) })
}

// find sets what a word finds the package by, and returns how far down it stands.
func (p *Package) find(ctx context.Context, word string) (rank int, err error) {
	rank = 4
	found := func(what, text string, at int) {
		if !strings.Contains(strings.ToLower(text), word) {
			return
		}
		p.matches = lists.Add(p.matches, strings.TrimSpace(what+" "+text))
		rank = min(rank, at)
	}
	switch name := strings.ToLower(p.Name); {
	case name == word:
		p.matches, rank = []string{"name"}, 0
	case strings.Contains(name, word):
		p.matches, rank = []string{"name"}, 1
	}
	head := p.Head()
	if head == nil {
		return rank, nil
	}
	for _, property := range head.bundle.Properties {
		var api catalog.GVK
		if property.Type == olm.PropertyGVK && json.Unmarshal(property.Value, &api) == nil {
			found("API", api.Kind+"."+api.Group, 2)
		}
	}
	var csv *v1alpha1.ClusterServiceVersion
	switch {
	case head.read != nil:
		csv = head.read.CSV
	case head.bundle.HasCSV():
		data, err := head.bundle.CSV(ctx)
		if err == nil {
			err = json.Unmarshal(data, &csv)
		}
		if err != nil {
			return rank, err
		}
	default:
		return rank, nil
	}
	found("title", csv.Spec.DisplayName, 3)
	for _, k := range csv.Spec.Keywords {
		found("keyword", k, 3)
	}
	found("provider", csv.Spec.Provider.Name, 3)
	return rank, nil
}
