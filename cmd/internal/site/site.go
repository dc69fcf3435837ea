// Package site makes a static site of catalogs: an index with search and filters, and pages for each package.
//
// The pages need no network and no server. Links are relative. Without JavaScript only search and sorting are missing.
package site

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/output"
)

// Site is the files of a site.
type Site struct {
	Files   output.Files
	Sources []output.Source
	Failed  int // releases that cannot be read or rendered
}

// Render makes the site of a set, with a title for its index. The same set gives the same bytes.
func Render(ctx context.Context, set *audit.Set, title string) (*Site, error) {
	made, err := makePackages(ctx, set, shard.Whole)
	if err != nil {
		return nil, err
	}
	rows := map[*audit.Package]audit.PartPackage{}
	for p, pages := range made {
		rows[p] = audit.PartPackage{Rows: pages.rows}
	}
	report, err := audit.MergeParts([]*audit.Part{set.Part(shard.Whole, audit.KindSitePart, "", rows)})
	if err != nil {
		return nil, err
	}
	return whole(lists.Map(set.Packages, func(p *audit.Package) *packagePages { return made[p] }), report, title)
}

// makePackages makes the pages of the packages of a shard.
func makePackages(ctx context.Context, set *audit.Set, in shard.Shard) (map[*audit.Package]*packagePages, error) {
	slugs, made := map[*audit.Package]string{}, map[*audit.Package]*packagePages{}
	used := map[string]bool{}
	for _, p := range set.Packages { // of several with the same name, the first has the plain one
		s := plainSlug(p.Name)
		if used[s] {
			s += "--" + short(p.Source)
		}
		slugs[p], used[s] = s, true
	}
	var mu sync.Mutex
	want := func(p *audit.Package, _ *audit.Release) bool { return in.Has(p.Name) }
	return made, set.Each(ctx, want, func(p *audit.Package, list []*audit.Inspected) error {
		if !in.Has(p.Name) {
			return nil
		}
		pages, err := makePackage(ctx, p, list, slugs[p])
		mu.Lock()
		defer mu.Unlock()
		made[p] = pages
		return err
	})
}

func whole(packages []*packagePages, report *audit.Report, title string) (*Site, error) {
	s := &Site{Failed: report.Totals.Failed}
	var entries []entry
	for _, m := range packages {
		s.Files = append(s.Files, m.files...)
		s.Sources = append(s.Sources, m.source)
		entries = append(entries, m.entry)
	}
	var data bytes.Buffer
	if err := print.Report(&data, report, findings.JSON); err != nil {
		return nil, err
	}
	s.Files = append(s.Files, output.File{Path: dataName, Data: data.Bytes()})
	index, err := page(indexPage(cmp.Or(title, "Operators"), entries, report))
	if err != nil {
		return nil, err
	}
	s.Files = append(s.Files, output.File{Path: indexName, Data: index})
	slices.SortFunc(s.Files, func(a, b output.File) int { return cmp.Compare(a.Path, b.Path) })
	return s, nil
}

const (
	indexName   = "index.html"
	dataName    = "audit.json"
	packagesDir = "packages"
)

func page(p *document.Document) ([]byte, error) {
	var b bytes.Buffer
	err := print.Document(&b, p, findings.HTML)
	return b.Bytes(), err
}

var plain = lazy.Regexp(`^[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?$`)

var reserved = lazy.Regexp(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// plainSlug returns a name as part of a path that all systems and servers allow, and that no other name has.
func plainSlug(name string) string {
	if plain().MatchString(name) && !reserved().MatchString(name) && !strings.Contains(name, "--") {
		return name
	}
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	safe = strings.Trim(safe[:min(len(safe), 40)], ".-")
	return strings.TrimPrefix(strings.ReplaceAll(safe, "--", "-")+"--"+short(name), "--")
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "x" + hex.EncodeToString(sum[:4])
}

func dir(slug string) string { return path.Join(packagesDir, slug) }

type part struct {
	Files  []partFile    `json:"files"`
	Source output.Source `json:"source"`
	Lock   string        `json:"lock,omitempty"` // of the source
	Entry  entry         `json:"entry"`
}

type partFile struct {
	Path string `json:"path"`
	Lock string `json:"lock,omitempty"`
	Text string `json:"text"`
}

// RenderPart makes the pages of the packages of a shard. Merge makes the site of all parts.
func RenderPart(ctx context.Context, set *audit.Set, in shard.Shard) (*audit.Part, error) {
	made, err := makePackages(ctx, set, in)
	if err != nil {
		return nil, err
	}
	packages := map[*audit.Package]audit.PartPackage{}
	for p, pages := range made {
		x := part{Source: pages.source, Lock: pages.source.Lock, Entry: pages.entry}
		x.Files = lists.Map(pages.files, func(f output.File) partFile {
			return partFile{f.Path, f.Lock, string(f.Data)}
		})
		text, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		packages[p] = audit.PartPackage{Rows: pages.rows, Site: text}
	}
	return set.Part(in, audit.KindSitePart, "", packages), nil
}

// Merge makes the site that Render makes of the whole set.
func Merge(parts []*audit.Part, title string) (*Site, error) {
	report, err := audit.MergeParts(parts)
	if err != nil {
		return nil, err
	}
	var all []*packagePages
	for _, p := range audit.PackagesOf(parts) {
		var x part
		if err := json.Unmarshal(p.Site, &x); err != nil {
			return nil, fmt.Errorf("the pages of package %d: %w", p.Index, err)
		}
		pages := &packagePages{source: x.Source, entry: x.Entry, rows: p.Rows}
		pages.source.Lock = x.Lock
		pages.files = lists.Map(x.Files, func(f partFile) output.File {
			return output.File{Path: f.Path, Lock: f.Lock, Data: []byte(f.Text)}
		})
		all = append(all, pages)
	}
	return whole(all, report, title)
}

// releasesDir has the releases of each package and of each channel, in the form that a custom datasource of Renovate
// reads (renovate: lib/modules/datasource/custom/schema.ts).
const releasesDir = "releases"

type release struct {
	Version   string `json:"version"`
	Timestamp string `json:"releaseTimestamp,omitempty"`
	// Renovate does not propose such a release.
	Deprecated bool   `json:"isDeprecated,omitempty"`
	SourceURL  string `json:"sourceUrl,omitempty"`
}

func (m *making) releases() error {
	name := path.Join(releasesDir, m.slug)
	if err := m.addReleases(name+".json", m.pkg.Channels); err != nil {
		return err
	}
	for _, ch := range m.pkg.Channels {
		file := path.Join(name, plainSlug(ch.Name)+".json")
		if err := m.addReleases(file, []*catalog.Channel{ch}); err != nil {
			return err
		}
	}
	return nil
}

func (m *making) addReleases(file string, channels []*catalog.Channel) error {
	var list struct {
		Releases []release `json:"releases"`
	}
	list.Releases = []release{}
	offered := map[string]bool{} // whether one of the channels has the entry and does not skip it
	for _, ch := range channels {
		skipped := ch.Skipped()
		for _, e := range ch.Entries {
			offered[e.Name] = offered[e.Name] || !skipped[e.Name]
		}
	}
	for _, x := range slices.Backward(m.list) {
		if offered, in := offered[x.Name]; in && x.Version != "" {
			b := m.pkg.Bundle(x.Name)
			r := release{Version: clean(x.Version), SourceURL: repository(x.CSV),
				Deprecated: x.Deprecated != "" || !offered || b != nil && b.Deprecated()}
			if day := created(x.CSV); day != "" {
				r.Timestamp = day + "T00:00:00Z"
			}
			list.Releases = append(list.Releases, r)
		}
	}
	var data bytes.Buffer
	err := findings.WriteJSON(&data, list)
	m.out.files = append(m.out.files, output.File{Path: file, Data: data.Bytes()})
	return err
}

// repository returns where the source of an operator is, by its annotation.
func repository(csv *v1alpha1.ClusterServiceVersion) string {
	if csv == nil {
		return ""
	}
	to := csv.Annotations["repository"]
	if !strings.HasPrefix(to, "https://") || clean(to) != to {
		return ""
	}
	return to
}
