package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

const ruleScope = "release/scope"

// Rules explains the findings of Check, in the order of their parts.
func Rules() []findings.Rule {
	return slices.Concat(rightsRules, catalogRules, []findings.Rule{
		{ID: ruleScope, Text: "what was looked at, and what was not"}})
}

// AllRules explains all that Check may find.
func AllRules() []findings.Rule {
	list := slices.Concat(validate.Rules(), Rules(), resolve.CatalogRules(), resolve.ComparisonRules())
	slices.SortStableFunc(list, func(a, b findings.Rule) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(list, func(a, b findings.Rule) bool { return a.ID == b.ID })
}

// Check judges the directory of an operator's repository, or of an operator in the repository of a catalog: the newest
// bundles of each package, the rights that others in the repository grant, and the catalogs and their templates.
// Without a cluster in the options, the oldest and the newest known release of OpenShift count that a bundle is for. It
// returns the number of bundles, too. It is an error if there is none.
func Check(ctx context.Context, root string, o validate.Options, helm charts.Renderer) (list []findings.Finding, n int,
	err error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		msg := "not a directory"
		if err != nil {
			msg = regular.Reason(err)
		}
		return nil, 0, &manifest.Error{File: root, Msg: msg,
			Tip: "--release takes the directory of an operator's repository"}
	}
	root = filepath.Clean(root)
	if abs, err := filepath.Abs(root); err == nil && root == "." && inCatalogs("..") {
		root = filepath.Join("..", filepath.Base(abs)) // as what stands beside it is named
	}
	r, err := look(ctx, root)
	if err != nil {
		return nil, 0, err
	}
	c := checker{ctx: ctx, root: r.root, options: o}
	var read []*opened
	for _, dir := range r.bundles {
		watch.Step(ctx, "reading bundles", len(r.bundles))
		x, err := c.open(dir)
		if err != nil {
			return nil, 0, err
		}
		if x != nil {
			read = append(read, x)
		}
	}
	if len(r.bundles) == 0 {
		return nil, 0, &manifest.Error{File: filepath.ToSlash(r.root), Msg: "it has no bundle: no directory with " +
			"manifests and metadata/annotations.yaml",
			Tip: "make the bundle first, or name the directory of an operator"}
	}
	for _, dir := range lists.Keys(r.lacking) {
		c.add(r.root, []findings.Finding{{Rule: ruleScope, Level: findings.Error, File: dir,
			Message: "it is left out: it looks like a release, and has no " + r.lacking[dir]}}, nil)
	}
	newest := c.newest(read)
	for _, x := range newest {
		if err := c.bundle(x); err != nil {
			return nil, 0, err
		}
		found, looked, err := rights(ctx, x, newest, r, helm)
		if err != nil {
			return nil, 0, err
		}
		c.add(r.root, found, looked)
	}
	operators, err := r.operators(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, of := range operators {
		found, looked := catalogs(ctx, of, append(of.has(read), of.beside(ctx, r)...), of.has(newest))
		c.add(of.root, found, looked)
	}
	findings.Sort(c.list)
	return slices.Compact(c.list), len(newest) + c.refused, ctx.Err()
}

type checker struct {
	ctx     context.Context
	root    string
	options validate.Options
	list    []findings.Finding
	refused int // bundles that nothing else is said of
}

// opened is a bundle of the repository.
type opened struct {
	dir    string
	source *source.Source
	bundle *bundle.Bundle
}

// add adds findings whose files are paths for the user, and notes about a directory.
func (c *checker) add(dir string, found []findings.Finding, looked []string) {
	for _, f := range found {
		f.Source, f.Path = c.root, filepath.ToSlash(f.File)
		c.list = append(c.list, f)
	}
	for _, said := range looked {
		at := filepath.ToSlash(dir)
		c.list = append(c.list, findings.Finding{Rule: ruleScope, Level: findings.Note, Source: c.root, File: at,
			Path: at, Message: said})
	}
}

// placeholder is what a program fills in before a bundle is built.
var placeholder = lazy.Regexp(`\$\{\w+\}|\{\{.*\}\}`)

// open reads a bundle. It returns nil for one that is refused, which is a finding.
func (c *checker) open(dir string) (*opened, error) {
	x, err := readBundle(c.ctx, dir)
	if x == nil {
		return nil, err
	}
	if e, ok := errors.AsType[*manifest.Error](err); ok && e.Err != nil {
		return nil, err
	}
	if err != nil && placeholder().MatchString(err.Error()) {
		c.add(c.root, nil,
			[]string{fmt.Sprintf("%s is not looked at: it is a template: %v", filepath.ToSlash(dir), err)})
		return nil, nil
	}
	if err != nil {
		c.list = append(c.list, validate.Located(x.source, validate.Refused(err))...)
		c.add(c.root, nil, []string{dir + " is refused: its rights and its place in catalogs are not judged"})
		c.refused++
		return nil, nil
	}
	return x, err
}

// readBundle returns a bundle, and of one that cannot be read its source.
func readBundle(ctx context.Context, dir string) (*opened, error) {
	src, err := source.Open(ctx, dir, source.Options{})
	if err != nil {
		return nil, err
	}
	b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true})
	return &opened{filepath.ToSlash(dir), src, b}, err
}

// newest returns the bundles that are to be released: those of the newest version of each package that none
// replaces.
func (c *checker) newest(read []*opened) (list []*opened) {
	for _, of := range lists.Groups(read, func(x *opened) string { return x.bundle.Package }) {
		version := func(x *opened) string { return x.bundle.CSV.Spec.Version.String() }
		replaced := lists.Set(of, func(x *opened) string { return x.bundle.CSV.Spec.Replaces })
		heads := lists.Filter(of, func(x *opened) bool { return !replaced[x.bundle.CSV.Name] })
		if len(heads) == 0 { // a circle
			heads = of
		}
		last := slices.MaxFunc(heads, func(a, b *opened) int { return source.CompareVersions(version(a), version(b)) })
		older := 0
		for _, x := range of {
			if version(x) == version(last) {
				list = append(list, x)
			} else {
				older++
			}
		}
		if older > 0 {
			c.add(c.root, nil, []string{fmt.Sprintf("the release of %s is %s: of %s only the place in the update "+
				"graph counts", last.bundle.Package, version(last), text.Count(older, "older bundle"))})
		}
	}
	return list
}

// bundle adds what validate says of a bundle in the releases that it is for, and whether OLM v1 installs it there.
func (c *checker) bundle(x *opened) error {
	o, clusters := c.options, []fit.Cluster(nil)
	if !o.Cluster.Known() && o.Form == "" {
		clusters = c.releases(x)
	}
	if len(clusters) > 0 {
		o.Cluster = clusters[len(clusters)-1]
	}
	list, err := validate.Read(c.ctx, x.source, x.bundle, o)
	if err != nil {
		return err
	}
	at := func(f findings.Finding) findings.Finding {
		return findings.Finding{Rule: f.Rule, File: f.File, Line: f.Line}
	}
	said, refused := lists.Set(list, at), validate.Refusals(list)
	for i, cluster := range clusters {
		if i < len(clusters)-1 {
			found, verdict := validate.Fit(x.bundle, fit.OLMv0, cluster, refused)
			list = append(list, lists.Filter(found, func(f findings.Finding) bool { return !said[at(f)] })...)
			list = append(list, verdict)
		}
		_, verdict := validate.Fit(x.bundle, fit.OLMv1, cluster, refused)
		list = append(list, verdict)
	}
	c.list = append(c.list, validate.Located(x.source, list)...)
	return nil
}

// releases returns the oldest and the newest known release of OpenShift that a bundle is for: not those of later
// minor versions than its olm.maxOpenShiftVersion.
func (c *checker) releases(x *opened) (clusters []fit.Cluster) {
	said := x.bundle.Annotations[olm.AnnotationOpenShiftVersions]
	first, last, err := olm.OpenShiftCatalogs(said)
	var known []string
	within := func(last semver.Version) []string {
		return lists.Map(versions.Within(versions.OpenShift, first, last), versions.Release.Number)
	}
	if err == nil {
		known = within(last)
	}
	if newest, bad := fit.OfBundle(x.bundle).MaxOpenShift(); err == nil && bad == nil && newest != "" {
		limit, _ := semver.ParseTolerant(newest)
		allowed := within(limit)
		if both := lists.Filter(known, func(n string) bool { return slices.Contains(allowed, n) }); len(both) > 0 {
			known = both
		}
	}
	if len(known) == 0 {
		c.add(c.root, nil, []string{fmt.Sprintf("whether %s works is not asked: olmgen knows no release of OpenShift "+
			"in %q", x.bundle.CSV.Name, said)})
		return nil
	}
	ends := known[len(known)-1:]
	if said != "" && len(known) > 1 {
		ends = []string{known[0], ends[0]}
	}
	for _, number := range ends {
		cluster, err := fit.GivenBy("", number, "").Read()
		if err == nil {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}
