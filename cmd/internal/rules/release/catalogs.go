package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/internal/whole/pipeline"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

const (
	ruleGraph    = "release/update-graph"
	ruleStay     = "release/users-stay"
	ruleFormat   = "release/bundle-format"
	ruleTemplate = "release/template"
	ruleCI       = "release/pipeline-files"
)

// skipIt is what makes users of a release go on.
const skipIt = "name it in skips of a newer entry, or in its skipRange"

// catalogRules explains the findings of catalogs, beside resolve.CatalogRules and resolve.ComparisonRules.
var catalogRules = []findings.Rule{
	{ID: ruleGraph, Text: "bundles dangle, go round, update what is none, or have several names",
		Help: pipeline.Source + "static_tests/community, static_tests/common."},
	{ID: ruleStay, Text: "nothing leads from what users run to the new release",
		Help: "Source: operator-registry, alpha/model; OLM, pkg/controller/registry/resolver/resolver.go."},
	{ID: ruleFormat, Text: "a catalog from v4.17 on holds bundles as olm.bundle.object",
		Help: pipeline.Source + "static_tests/common/operator_catalogs.py."},
	{ID: ruleTemplate, Text: "a template cannot be rendered, or a catalog is not what its template makes",
		Help: "Source: operator-registry, alpha/template."},
	{ID: ruleCI, Text: "ci.yaml or release-config.yaml is wrong",
		Help: pipeline.Source + "schemas, static_tests/common, entrypoints/add_bundle_to_fbc.py."},
}

// catalogSet is what the repository of an operator has of catalogs.
type catalogSet struct {
	*repository
	ctx       context.Context
	ci        pipeline.CI
	opened    map[string]*opened          // all bundles, by the names of their CSVs
	own       *catalog.Catalog            // all bundles, with the channels that they name
	committed map[string]*catalog.Catalog // by directory
	makes     map[string][]string         // the directories of the catalogs that each template makes
	absent    map[string]*manifest.Error  // templates of ci.yaml that are not there
	planning  []catalog.Entry             // of the release, in catalogs that do not have it yet
	unsure    bool                        // what a template makes is not known
	list      []findings.Finding
	said      []string
}

// catalogs judges the catalogs, the templates and the pipeline's files of an operator for the release of some of its
// bundles. The texts say what was looked at and what was not.
func catalogs(ctx context.Context, r *repository, all, released []*opened) ([]findings.Finding, []string) {
	bundles := map[string]*bundle.Bundle{}
	for _, x := range all {
		bundles[x.dir] = x.bundle
	}
	s := &catalogSet{ctx: ctx, repository: r,
		opened: lists.By(all, func(x *opened) string { return x.bundle.CSV.Name }),
		own:    catalog.OfBundles(ctx, bundles), said: r.unread,
		committed: map[string]*catalog.Catalog{}, makes: map[string][]string{},
		absent: map[string]*manifest.Error{}}
	for _, dir := range r.catalogs {
		s.read(dir)
	}
	s.pipeline()
	for _, dir := range lists.Keys(s.committed) {
		s.catalog(dir)
	}
	serving := slices.Collect(maps.Values(s.committed))
	for _, file := range lists.Keys(r.templates) {
		made := s.template(file)
		if s.unsure = s.unsure || made == nil; made != nil {
			serving = append(serving, made)
		}
	}
	s.names(all, released)
	for _, x := range released {
		s.graph(x.bundle)
		s.release(x, serving)
	}
	for _, name := range lists.Keys(s.absent) {
		s.refuse(s.absent[name])
	}
	for _, p := range s.own.Packages {
		s.leave(p, serving, lists.Set(released, func(x *opened) string { return x.bundle.CSV.Name }))
	}
	s.say("looked at %s, %s and %s", text.Count(len(r.bundles), "bundle"), text.Count(len(s.committed), "catalog"),
		text.Count(len(r.templates), "template"))
	findings.Sort(s.list)
	return slices.Compact(s.list), lists.Unique(s.said)
}

func (s *catalogSet) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// add adds a finding, and returns it for what else is said of it.
func (s *catalogSet) add(rule string, level findings.Severity, at catalog.Place, object, format string, args ...any,
) *findings.Finding {
	s.list = append(s.list, findings.Finding{Rule: rule, Level: level, File: at.File, Line: at.Line, Object: object,
		Message: text.OneLine(fmt.Sprintf(format, args...))})
	return &s.list[len(s.list)-1]
}

// bundleIn returns what a catalog has of a bundle, or nil.
func bundleIn(c *catalog.Catalog, b *bundle.Bundle) *catalog.Bundle {
	if c.Packages[b.Package] == nil {
		return nil
	}
	return c.Packages[b.Package].Bundle(b.CSV.Name)
}

// read reads a committed catalog.
func (s *catalogSet) read(dir string) {
	c, err := catalog.Read(s.ctx, dir, catalog.Options{})
	switch {
	case err != nil:
		s.add("schema", findings.Error, catalog.Place{File: dir}, "", "not read: %v", err)
	case !lists.Any(maps.Values(c.Packages), func(p *catalog.Package) bool { return len(p.Bundles) > 0 }):
		s.say("%s has no bundle: it is not a whole catalog", dir)
	default:
		s.committed[dir] = c
	}
}

var ofOpenShift = lazy.Regexp(`(?:^|/)v([45]\.\d+)(?:/|\.yaml$|$)`)

// openShift returns the release that a path names, as catalogs/v4.17/NAME does; or "".
func (s *catalogSet) openShift(path string) string {
	m := ofOpenShift().FindStringSubmatch(filepath.ToSlash(strings.TrimPrefix(path, s.top)))
	if m == nil {
		return ""
	}
	return m[1]
}

// catalog judges a catalog by itself.
func (s *catalogSet) catalog(dir string) {
	added := map[string]bool{} // packages whose bundles are added when the catalog is built
	for _, p := range s.committed[dir].Packages {
		if len(p.Bundles) == 0 && s.own.Packages[p.Name] != nil {
			added["Package "+p.Name] = true
			s.say("%s has no bundle of %s: it is not a whole catalog", dir, p.Name)
		}
	}
	s.list = append(s.list, lists.Filter(resolve.Validate(s.committed[dir]), func(f findings.Finding) bool {
		return f.Level != findings.Note && (f.Rule != "no-bundle" || !added[f.Object])
	})...)
	if release := s.openShift(dir); release == "" || source.CompareVersions(release, "4.17") < 0 {
		return
	}
	for _, p := range s.committed[dir].Packages {
		for _, b := range p.Bundles {
			if b.Inlined() {
				s.add(ruleFormat, findings.Error, b.Place, "Bundle "+b.Name, "catalogs from v4.17 on must not have "+
					"olm.bundle.object: render it with --migrate-level bundle-object-to-csv-metadata")
			}
		}
	}
}

// template compares what a template makes with its catalogs, and returns it; nil if that is not known.
func (s *catalogSet) template(file string) (made *catalog.Catalog) {
	committed, dirs := lists.Keys(s.committed), s.makes[file]
	if s.top == s.root && dirs == nil { // no ci.yaml says what it makes
		dirs = lists.Filter(committed, func(dir string) bool {
			return len(committed) == 1 || s.openShift(dir) == s.openShift(file)
		})
	}
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	data, err := whole.ReadFile(file, budget.CatalogDoc)
	for _, dir := range dirs {
		var known []*catalog.Catalog // its own catalog says best what its images are
		for _, name := range append([]string{dir}, committed...) {
			if c := s.committed[name]; c != nil {
				known = append(known, c)
			}
		}
		if err == nil {
			made, err = catalog.FromTemplate(s.ctx, file, data, append(known, s.own)...)
		}
		if made != nil {
			s.list = append(s.list, lists.Filter(resolve.Validate(made), func(f findings.Finding) bool {
				return f.Rule == "unknown-field"
			})...)
		}
		if errors.Is(err, fs.ErrNotExist) || s.templates[file] == "olm.composite" {
			s.say("%s", strings.TrimSuffix(fmt.Sprintf("not rendered: %v; %s", err, manifest.HintOf(err)), "; "))
			return nil
		} else if err != nil {
			f := s.add(ruleTemplate, findings.Error, catalog.Place{File: file}, "", "%v", err)
			f.Hint = manifest.HintOf(err)
			return nil
		}
		if wrong := resolve.Validate(made); findings.Reaches(wrong, findings.Error) {
			s.list = append(s.list, wrong...)
			return nil
		}
		if dir != "" {
			s.compare(file, dir, made)
		}
	}
	return made
}

// compare compares what a template makes with a catalog.
func (s *catalogSet) compare(file, dir string, made *catalog.Catalog) {
	list, err := resolve.Compare(s.ctx, s.committed[dir], made)
	if err != nil {
		s.say("%s is not compared with %s: %v", file, dir, err)
	}
	list = slices.DeleteFunc(list, func(f findings.Finding) bool { return f.Rule == "package-text" })
	if s.list = append(s.list, list...); len(list) > 0 {
		s.add(ruleTemplate, findings.Warning, catalog.Place{File: file}, "", "%s is not what it makes, by %s: render "+
			"it again", dir, text.Count(len(list), "difference"))
	}
}

// release looks at the ways to a bundle from the catalogs that are there, unless one of them, or of those that
// templates make, has it.
func (s *catalogSet) release(x *opened, serving []*catalog.Catalog) {
	served := func(c *catalog.Catalog) bool { return bundleIn(c, x.bundle) != nil }
	if s.planned(x) || slices.ContainsFunc(serving, served) {
		return
	}
	at := bundleIn(s.own, x.bundle).Place
	if s.ci.FBC.Enabled {
		if !s.unsure {
			s.add(ruleStay, findings.Warning, at, "", "%s is in no catalog, no template and no release-config.yaml "+
				"that counts: nobody gets it", x.bundle.CSV.Name)
		}
		return
	}
	entry := catalog.EntryOf(x.bundle.CSV)
	s.planning = append(s.planning, entry)
	for _, c := range serving {
		if s.top == s.root && c.Packages[x.bundle.Package] != nil { // else the pipeline adds it
			s.say("%s is in no catalog and no template yet: nobody gets it before it is", entry.Name)
			s.named(x.bundle.Package, entry, findings.Warning, s.field(entry.Name, catalog.Replaces), "")
		}
		s.stay(at, c, x.bundle, x.bundle.Channels, entry, false)
	}
}

// leave finds older releases that no catalog and no template has, and from which nothing leads on. Those that are older
// than all others may have been left behind on purpose.
func (s *catalogSet) leave(p *catalog.Package, serving []*catalog.Catalog, released map[string]bool) {
	serving = lists.Filter(serving, func(c *catalog.Catalog) bool { return c.Packages[p.Name] != nil })
	if len(serving) == 0 || s.unsure {
		return
	}
	goOn := lists.Map(serving, func(c *catalog.Catalog) func(*catalog.Bundle) bool {
		return goingOn(c.Packages[p.Name])
	})
	left := map[findings.Severity][]*catalog.Bundle{}
	for _, b := range p.Bundles {
		goesOn := func(goesOn func(*catalog.Bundle) bool) bool { return goesOn(b) }
		planned := func(e catalog.Entry) bool { return updates(e, b) != catalog.NoEdge }
		if released[b.Name] || slices.ContainsFunc(goOn, goesOn) || slices.ContainsFunc(s.planning, planned) {
			continue
		}
		level := findings.Warning
		if slices.ContainsFunc(serving, func(c *catalog.Catalog) bool { return hasOlder(c.Packages[p.Name], b) }) {
			level = findings.Error
		}
		left[level] = append(left[level], b)
	}
	for level, list := range left {
		names := lists.Map(list, func(b *catalog.Bundle) string { return b.Name })
		f := s.add(ruleStay, level, list[0].Place, "", "users of %s stay: no catalog and no template has it, and no "+
			"entry leads from there", text.FirstOf(6, names))
		f.Hint = skipIt
	}
}

// goingOn returns a function that reports whether a catalog's package has a bundle, or leads from it to the head of a
// channel.
func goingOn(p *catalog.Package) func(*catalog.Bundle) bool {
	reaching := lists.Map(p.Channels, func(ch *catalog.Channel) func(string) (bool, error) {
		reaches, err := resolve.Reaches(p, ch.Name)
		if err != nil {
			return func(string) (bool, error) { return false, err }
		}
		return reaches
	})
	return func(b *catalog.Bundle) bool {
		for i, ch := range p.Channels {
			if ch.Entry(b.Name) != nil {
				return true
			}
			if good, err := reaching[i](b.Name); good || err != nil {
				return true
			}
		}
		return false
	}
}

func hasOlder(p *catalog.Package, than *catalog.Bundle) bool {
	v, _ := than.Version()
	return slices.ContainsFunc(p.Bundles, func(b *catalog.Bundle) bool {
		old, known := b.Version()
		return known && old.LT(v)
	})
}

// updates returns the field by which an entry updates a bundle.
func updates(e catalog.Entry, b *catalog.Bundle) catalog.EdgeKind {
	v, _ := b.Version()
	return e.Updates(b.Name, &v)
}
