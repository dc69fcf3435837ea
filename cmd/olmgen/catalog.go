package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

func newCatalog() *cobra.Command {
	cmd := command("catalog", "Predict what OLM installs from catalogs; audit, publish them",
		unknownCommand, help)
	cmd.AddCommand(newCatalogResolve(), newCatalogPath(), newCatalogDiff(), newCatalogValidate(), newCatalogAudit(),
		newCatalogSite(), newCatalogMerge(), newCatalogPin())
	return cmd
}

type resolveFlags struct {
	catalogs, installs []string
	roots              treeFlags
	namespace          string
	once, approveAll   bool
	complete           bool
	network            fbc.Options
	format             findings.Format
	failOn             failOn
}

func newCatalogResolve() *cobra.Command {
	f := resolveFlags{format: findings.Text}
	cmd := command("resolve [PATH...]", "Predict which operators OLM installs and updates, step by step",
		args(0, many, ""), f.run)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.catalogs, "catalog", nil,
		"content of a CatalogSource, `[NAMESPACE/NAME=]DIR[,priority=N]`; may be repeated")
	flags.StringArrayVar(&f.installs, "install", nil,
		"add a Subscription, `PACKAGE[@RANGE][:CHANNEL]`; may be repeated")
	flags.StringVarP(&f.namespace, "namespace", "n", "operators",
		"`NAMESPACE` of --install, and of objects that name none")
	flags.BoolVar(&f.once, "once", false, "predict the next InstallPlan only")
	registerApproveAll(flags, &f.approveAll)
	registerComplete(flags, &f.complete)
	formatFlag(cmd, &f.format, []findings.Format{findings.Text, findings.JSON})
	failOnFlag(cmd, &f.failOn, nil, findings.Error)
	f.roots.register(cmd)
	registerSources(flags, &f.network)
	return cmd
}

func (f *resolveFlags) contents() (list []review.Content, err error) {
	for _, value := range f.catalogs {
		content, err := review.ReadContent(value, false, false)
		if err != nil {
			return nil, contentError(err)
		}
		list = append(list, content)
	}
	return list, nil
}

func (f *resolveFlags) check(paths []string) error {
	if err := checkNamespace(f.namespace); err != nil {
		return err
	}
	for _, what := range f.installs {
		if err := resolve.CheckInstall(what); err != nil {
			return &usageError{"--install: " + err.Error(), "write PACKAGE[@RANGE][:CHANNEL], such as etcd@>=0.9.0"}
		}
	}
	if len(paths)+len(f.installs) == 0 {
		return &usageError{"there is nothing to resolve", "pass a path with Subscriptions, or --install PACKAGE"}
	}
	return nil
}

func (f *resolveFlags) run(cmd *cobra.Command, paths []string) error {
	if err := f.check(paths); err != nil {
		return err
	}
	t, err := f.tree(cmd, paths)
	if err != nil {
		return err
	}
	given, err := f.contents()
	if err != nil {
		return err
	}
	network := withInput(cmd, f.network)
	if len(f.installs) == 0 { // --install names the packages that are nearly those it asks for
		if err := checkCatalogNames(cmd, f.catalogs, nil, t); err != nil {
			return err
		}
		network.Only = review.Wanted(t.Objects)
	}
	reader := review.ContentReader{Options: network}
	report, known := &resolve.Report{Namespaces: []resolve.Namespace{}}, len(given) > 0
	var catalogs predict.Catalogs
	if len(f.installs) == 0 {
		catalogs, err = reader.Catalogs(cmd.Context(), f.catalogs)
	} else { // they ask for no catalog, so each has a name
		catalogs, err = reader.Named(cmd.Context(), given)
	}
	if err != nil {
		return contentError(err)
	}
	catalogs.ApproveAll, catalogs.Open = f.approveAll, !f.complete
	clusters := t.Clusters(nil)
	for i, c := range clusters {
		of := t.Of(c, i == 0)
		if len(clusters) == 1 {
			c.Name = ""
		}
		state, err := resolve.ReadObjects(of.Objects, f.namespace)
		if err != nil {
			return err
		}
		sayPolicies(cmd, predict.World(cmd.Context(), of.Objects, f.namespace, catalogs).Policies)
		known = known || slices.ContainsFunc(state.CatalogSources,
			func(s resolve.Source) bool { return s.Catalog != nil })
		if err := f.predict(cmd, of, c.Name, catalogs, report); err != nil {
			return err
		}
	}
	if !known {
		say(cmd, findings.Note, "pass the content of each CatalogSource with --catalog",
			"no catalog is given, so nobody knows what OLM installs")
	}
	return f.print(cmd, report)
}

func (f *resolveFlags) print(cmd *cobra.Command, report *resolve.Report) error {
	if err := print.Report(cmd.OutOrStdout(), report, f.format); err != nil {
		return err
	}
	summary := fmt.Sprintf("%s, %s, %s in %s", text.Count(report.Errors, "error"),
		text.Count(report.Warnings, "warning"), text.Count(report.Notes, "note"),
		text.Count(len(report.Namespaces), "namespace"))
	if f.failOn.reached(report.Findings()) {
		return &foundError{summary}
	}
	tell(cmd, "%s", summary)
	return nil
}

// predict reports what OLM does in each namespace of a cluster.
func (f *resolveFlags) predict(cmd *cobra.Command, t *tree.Tree, cluster string, known predict.Catalogs,
	report *resolve.Report) error {
	checked, err := predict.Check(cmd.Context(), t, predict.Options{Namespace: f.namespace, Catalogs: known})
	if err != nil {
		return err
	}
	for _, s := range predict.States(cmd.Context(), t, f.namespace, known, len(f.installs) > 0) {
		if len(s.Subscriptions) == 0 && (s.Namespace != f.namespace || len(f.installs) == 0) {
			continue // OLM does not look at it
		}
		if s.Namespace == f.namespace {
			for _, what := range f.installs {
				if err := s.Install(what); err != nil {
					return fmt.Errorf("--install %s: %w", what, err)
				}
			}
		}
		o := resolve.Options{ApproveAll: f.approveAll}
		if f.once {
			o.Steps = 1
		}
		r, err := resolve.Run(cmd.Context(), s, o)
		if err != nil {
			return err
		}
		r.Findings = append(r.Findings, checked.Refused(s.Namespace)...)
		findings.Sort(r.Findings)
		report.Add(cluster, s.Namespace, r)
	}
	return nil
}

func (f *resolveFlags) tree(cmd *cobra.Command, paths []string) (*tree.Tree, error) {
	if err := refuseTreeFlags(cmd, paths, rootFlags...); len(paths) == 0 && err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return &tree.Tree{Roots: []tree.Root{{}}}, nil
	}
	t, err := f.roots.read(cmd, paths, tree.Options{})
	if err != nil {
		return nil, err
	}
	return t, requireObjects(t, paths...)
}

// sayPolicies names the OperatorPolicies that install nothing, or of which nobody can say what they install.
func sayPolicies(cmd *cobra.Command, policies []*olm.OperatorPolicy) {
	unknown := lists.Filter(policies, func(p *olm.OperatorPolicy) bool { return p.Unknown != "" })
	for p, also := range firstOf(unknown, func(p *olm.OperatorPolicy) string { return p.Unknown }, nil) {
		warn(cmd, "%s:%d: what %s installs is not known: %s%s", p.Object.File, p.Object.Line, p.Object.Identity(),
			p.Unknown, also)
	}
	for _, p := range policies {
		if p.Held {
			warn(cmd, "%s:%d: %s installs nothing: %s", p.Object.File, p.Object.Line, p.Object.Identity(), p.Mismatch)
		}
	}
	sayIdle(cmd, policies)
}

// sayFaulty names the bundles of a directory that cannot be read, or that OLM v0 refuses to install.
func sayFaulty(cmd *cobra.Command, c *fbc.Catalog) {
	for _, f := range c.Faulty {
		warn(cmd, "%s", text.OneLine(f.Error()))
	}
}

func newCatalogValidate() *cobra.Command {
	f := reportFlags{}
	network := fbc.Options{}
	cmd := command("validate DIR...", "Check file-based catalogs", args(1, many, "the catalog"),
		func(cmd *cobra.Command, dirs []string) error {
			var list []findings.Finding
			for _, dir := range dirs {
				if source.IsAnnotated(dir) {
					return &usageError{dir + " is a bundle, not a catalog",
						"olmgen validate " + dir + " checks a bundle"}
				}
				c, err := readCatalog(cmd, dir, network)
				if errors.Is(err, fbc.ErrTemplate) {
					return manifest.WithHint(err, "olmgen validate --release DIR judges what it makes: give the "+
						"directory of its operator")
				}
				if err != nil {
					return err
				}
				list = append(list, resolve.Validate(c)...)
			}
			return f.finish(cmd, found{list: list, rules: resolve.CatalogRules(),
				what: text.Count(len(dirs), "catalog")})
		})
	f.register(cmd)
	registerSources(cmd.Flags(), &network)
	return cmd
}

type catalogDiffFlags struct {
	reportFlags
	trees    []string
	files    []string // RenderConfigs
	crs      []string
	catalogs treeCatalogs
	roots    treeFlags
	network  fbc.Options
}

func newCatalogDiff() *cobra.Command {
	var f catalogDiffFlags
	cmd := command("diff OLD NEW", "Show what the new content of a catalog changes", args(2, 2, "OLD or NEW"), f.run)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.trees, "tree", nil,
		"`PATH` with Subscriptions, ClusterExtensions and what else is in the cluster; may be repeated")
	fileFlag(flags, &f.files)
	flags.StringArrayVar(&f.crs, "crs", nil,
		"`PATH` with custom resources that exist, to check against the CRDs of each operator that moves; may be "+
			"repeated")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.registerAs(cmd, print.Formats, triggers(), findings.Error)
	registerSources(flags, &f.network)
	return cmd
}

func (f *catalogDiffFlags) run(cmd *cobra.Command, refs []string) error {
	if len(f.trees)+len(f.files) > 0 {
		return f.moves(cmd, refs)
	}
	if name := given(cmd, append([]string{"crs"}, catalogFlags...)...); name != "" {
		return &usageError{name + " needs --tree", "add --tree or -f"}
	}
	for _, word := range f.failOn.words {
		if level(word) == "" {
			return &usageError{fmt.Sprintf("--fail-on %s needs --tree", word), "add --tree, or name a level"}
		}
	}
	var read [2]*fbc.Catalog
	for i, ref := range refs {
		c, err := readCatalog(cmd, ref, f.network)
		if err != nil {
			return err
		}
		sayFaulty(cmd, c)
		read[i] = c
	}
	list, err := resolve.Compare(cmd.Context(), read[0], read[1])
	if err != nil {
		return err
	}
	if len(list) == 0 && f.format == findings.Text {
		_, err := f.known(cmd, list, true)
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "no differences")
		}
		return err
	}
	return f.finish(cmd, found{list: list, rules: resolve.ComparisonRules(),
		what: text.Count(len(read[1].Packages), "package")})
}

func (f *catalogDiffFlags) moves(cmd *cobra.Command, refs []string) error {
	if f.baseline != "" || f.format == formatBaseline {
		return &usageError{"a baseline is for a comparison without --tree", "leave it out"}
	}
	t, err := f.tree(cmd)
	if err != nil {
		return err
	}
	network := withInput(cmd, f.network)
	o := review.TreeOptions{Name: strings.Join(slices.Concat(f.trees, f.files), ", "), Source: network.Source}
	old, now := f.catalogs, f.catalogs
	old.values = append(slices.Clone(f.catalogs.values), refs[0])
	now.values = append(slices.Clone(f.catalogs.values), refs[1])
	now.checked = true
	if o.Catalogs, err = old.open(cmd, t, f.network); err != nil {
		return err
	}
	newer, err := now.open(cmd, t, f.network)
	if err != nil {
		return err
	}
	in := compare.Options{}
	cluster := clusterFlags{trees: f.trees, crs: f.crs}
	if err := cluster.read(cmd, &f.roots, &in); err != nil {
		return err
	}
	d, err := review.MovesOf(cmd.Context(), t, o, newer, func(name string) compare.Options {
		return cluster.before([2]side{1: {Revision: review.Revision{Name: name}}}, in)
	})
	if err != nil {
		return err
	}
	if err := cmp.Or(print.Report(cmd.OutOrStdout(), d, f.format), unreadError(in.Unread)); err != nil {
		return err
	}
	if on := f.failOn.met(d.Meets); on != "" {
		return &foundError{d.Lead() + ": " + on}
	}
	return nil
}

// tree reads the objects of the trees, and those that the RenderConfigs render to.
func (f *catalogDiffFlags) tree(cmd *cobra.Command) (*tree.Tree, error) {
	t, err := f.roots.read(cmd, f.trees, tree.Options{})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd, t)
	all, err := declarations(cmd, f.files)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		rendered, err := d.Render(cmd.Context(), config.Options{Dir: d.dir, Source: f.network.Source,
			Catalogs: f.network.Cache, Layout: output.LayoutFlat})
		if err != nil {
			return nil, err
		}
		s, err := review.FromRendered(cmd.Context(), rendered)
		if err != nil {
			return nil, err
		}
		in := d.file // a cluster of its own, unless there is one
		if c := t.Clusters(nil); len(c) == 1 {
			in = c[0].Name
		}
		t.Objects = append(t.Objects, s.All...)
		t.Roots = append(t.Roots, tree.Root{Name: d.file, Cluster: in, Objects: s.All})
	}
	return t, requireObjects(t)
}
