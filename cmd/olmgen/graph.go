package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/graph"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/cmd/internal/updates"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/history"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

type graphFlags struct {
	renderFlags
	catalogs treeCatalogs
	roots    treeFlags
	from     string
}

func newGraph() *cobra.Command {
	f := graphFlags{}
	cmd := command("graph SOURCE | TREE [NAME] | -f FILE [NAME]",
		"What does this operator reach? Draw it, or its update graph",
		func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 && len(f.files) == 0 && isTree(given[0]) {
				return args(1, 2, "the tree")(cmd, given)
			}
			if len(f.files) == 0 {
				return args(1, 1, "the bundle")(cmd, given)
			}
			if err := args(0, 1, "")(cmd, given); err != nil {
				return err
			}
			return f.checkDeclared(cmd, nil)
		}, f.draw)
	flags := cmd.Flags()
	fileFlag(flags, &f.files)
	flags.StringVar(&f.from, "from", "", "in an update graph: show the path from a `VERSION`, or the name of its CSV")
	f.catalogs.register(flags)
	f.register(cmd, reviewed)
	f.roots.register(cmd)
	return cmd
}

// draw draws the blast radius of an operator, or an update graph.
func (f *graphFlags) draw(cmd *cobra.Command, args []string) error {
	if err := refuseTreeFlags(cmd, args[:min(len(args), 1)], aboutTrees...); err != nil {
		return err
	}
	if path, ok := f.updateGraph(args); ok {
		return f.drawUpdates(cmd, path)
	}
	if f.from != "" {
		return &usageError{"--from is for the update graph of a catalog", "write catalog:DIR, without --version"}
	}
	radius, err := f.radius(cmd, args)
	if err != nil {
		return err
	}
	return radius.Mermaid(cmd.OutOrStdout())
}

// updateGraph returns the catalog whose update graph is asked for: one without a version.
func (f *graphFlags) updateGraph(given []string) (path string, ok bool) {
	if len(given) != 1 || len(f.files) > 0 {
		return "", false
	}
	path, ok = strings.CutPrefix(given[0], source.KindCatalog+":")
	_, version := f.options.Text(option.Version)
	return path, ok && !version
}

func (f *graphFlags) drawUpdates(cmd *cobra.Command, path string) error {
	name, _ := f.options.Text(option.Package)
	network := f.source
	if name != "" {
		network.Only, network.Alone = []string{name}, true
	}
	c, err := readCatalog(cmd, path, network)
	if err != nil {
		return err
	}
	sayFaulty(cmd, c)
	review.Refused(c, path, withInput(cmd, network).Source)
	names := c.AllNames()
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	p := c.Packages[name]
	switch {
	case name == "":
		return &usageError{fmt.Sprintf("%s has %d packages, and an update graph has one", path, len(names)),
			"name it with --package: " + text.FirstOf(20, names)}
	case p == nil && c.Missing(name) != nil:
		return c.Missing(name)
	case p == nil:
		err := fmt.Errorf("%s: no package %s", path, name)
		if hint := text.DidYouMean(name, names); hint != "" {
			return manifest.WithHint(err, hint)
		}
		return err
	}
	channel, _ := f.options.Text(option.Channel)
	g, err := updates.NewGraph(p, updates.Options{Channel: channel, From: f.from})
	if err != nil {
		return err
	}
	return g.SVG(cmd.OutOrStdout())
}

// radius returns what the operator of a source reaches, or one of those that -f declares.
func (f *graphFlags) radius(cmd *cobra.Command, given []string) (*graph.Radius, error) {
	from, name := strings.Join(f.files, ", "), given
	if len(f.files) == 0 {
		if isTree(given[0]) {
			return f.installedRadius(cmd, given)
		}
		from, name = given[0], nil
	}
	all, err := f.renderAll(cmd, given, forReview)
	if err != nil {
		return nil, err
	}
	operators := slices.Concat(lists.Map(all, func(r *config.Rendered) []output.Operator { return r.Operators })...)
	i, err := oneOperator(lists.Map(operators, func(o output.Operator) string { return o.Name }), from, name)
	if err != nil {
		return nil, err
	}
	return graph.BlastRadius(operators[i].Result)
}

// isTree reports whether an argument is a tree of manifests, and no RenderConfig.
func isTree(ref string) bool { return review.IsTree(ref) && !source.IsRenderConfig(ref) }

// installedRadius returns what the operator reaches that a tree has, or that OLM installs for it.
func (f *graphFlags) installedRadius(cmd *cobra.Command, given []string) (*graph.Radius, error) {
	if err := f.refuseRenderFlags(cmd, given[0]+" is a TREE"); err != nil {
		return nil, err
	}
	t, err := f.roots.read(cmd, given[:1], tree.Options{})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd, t)
	installed, unknown, err := f.catalogs.installs(cmd, t, f.source)
	if err != nil {
		return nil, err
	}
	csvs, err := permissions.InstalledCSVs(t.Objects)
	if err != nil {
		return nil, err
	}
	operator := func(c permissions.CSV) string { return c.Namespace + "/" + audit.PackageOf(c) }
	same := lists.Group(csvs, operator)
	names := slices.Concat(lists.Map(csvs, func(c permissions.CSV) string {
		if len(same[operator(c)]) > 1 { // one takes the place of the other
			return c.Namespace + "/" + c.Name
		}
		return operator(c)
	}), lists.Map(installed, func(i review.Installed) string { return i.Operator.Name }))
	if len(names) == 0 {
		err := fmt.Errorf("%s: no Subscription or ClusterExtension in it installs an operator that is known", given[0])
		if len(unknown) > 0 {
			hint := strings.TrimSuffix(unknown[0].String()+"; "+catalogHint(unknown[0]), "; ")
			return nil, manifest.WithHint(err, hint)
		}
		return nil, manifest.WithHint(err, "name the bundle of an operator that is rendered or installed, or a tree "+
			"that has what installs it; olmgen permissions says what this tree grants")
	}
	i, err := oneOperator(names, given[0], given[1:])
	if err != nil {
		return nil, err
	}
	if i < len(csvs) {
		return graph.Installed(csvs[i], t.Objects)
	}
	return graph.BlastRadius(installed[i-len(csvs)].Operator.Result)
}

// oneOperator returns the index of the only operator, or of the one with a name, which may leave out its namespace.
func oneOperator(names []string, from string, name []string) (int, error) {
	var found []int
	for i, n := range names {
		if len(name) == 0 || strings.HasSuffix("/"+n, "/"+name[0]) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		hint := "choose one of " + strings.Join(names, ", ")
		return 0, manifest.WithHint(fmt.Errorf("%s: no operator is called %q", from, name[0]), hint)
	case len(name) == 0:
		return 0, &usageError{fmt.Sprintf("%s has %d operators, and a picture has one", from, len(found)),
			"name one of " + strings.Join(names, ", ")}
	}
	return 0, manifest.WithHint(fmt.Errorf("%s: %d operators are called %q", from, len(found), name[0]),
		"name one file with -f")
}

type historyFlags struct {
	render renderFlags
	format findings.Format
}

func newHistory() *cobra.Command {
	f := historyFlags{format: findings.Text}
	cmd := command("history DIR|CATALOG", "Which release changed what? Show all releases of an operator",
		args(1, 1, "the directory or catalog"), f.run)
	formatFlag(cmd, &f.format, []findings.Format{findings.Text, findings.Markdown, findings.JSON,
		findings.HTML, findings.SVG})
	f.render.register(cmd, func(o config.Option) bool { return reviewed(o) && o.ID != option.Version })
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command, refs []string) error {
	ref := refs[0]
	c, err := f.render.options.Config(ref, forReview)
	if err != nil {
		return err
	}
	if p := c.Groups[0].Bundles[0].Profile; p.HandsOver() {
		return &usageError{fmt.Sprintf("profile %s leaves RBAC to OLM", p), "leave out --profile"}
	}
	options, err := c.GenerateOptions(0, 0, "")
	if err != nil {
		return err
	}
	so := withInput(cmd, f.render.source)
	so.Package, _ = f.render.options.Text(option.Package)
	so.Channel, _ = f.render.options.Text(option.Channel)
	releases, err := fbc.Releases(cmd.Context(), ref, so)
	if err != nil {
		return err
	}
	list, err := history.Read(cmd.Context(), releases, options)
	if err != nil {
		return err
	}
	h, err := history.New(cmp.Or(list.Package, filepath.Base(filepath.Clean(ref))), list.Inputs)
	if err != nil {
		return err
	}
	if len(list.LeftOut) > 0 {
		reason, _ := config.ErrorText(list.Reason, func(manifest.Option) string { return "" })
		note := fmt.Sprintf("left out: %s: %s", text.FirstOf(6, list.LeftOut), reason)
		warn(cmd, "%s", note)
		h.Notes = append(h.Notes, note)
	}
	return print.Report(cmd.OutOrStdout(), h, f.format)
}
