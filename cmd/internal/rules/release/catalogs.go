package release

import (
	"cmp"
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
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/source"
)

const (
	ruleGraph    = "release/update-graph"
	ruleStay     = "release/users-stay"
	ruleFormat   = "release/bundle-format"
	ruleTemplate = "release/template"
	ruleCI       = "release/pipeline-files"
)

const fromPipelines = "Source: redhat-openshift-ecosystem/operator-pipelines, operatorcert/"

// catalogRules explains the findings of catalogs, beside resolve.CatalogRules, resolve.ComparisonRules and
// fit.RuleRemoved.
var catalogRules = []findings.Rule{
	{ID: ruleGraph, Text: "bundles without file-based catalogs dangle, go round, replace none, or have several names",
		Help: fromPipelines + "static_tests/community, static_tests/common."},
	{ID: ruleStay, Text: "nothing leads from what users run to the new release",
		Help: "Source: operator-registry, alpha/model; OLM, pkg/controller/registry/resolver/resolver.go."},
	{ID: ruleFormat, Text: "a catalog from v4.17 on holds bundles as olm.bundle.object",
		Help: fromPipelines + "static_tests/common/operator_catalogs.py."},
	{ID: ruleTemplate, Text: "a template cannot be rendered, or a catalog is not what its template makes",
		Help: "Source: operator-registry, alpha/template."},
	{ID: ruleCI, Text: "ci.yaml or release-config.yaml is wrong",
		Help: fromPipelines + "schemas, static_tests/common, entrypoints/add_bundle_to_fbc.py."},
}

// catalogSet is what the repository of an operator has of catalogs.
type catalogSet struct {
	ctx             context.Context
	root, top       string                      // the directory of the operator, and that of the repository
	dirs, committed map[string]*catalog.Catalog // of one bundle each, and file-based ones; by directory
	kinds           map[string]string           // the schemas of templates
	templates       map[string][]string         // the directories of the catalogs that each makes
	ci              ci
	list            []findings.Finding
	said            []string
}

// catalogs judges the catalogs, the templates and the pipeline's files of an operator for the release of bundles. The
// texts say what was looked at and what was not.
func catalogs(ctx context.Context, root string, bundles []*bundle.Bundle) ([]findings.Finding, []string, error) {
	s := &catalogSet{ctx: ctx, root: filepath.Clean(root), dirs: map[string]*catalog.Catalog{},
		committed: map[string]*catalog.Catalog{}, kinds: map[string]string{}, templates: map[string][]string{}}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, err
	}
	s.top = s.root
	roots := []string{s.root}
	if name := filepath.Base(abs); filepath.Base(filepath.Dir(abs)) == "operators" { // the repository of a catalog
		s.top = filepath.Join(s.root, "..", "..")
		more, _ := filepath.Glob(filepath.Join(s.top, "catalogs", "*", name))
		roots = append(roots, more...)
	}
	for _, dir := range roots {
		if err := s.find(dir); err != nil {
			return nil, nil, err
		}
	}
	s.pipeline(filepath.Base(abs))
	for _, dir := range lists.Keys(s.committed) {
		s.catalog(dir)
	}
	made := map[string]*catalog.Catalog{}
	for _, file := range lists.Keys(s.kinds) {
		made[file] = s.template(file)
	}
	for _, b := range bundles {
		for _, dir := range lists.Keys(s.dirs) {
			if at := bundleIn(s.dirs[dir], b); at != nil {
				s.graph(b, at.Place)
				s.release(b, at.Place, made)
			}
		}
	}
	s.say("looked at %s, %s and %s", text.Count(len(s.dirs), "bundle"), text.Count(len(s.committed), "catalog"),
		text.Count(len(s.kinds), "template"))
	findings.Sort(s.list)
	return slices.Compact(s.list), lists.Unique(s.said), ctx.Err()
}

// bundleIn returns what a catalog has of a bundle, or nil.
func bundleIn(c *catalog.Catalog, b *bundle.Bundle) *catalog.Bundle {
	if c == nil || c.Packages[b.Package] == nil {
		return nil
	}
	return c.Packages[b.Package].Bundle(b.CSV.Name)
}

func (s *catalogSet) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *catalogSet) add(rule string, level findings.Severity, at catalog.Place, object, format string, args ...any) {
	s.list = append(s.list, findings.Finding{Rule: rule, Level: level, File: at.File, Line: at.Line, Object: object,
		Message: text.OneLine(fmt.Sprintf(format, args...))})
}

var (
	holdsTemplate = lazy.Regexp(`chema"? *: *["']?(olm\.(?:template\.basic|semver|composite))\b`)
	holdsCatalog  = lazy.Regexp(`chema"? *: *["']?olm\.(?:package|channel|bundle)\b`)
	ofOpenShift   = lazy.Regexp(`(?:^|/)v([45]\.\d+)(?:/|\.yaml$|$)`)
)

// find reads the bundles and the catalogs below a directory, and the names of the templates.
func (s *catalogSet) find(root string) error {
	at := "." // the directory of a catalog
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil || s.ctx.Err() != nil:
			return cmp.Or(s.ctx.Err(), err)
		case e.IsDir() && source.IsAnnotated(path):
			s.read(path, s.dirs)
			return fs.SkipDir
		case e.IsDir() && slices.Contains([]string{".git", "vendor", "node_modules", "testdata"}, e.Name()):
			return fs.SkipDir
		case !e.Type().IsRegular() || ext != ".yaml" && ext != ".yml" && ext != ".json":
			return nil
		}
		data, err := whole.ReadFile(path, budget.Catalog)
		if err != nil {
			s.say("not read: %v", err)
		} else if m := holdsTemplate().FindSubmatch(data); m != nil {
			s.kinds[path] = string(m[1])
		} else if holdsCatalog().Match(data) && !strings.HasPrefix(path, at+string(filepath.Separator)) {
			if at = filepath.Dir(path); at == s.root { // others than catalogs are there, too
				at = path
			}
			s.read(at, s.committed)
		}
		return nil
	})
}

// read reads a catalog, or a bundle as one.
func (s *catalogSet) read(dir string, into map[string]*catalog.Catalog) {
	c, err := catalog.Read(s.ctx, dir, catalog.Options{})
	switch {
	case err == nil && len(c.Packages) == 0:
		s.say("not read: %v", c.Faulty[0])
	case err != nil:
		s.add("schema", findings.Error, catalog.Place{File: dir}, "", "not read: %v", err)
	case !lists.Any(maps.Values(c.Packages), func(p *catalog.Package) bool { return len(p.Bundles) > 0 }):
		s.say("%s has no bundle: it is not a whole catalog", dir)
	default:
		into[dir] = c
	}
}

// openShift returns the release that a path names, as catalogs/v4.17/NAME does; or "".
func (s *catalogSet) openShift(path string) string {
	m := ofOpenShift().FindStringSubmatch(filepath.ToSlash(strings.TrimPrefix(path, s.top)))
	if m == nil {
		return ""
	}
	return m[1]
}

// template compares what a template makes with its catalogs, and returns it; nil if that is not known.
func (s *catalogSet) template(file string) (made *catalog.Catalog) {
	dirs, known := s.templates[file], append(lists.Keys(s.committed), lists.Keys(s.dirs)...)
	if s.top == s.root && dirs == nil { // no ci.yaml says what it makes
		dirs = lists.Filter(lists.Keys(s.committed), func(dir string) bool {
			return len(s.committed) == 1 || s.openShift(dir) == s.openShift(file)
		})
		s.templates[file] = dirs
	}
	data, err := whole.ReadFile(file, budget.CatalogDoc)
	for _, dir := range append(slices.Clone(dirs), "") {
		var of []*catalog.Catalog // its own catalog says best what its images are
		for _, name := range append([]string{dir}, known...) {
			if c := cmp.Or(s.committed[name], s.dirs[name]); c != nil {
				of = append(of, c)
			}
		}
		if err == nil {
			made, err = catalog.FromTemplate(s.ctx, file, data, of...)
		}
		if errors.Is(err, fs.ErrNotExist) || s.kinds[file] == "olm.composite" {
			s.say("not rendered: %v", err)
			return nil
		} else if err != nil {
			s.add(ruleTemplate, findings.Error, catalog.Place{File: file}, "", "%v", err)
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

// release looks at the ways from the catalogs that are there to a bundle, and at what their OpenShift serves of it.
func (s *catalogSet) release(b *bundle.Bundle, at catalog.Place, made map[string]*catalog.Catalog) {
	dir := filepath.Dir(filepath.Dir(at.File))
	in, planned := s.planned(dir, b) // the catalogs that get it
	for _, c := range lists.Keys(s.committed) {
		if bundleIn(s.committed[c], b) != nil {
			in = append(in, c)
		}
	}
	for _, file := range lists.Keys(made) {
		if bundleIn(made[file], b) != nil {
			in = append(in, s.templates[file]...)
		}
	}
	if len(in) == 0 && !planned && s.ci.FBC.Enabled {
		s.say("%s is in no catalog, no template and no release-config.yaml that counts: nobody gets it", b.CSV.Name)
	} else if len(in) == 0 && !planned {
		for _, c := range lists.Keys(s.committed) {
			s.stay(at, c, b, b.Channels, catalog.EntryOf(b.CSV), false)
		}
	}
	newest := ""
	if releases := lists.Map(in, s.openShift); len(releases) > 0 {
		newest = slices.MaxFunc(releases, source.CompareVersions)
	}
	cluster, _ := fit.GivenBy("", newest, "").Read() // of one that is not known nothing is said
	for _, f := range fit.Removed(b.Shipped(), cluster) {
		f.File, f.Message = filepath.Join(dir, filepath.FromSlash(f.File)), f.Message+" (catalog v"+newest+")"
		s.list = append(s.list, f)
	}
}
