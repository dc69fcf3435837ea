package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

type diffFlags struct {
	render     renderFlags
	format     findings.Format
	failOn     failOn
	git        string
	oldVersion string
	cluster    clusterFlags
	target     targetFlags
	catalogs   treeCatalogs
	roots      treeFlags
	// oldCatalogs are the catalogs of OLD, where they are not those of NEW.
	oldCatalogs []string
	moved       []string // catalogs whose image changes, and that have one content
	crdRules    string
	accounts    []string
}

func newDiff() *cobra.Command {
	f := diffFlags{format: findings.Text, roots: treeFlags{inNotes: true, several: true},
		catalogs: treeCatalogs{reader: &review.ContentReader{}}}
	cmd := command("diff OLD NEW | --git REV[..REV] [PATH]",
		"What does this upgrade change? Show the most dangerous first",
		func(cmd *cobra.Command, given []string) error {
			if f.git != "" {
				return args(0, 1, "")(cmd, given)
			}
			return args(2, 2, "OLD or NEW")(cmd, given)
		}, f.run)
	flags := cmd.Flags()
	formatFlag(cmd, &f.format, print.Formats)
	f.cluster.programs.register(flags)
	failOnFlag(cmd, &f.failOn, triggers())
	flags.StringVar(&f.git, "git", "", "compare PATH in this Git `REVISION` with the work tree, or in REV..REV")
	flags.StringVar(&f.oldVersion, "old-version", "",
		"the `VERSION` of OLD in a catalog, where --version is that of NEW")
	f.cluster.register(flags)
	f.target.register(cmd, false)
	f.target.registerDate(cmd, &f.failOn)
	f.catalogs.register(flags)
	f.roots.register(cmd)
	flags.StringArrayVar(&f.oldCatalogs, "old-catalog", nil,
		"content of a CatalogSource or ClusterCatalog for OLD, `[[NAMESPACE/]NAME=]DIR`; others are as for NEW; "+
			"may be repeated")
	flags.StringVar(&f.crdRules, "crd-rules", "", "`FILE` with the severities of the rules about CRDs")
	flags.StringArrayVar(&f.accounts, "account", nil, "accounts of OLD and NEW that are compared as one, "+
		"`OLD=NEW`, by [NAMESPACE/]NAME each; may be repeated")
	f.render.register(cmd, reviewed)
	return cmd
}

func triggersHelp() string {
	var b strings.Builder
	for _, t := range compare.Triggers {
		lines := text.Wrap(t.Text, columns-22)
		fmt.Fprintf(&b, "  %-18s %s\n", t.Trigger, lines[0])
		for _, l := range lines[1:] {
			fmt.Fprintf(&b, "  %-18s %s\n", "", l)
		}
	}
	return b.String()
}

func triggers() (names []string) {
	for _, t := range compare.Triggers {
		names = append(names, string(t.Trigger))
	}
	return names
}

// clusterFlags say what is in the cluster, for what OLM would do with an upgrade.
type clusterFlags struct {
	trees, crs []string
	programs   programFlags // what asks the API server of it

	ofTrees, ofCRs []tree.Cluster
	compared       []string // clusters, one by one
}

func (f *clusterFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.trees, "tree", nil,
		"`PATH` with what else is in the cluster, for what OLM would do: operators, CRDs with their status, custom "+
			"resources; may be repeated")
	flags.StringArrayVar(&f.crs, "crs", nil,
		"`PATH` with custom resources that exist, to check against the CRDs of NEW; may be "+
			"repeated")
}

func (f *diffFlags) run(cmd *cobra.Command, given []string) (err error) {
	var sides [2]side
	if f.git != "" {
		var remove func()
		if sides, remove, err = f.checkout(given); err != nil {
			return err
		}
		defer remove()
	} else {
		sides = [2]side{{Revision: review.Revision{Ref: given[0], Name: given[0]}, old: true, version: f.oldVersion},
			{Revision: review.Revision{Ref: given[1], Name: given[1]}}}
	}
	if sides[0].Ref == tree.Stdin && sides[1].Ref == tree.Stdin {
		return &usageError{"OLD and NEW are both -, and there is one stdin", "write one of them to a file"}
	}
	if err := f.refuseTreeFlags(cmd, sides); err != nil {
		return err
	}
	named := func(text string) string { return sides[1].Named(sides[0].Named(text)) }
	if f.git != "" {
		stderr := cmd.ErrOrStderr()
		cmd.SetErr(&renamingWriter{stderr, named})
		defer cmd.SetErr(stderr)
	}
	report, err := f.compare(cmd, sides)
	if err != nil {
		return f.oneBundle(renamedError(err, named), err, given)
	}
	if err := print.Report(cmd.OutOrStdout(), report, f.format); err != nil {
		return err
	}
	leadToAdopt(cmd, [2]string{sides[0].Ref, sides[1].Ref})
	if err := unreadError(report.Missing()); err != nil {
		return err
	}
	if on := f.failOn.met(report.Meets); on != "" {
		return &foundError{fmt.Sprintf("%s and %s differ: %s", sides[0].Name, sides[1].Name, on)}
	}
	return nil
}

// oneBundle has an error about a directory of bundles lead to the comparison of the two newest.
func (f *diffFlags) oneBundle(said, err error, given []string) error {
	several, ok := errors.AsType[versionsError](err)
	if !ok {
		return said
	}
	dir, versions := several.Bundles()
	if f.git != "" { // it is in a copy
		dir = append(slices.Clone(given), ".")[0]
		versions = lists.Map(source.BundlesAt(dir), filepath.Base)
		slices.SortFunc(versions, source.CompareVersions)
	}
	n := len(versions)
	if n < 2 {
		return said
	}
	message, _ := config.ErrorText(said, func(manifest.Option) string { return "" })
	return manifest.WithHint(errors.New(message), fmt.Sprintf("olmgen diff %s %s compares two of them",
		text.Shell(filepath.Join(dir, versions[n-2])), text.Shell(filepath.Join(dir, versions[n-1]))))
}

// leadToAdopt prints what compares a dump of a cluster with what a RenderConfig renders to, if that was given: the
// whole cluster differs from it.
func leadToAdopt(cmd *cobra.Command, sides [2]string) {
	for i, ref := range sides {
		file := renderedBy(ref)
		if file == "" {
			continue
		}
		if is, dump := materialOf(sides[1-i]); is == aDump {
			say(cmd, findings.Note, "olmgen adopt --verify "+text.Shell(dump)+" -f "+text.Shell(file)+
				" compares the operators of a cluster with what is rendered of them", "%s is a dump of a cluster, and "+
				"the other side is rendered: all else that the cluster has differs, too", dump)
		}
	}
}

// renderedBy returns the RenderConfig that a reference is, or that a directory was rendered from; "" without one.
func renderedBy(ref string) string {
	const largest = 1 << 20 // a dump is not read for it
	switch info, err := os.Stat(ref); {
	case err != nil:
	case info.IsDir():
		sources, _ := output.RecordedSources(ref) // a directory that nobody rendered has none
		for _, s := range sources {
			if s.Config != "" {
				return filepath.Join(ref, filepath.FromSlash(s.Config))
			}
		}
	case info.Size() < largest:
		if is, file := materialOf(ref); is == aConfig {
			return file
		}
	}
	return ""
}

// refuseTreeFlags refuses flags about trees that are not there. A side that is not there yet may become one.
func (f *diffFlags) refuseTreeFlags(cmd *cobra.Command, sides [2]side) error {
	refs := lists.Map(sides[:], func(s side) string {
		if s.Empty {
			return tree.Stdin
		}
		return s.Ref
	})
	about := catalogFlags
	if len(f.cluster.trees)+len(f.cluster.crs) == 0 {
		about = aboutTrees
	}
	return cmp.Or(refuseTreeFlags(cmd, refs, about...), refuseTreeFlags(cmd, refs[:1], "old-catalog"))
}

// compare reads both sides, and compares them cluster by cluster.
func (f *diffFlags) compare(cmd *cobra.Command, sides [2]side) (comparison, error) {
	on, options, err := f.prepare(cmd, sides)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(f.readTrees(cmd, &sides), f.roots.checkRepos()); err != nil {
		return nil, err
	}
	for _, value := range f.roots.repos {
		address, _, _ := strings.Cut(value, "=")
		note(cmd, "--repo has one state of %s: a change of the revision that the tree names is not compared", address)
	}
	values := slices.Concat(f.catalogs.values, f.oldCatalogs)
	settle(sides[0].tree, sides[1].tree, values, options.Cluster)
	if err := checkCatalogNames(cmd, values, options.Cluster, sides[0].tree, sides[1].tree); err != nil {
		return nil, err
	}
	f.catalogs.checked = true
	options.Charts = tree.ChangedCharts(sides[0].tree, sides[1].tree)
	options.Ignored = tree.Ignored(sides[0].tree, sides[1].tree)
	for _, name := range tree.ChangedTemplates(sides[0].tree, sides[1].tree) {
		why, hint := "a template, or no YAML", ""
		if path.Base(name) == "manifests" {
			why, hint = "it is of a bundle", "olmgen diff OLD NEW compares the directories of two bundles"
		}
		say(cmd, findings.Note, hint, "%s changes, and is not read: %s", name, why)
	}
	configs := tree.ChangedConfigs(sides[0].tree, sides[1].tree)
	known, undecided, said := review.Known([2]*tree.Tree{sides[0].tree, sides[1].tree})
	changed, alike := tree.Broken(known[0], known[1])
	options.Unbuilt = lists.Map(changed, (*manifest.Error).Error)
	options.Before = lists.Map(alike, (*manifest.Error).Error)
	if old, now := sides[0].tree, sides[1].tree; cmp.Or(now, old) != nil {
		f.roots.say(cmd, old, cmp.Or(now, old), changed)
	}
	sides[0].tree, sides[1].tree, options.Undecided = known[0], known[1], undecided
	report, err := f.compareKnown(cmd, sides, said, on, options)
	for _, name := range lists.Unique(f.moved) {
		say(cmd, findings.Warning, "--old-catalog has the content of OLD", "the image of catalog %s changes, and "+
			"--catalog has the content of one image", name)
	}
	if err == nil && !report.Meets(compare.AnyDifference) {
		for _, name := range configs {
			say(cmd, findings.Note, "render it, and commit what changes",
				"%s changes, and nothing that it renders to", name)
		}
	}
	return report, err
}

// compareKnown compares what is known of two sides. said is what is said of a cluster already.
func (f *diffFlags) compareKnown(cmd *cobra.Command, sides [2]side, said map[string][]findings.Finding,
	on review.TreeOptions, options compare.Options) (comparison, error) {
	if !slices.ContainsFunc(sides[:], func(s side) bool { return s.tree == nil && !s.Empty }) { // both are trees
		pairs := review.ClusterPairs([2]*tree.Tree{sides[0].tree, sides[1].tree})
		if len(pairs) > 1 {
			return f.compareClusters(cmd, sides, pairs, said, on, options)
		}
	}
	for _, cluster := range lists.Keys(said) {
		options.Said = append(options.Said, said[cluster]...)
	}
	return f.compareSides(cmd, sides, on, options)
}

// prepare reads what the flags say of the cluster.
func (f *diffFlags) prepare(cmd *cobra.Command, sides [2]side) (on review.TreeOptions, options compare.Options,
	err error) {
	if !slices.ContainsFunc(sides[:], side.isSource) {
		if err := f.render.refuseRenderFlags(cmd, "neither OLD nor NEW is one", "namespace"); err != nil {
			return on, options, err
		}
	}
	if f.oldVersion != "" && !sides[0].isSource() {
		return on, options, &usageError{"--old-version is for a SOURCE, and OLD is not one", "leave it out"}
	}
	options = compare.Options{Chosen: !f.modeGiven() && slices.ContainsFunc(sides[:], side.isSource)}
	if options.Accounts, err = accountPairs(f.accounts); err != nil {
		return on, options, err
	}
	if err := f.cluster.read(cmd, &f.roots, &options); err != nil {
		return on, options, err
	}
	on = review.TreeOptions{Cluster: slices.Concat(options.Cluster, options.CRDs.Objects),
		Checker: apiserver.Checker{}, API: options.API}
	target, err := f.target.checked()
	f.roots.cluster, on.Target = target, target
	if err != nil {
		return on, options, err
	}
	form := fit.Form("")
	if profile, given := f.render.options.Text(option.Profile); given {
		form = fit.Form(generate.Profile(profile).Installer())
	}
	options.Unfit, options.Moves = review.Unfit(target, form), review.Moves(target, form)
	if f.crdRules != "" {
		data, err := readNamed(f.crdRules, budget.File, "name a file with rules: see docs/crds.md")
		if err != nil {
			return on, options, err
		}
		if options.CRDs.Rules, err = crds.ParseRules(filepath.ToSlash(f.crdRules), data); err != nil {
			return on, options, err
		}
	}
	return on, options, nil
}

// comparison is a report on the differences of two sides, or several of their clusters.
type comparison interface {
	Meets(t compare.Trigger) bool
	Missing() []string
}

func (f *diffFlags) compareSides(cmd *cobra.Command, sides [2]side, on review.TreeOptions, o compare.Options) (
	*compare.Report, error) {
	o = f.cluster.before(sides, o)
	on.Cluster = slices.Concat(o.Cluster, o.CRDs.Objects)
	if sides[1].Empty && sides[0].tree != nil { // it is played on what OLD leaves
		sides[1].tree = &tree.Tree{}
	}
	if sides[1].tree != nil {
		on.Next = sides[1].tree.Objects
	}
	old, err := f.read(cmd, sides[0], on)
	if err != nil {
		return nil, err
	}
	on.Over, on.Next = old, nil
	now, err := f.read(cmd, sides[1], on)
	if err != nil {
		return nil, err
	}
	switch {
	case sides[0].Empty:
		now.Note = sides[0].Name + " is not there yet: everything is new"
	case sides[1].Empty:
		now.Note = sides[1].Name + " is not there any more: its objects are pruned"
	}
	return review.Compare(cmd.Context(), old, now, [2]string{sides[0].Name, sides[1].Name}, o)
}

func (f *clusterFlags) read(cmd *cobra.Command, roots *treeFlags, o *compare.Options) (err error) {
	o.CRDs.Memo = &crds.Memo{}
	if o.API, err = f.programs.kubernetes(cmd); err != nil {
		return err
	}
	if len(f.crs) > 0 {
		t, err := roots.read(cmd, f.crs, tree.Options{})
		if err != nil {
			return err
		}
		saySkipped(cmd, t)
		for _, e := range t.Strays {
			warn(cmd, "%v", e)
		}
		if err := requireObjects(t, f.crs...); err != nil {
			return fmt.Errorf("--crs: %w", err)
		}
		o.CRDs.Objects, o.Unread, f.ofCRs = t.Objects, t.Unread(), t.Clusters(nil)
	}
	if len(f.trees) > 0 {
		t, err := roots.read(cmd, f.trees, tree.Options{})
		if err != nil {
			return err
		}
		if err := requireObjects(t, f.trees...); err != nil {
			return fmt.Errorf("--tree: %w", err)
		}
		saySkipped(cmd, t)
		others, err := review.FromObjects(t.Objects, permissions.Operator{Name: strings.Join(f.trees, ", ")}, "")
		if err != nil {
			return err
		}
		o.Others, o.Cluster = others.Operators, others.All
		o.Unread, f.ofTrees = append(o.Unread, t.Unread()...), t.Clusters(nil)
	}
	return nil
}

// before leaves what is in the cluster before the change: not what NEW adds, and nothing of other clusters, where a
// tree has several and one of them has the name of the side.
func (f *clusterFlags) before(sides [2]side, o compare.Options) compare.Options {
	if len(f.crs)+len(f.trees) == 0 {
		return o
	}
	name := sides[1].Name[strings.LastIndex(sides[1].Name, ":")+1:]
	same := func(a, b string) bool {
		return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
	}
	key := func(x *manifest.Object) string { return world.Key(x, "") }
	var has [2]map[string]*manifest.Object
	for i, s := range sides {
		if s.tree != nil {
			has[i] = lists.By(s.tree.Objects, key)
		}
	}
	there := func(x *manifest.Object) bool {
		k := key(x)
		added := has[0][k] == nil && has[1][k] != nil && world.Same(x, has[1][k])
		return !added || sides[0].tree == nil && !sides[0].Empty
	}
	is := func(name string, c tree.Cluster) bool { return same(name, c.Name) || same(name, c.Rel) }
	of := func(all []*manifest.Object, clusters []tree.Cluster) []*manifest.Object {
		in := lists.Filter(clusters, func(c tree.Cluster) bool { return is(name, c) })
		if len(in) != 1 { // without those that are compared beside this one
			in = lists.Filter(clusters, func(c tree.Cluster) bool {
				return is(name, c) || !slices.ContainsFunc(f.compared, func(other string) bool { return is(other, c) })
			})
		}
		if len(in) < len(clusters) {
			all = slices.Concat(lists.Map(in, func(c tree.Cluster) []*manifest.Object { return c.Objects })...)
		}
		return lists.Filter(all, there)
	}
	o.CRDs.Objects, o.Cluster = of(o.CRDs.Objects, f.ofCRs), of(o.Cluster, f.ofTrees)
	in := lists.Set(o.Cluster, func(x *manifest.Object) *manifest.Object { return x })
	o.Others = lists.Filter(o.Others, func(x compare.Operator) bool { return x.Object == nil || in[x.Object] })
	return o
}

// read reads one side, and plays a tree on what is there. A NEW source goes to the namespace and OperatorGroup of OLD.
func (f *diffFlags) read(cmd *cobra.Command, s side, on review.TreeOptions) (*review.Subject, error) {
	switch {
	case s.Empty && s.tree == nil:
		return review.FromObjects(nil, permissions.Operator{}, "")
	case source.IsRenderConfig(s.Ref):
		return f.render.reviewConfig(cmd, s.Ref, s.Revision)
	case s.tree != nil:
		catalogs := &f.catalogs // keeps the images that it has read
		if s.old {
			catalogs = new(f.catalogs)
			var moved []string
			catalogs.values, moved = review.OfOld(f.oldCatalogs, f.catalogs.values, s.tree.Objects, on.Next)
			f.moved = append(f.moved, moved...)
		}
		return f.render.reviewTree(cmd, s.tree, []string{s.Ref}, catalogs, on)
	case !s.old && len(on.Over.Operators) == 1:
		profile, _ := f.render.options.Text(option.Profile)
		descoped := profile == string(generate.ProfileDescoped) // has no install mode
		return review.Upgrade(on.Over, f.modeGiven() || descoped,
			func(change func(*config.Group)) (*review.Subject, error) { return f.source(cmd, s, change) })
	}
	return f.source(cmd, s, nil)
}

// modeGiven reports whether the user chose the install mode or the target namespaces.
func (f *diffFlags) modeGiven() bool {
	_, mode := f.render.options.Text(option.InstallMode)
	_, targets := f.render.options.Text(option.TargetNamespaces)
	return mode || targets
}

func (f *diffFlags) source(cmd *cobra.Command, s side, change func(*config.Group)) (*review.Subject, error) {
	r, err := f.render.reviewSource(cmd, s.Ref, func(g *config.Group) {
		b := &g.Bundles[0]
		b.Version = cmp.Or(s.version, b.Version)
		if change != nil {
			change(g)
		}
	})
	if err == nil {
		r.MovePaths(func(_ int, file string) string { return s.Named(review.PathIn(s.Ref, file)) })
	} else if _, ok := errors.AsType[*bundle.ChoiceError](err); ok && s.old && f.oldVersion != "" {
		err = manifest.WithHint(err, "name another OLD, or leave out --old-version")
	}
	return r, err
}

type side struct {
	review.Revision
	old     bool
	tree    *tree.Tree
	version string // what to choose from a catalog, if it is not what the flags say
}

func (s side) isTree() bool { return !s.Empty && isTree(s.Ref) }

func (s side) isSource() bool {
	return !s.Empty && !source.IsRenderConfig(s.Ref) && !review.IsTree(s.Ref)
}

// checkout reads PATH at the Git revisions of --git.
func (f *diffFlags) checkout(given []string) (sides [2]side, remove func(), err error) {
	oldRev, newRev, two := strings.Cut(f.git, "..")
	if strings.HasPrefix(newRev, ".") {
		return sides, nil, &usageError{"--git REV...REV is not known", "write REV..REV, perhaps with git merge-base"}
	}
	if oldRev == "" || two && newRev == "" {
		return sides, nil, &usageError{fmt.Sprintf("--git %q has an empty revision", f.git), "write REV or REV..REV"}
	}
	revisions, remove, err := review.Checkout(append(given, ".")[0], oldRev, newRev)
	for i, r := range revisions {
		sides[i] = side{Revision: r, old: i == 0}
	}
	return sides, remove, err
}

func (f *diffFlags) readTrees(cmd *cobra.Command, sides *[2]side) (err error) {
	for i := range sides {
		s := &sides[i]
		if !s.isTree() {
			continue
		}
		o := tree.Options{Top: s.Root, Plain: true}
		if s.Root != "" {
			revision, below, _ := strings.Cut(s.Name, ":")
			o.Named = func(rel string) string { return revision + ":" + path.Join(below, rel) }
		}
		other := sides[1-i]
		if s.Ref != tree.Stdin && other.Ref != tree.Stdin && other.isTree() && len(f.oldCatalogs) == 0 {
			o.Other, _ = filepath.Abs(other.Ref)
			o.Like = other.tree
		}
		if s.tree, err = f.roots.open(cmd, []string{s.Ref}, o); err != nil {
			return err
		}
		// Of Git, both have one path, which one of them can lack. OLD can be empty, but no chart that nothing applies.
		if s.Ref == tree.Stdin || f.git == "" && (!s.old || len(s.tree.Skipped) > 0) {
			if err := requireObjects(s.tree, s.Ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle builds what of two trees is needed: the clusters that differ, and what may name a catalog that no other names.
func settle(old, now *tree.Tree, catalogs []string, others []*manifest.Object) {
	if old == nil || now == nil {
		return
	}
	tree.Settle(old, now)
	unnamed := func() (names []string) {
		objects := slices.Concat(others, old.Objects, now.Objects)
		for _, value := range catalogs {
			c, bad := review.ReadContent(value, false, true)
			left, err := review.CheckNames([]string{value}, objects, true)
			if bad == nil && (err != nil || len(left) > 0) {
				names = append(names, c.Name)
			}
		}
		return names
	}
	if names := unnamed(); len(names) > 0 {
		tree.Settle(old, now, names...)
	}
	if len(unnamed()) > 0 { // a slip: which names there are is of interest
		tree.Settle(old, now, olm.Group, olm.GroupV1)
	}
}

func (f *diffFlags) compareClusters(cmd *cobra.Command, sides [2]side, pairs []review.ClusterPair,
	said map[string][]findings.Finding, on review.TreeOptions, o compare.Options) (*compare.Reports, error) {
	out := &compare.Reports{Old: sides[0].Name, New: sides[1].Name,
		Clusters: []compare.ClusterReport{}, Unbuilt: o.Unbuilt, Before: o.Before,
		Charts: o.Charts, Ignored: o.Ignored}
	for _, s := range sides {
		if s.tree != nil {
			out.Unread = append(out.Unread, s.tree.Unread()...)
		}
	}
	out.Verdict = compare.Undecided(len(out.Unread)+len(out.Ignored), o.Undecided)
	o.Unbuilt, o.Before, o.Charts, o.Ignored, o.Undecided = nil, nil, nil, nil, 0
	first := true
	type known struct {
		report *compare.Report
		dirs   [2]string
	}
	reports := map[[2][sha256.Size]byte]known{}
	f.cluster.compared = lists.Map(pairs, func(p review.ClusterPair) string { return p.Rel })
	named := len(f.cluster.crs)+len(f.cluster.trees) > 0 // something else is told of a cluster by its name
	for _, pair := range pairs {
		if o.Said = said[pair.Rel]; len(f.oldCatalogs)+len(o.Said) == 0 && pair.Equal() {
			out.Compared++
			continue
		}
		var key [2][sha256.Size]byte
		if !named {
			key = pair.Key()
		}
		if same, ok := reports[key]; ok {
			out.Add(pair.Rel, same.report, same.dirs[:]...)
			continue
		}
		each := sides
		for i, c := range pair.Sides {
			if c == nil {
				each[i].tree, each[i].Empty = nil, true
				each[i].Name = strings.Replace(path.Join(each[i].Name, pair.Rel), ":./", ":", 1)
				continue
			}
			each[i].tree = sides[i].tree.Of(*c, first)
			each[i].tree.Faults = nil // of all clusters
			each[i].Name = c.Name
		}
		first = false
		report, err := f.compareSides(cmd, each, on, o)
		if err != nil {
			return nil, err
		}
		out.Add(pair.Rel, report, each[0].Name, each[1].Name)
		if !named {
			reports[key] = known{report, [2]string{each[0].Name, each[1].Name}}
		}
	}
	return out, nil
}

// renamedError names the files of a Git revision in an error.
func renamedError(err error, named func(string) string) error {
	message, hint := config.ErrorText(err, func(manifest.Option) string { return "" })
	if renamed := named(message); renamed != message {
		return manifest.WithHint(errors.New(renamed), named(hint))
	}
	return err
}

// renamingWriter names the files of a Git revision in messages.
type renamingWriter struct {
	w     io.Writer
	named func(string) string
}

func (r *renamingWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(r.w, r.named(string(p)))
	return len(p), err
}
