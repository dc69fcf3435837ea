package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/config/review"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/output"
)

// catalogDiffFlags are the flags of olmgen catalog diff.
type catalogDiffFlags struct {
	reportFlags
	failOn   []string
	trees    []string
	files    []string // RenderConfigs
	crs      []string
	catalogs treeCatalogs
	roots    treeFlags
	network  fbc.Options
}

func newCatalogDiff() *cobra.Command {
	f := catalogDiffFlags{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what the new content of a catalog changes",
		Long: `Diff compares two contents of one catalog, each a directory, a file or an image
(oci://IMAGE, oci-layout:DIR): with automatic approval, the new content is an
upgrade. It lists, the worst first,

  * packages, channels and entries that are new or gone,
  * heads that moved, and releases that no longer reach the head of their
    channel,
  * releases that were withdrawn and can be installed again,
  * dependencies that the catalog no longer offers,
  * deprecations, and entries that update other versions than before,
  * bundles with another image, other properties or other content.

An error is what breaks or strands somebody who has a Subscription today.

With --tree it is about the operators of a TREE with Subscriptions or
ClusterExtensions, with -f about those that a RenderConfig hands over to OLM.
They come to rest with OLD. Then it shows which of them NEW
moves, in which steps, what OLM holds back, and what olmgen diff says about each
operator that moves, the worst first. OLD and NEW are [NAMESPACE/NAME=]DIR, or
NAME=DIR for a ClusterCatalog; without a name, they are the content of each
catalog that --catalog does not give.

The exit code is 3 if there are findings at or above --fail-on, or with --tree
what olmgen diff --fail-on names. What is not known counts as one.`,
		Example: `  olmgen catalog diff catalog@old/ catalog/
  olmgen catalog diff oci://quay.io/example/cat:v1 oci://quay.io/example/cat:v2
  olmgen catalog diff olm/community=old/ olm/community=new/ \
      --tree clusters/prod --fail-on risk-gained,crd-breaking`,
		Args: args(2, 2, "OLD or NEW"),
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.format = findings.Text
	flags.StringArrayVar(&f.trees, "tree", nil,
		"`PATH` with Subscriptions, ClusterExtensions and what else is in the cluster; may be repeated")
	fileFlag(flags, &f.files)
	flags.StringArrayVar(&f.crs, "crs", nil,
		"`PATH` with custom resources that exist, to check against the CRDs of each operator that moves; may be "+
			"repeated")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	formatFlag(cmd, &f.format, print.FindingFormats)
	allowed := append(slices.DeleteFunc(triggers(), func(t string) bool { return t == string(findings.Error) }),
		string(findings.Error), string(findings.Note), string(findings.None))
	flags.Var(&wordsValue{&f.failOn, allowed}, "fail-on",
		"exit with 3 at this `LEVEL`: error (default), warning, note or none; with --tree also at the differences of "+
			"olmgen diff")
	offerList(cmd, "fail-on", func() []string { return allowed })
	f.registerBaseline(flags)
	registerSources(flags, &f.network)
	return cmd
}

func (f *catalogDiffFlags) run(cmd *cobra.Command, given []string) error {
	if len(f.failOn) == 0 {
		f.failOn = []string{string(findings.Error)}
	}
	limitGarbage()
	if len(f.trees)+len(f.files) > 0 {
		return f.moves(cmd, given)
	}
	for _, name := range []string{"crs", "catalog", "global-namespace", "approve-all"} {
		if cmd.Flags().Changed(name) {
			return &usageError{"--" + name + " needs --tree", "add --tree or -f"}
		}
	}
	threshold, err := f.threshold()
	if err != nil {
		return err
	}
	f.reportFlags.failOn = threshold
	var read [2]*fbc.Catalog
	for i, ref := range given {
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
	all := len(list)
	if list, err = f.known(cmd.ErrOrStderr(), list, true); err != nil {
		return err
	}
	if all == 0 && f.format == findings.Text {
		fmt.Fprintln(cmd.OutOrStdout(), "no differences")
		return nil
	}
	if err := print.Report(cmd.OutOrStdout(), print.List{Rules: resolve.ComparisonRules(), Findings: list},
		f.format); err != nil {
		return err
	}
	return f.conclude(cmd.ErrOrStderr(), list, text.Count(len(read[1].Packages), "package"))
}

// threshold returns the lowest level that fails the comparison of two catalogs.
func (f *catalogDiffFlags) threshold() (findings.Severity, error) {
	lowest := findings.None
	for _, t := range f.failOn {
		s := findings.Severity(t)
		if t == string(compare.AnyDifference) {
			s = findings.Note
		}
		switch {
		case !slices.Contains(findings.Severities, s):
			return "", &usageError{fmt.Sprintf("--fail-on %s needs --tree", t), "add --tree, or name a level"}
		case s != findings.None && (lowest == findings.None || s.Rank() > lowest.Rank()):
			lowest = s
		}
	}
	return lowest, nil
}

// moves reviews the operators of a tree that move.
func (f *catalogDiffFlags) moves(cmd *cobra.Command, given []string) error {
	for _, name := range []string{"baseline", "write-baseline"} {
		if cmd.Flags().Changed(name) {
			return &usageError{"--" + name + " is for a comparison without --tree", "leave it out"}
		}
	}
	t, err := f.tree(cmd)
	if err != nil {
		return err
	}
	network := withInput(cmd, f.network)
	o := review.TreeOptions{Name: strings.Join(slices.Concat(f.trees, f.files), ", "), Source: network.Source}
	old, now := f.catalogs, f.catalogs
	old.values = append(slices.Clone(f.catalogs.values), given[0])
	now.values = append(slices.Clone(f.catalogs.values), given[1])
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
	d, err := review.MovesOf(cmd.Context(), t, o, newer, in)
	if err != nil {
		return err
	}
	if err := print.Report(cmd.OutOrStdout(), d, f.format); err != nil {
		return err
	}
	if len(in.Unread) > 0 {
		return unreadError(in.Unread)
	}
	for _, on := range f.failOn {
		if on != string(findings.None) && d.Meets(compare.Trigger(on)) {
			return &foundError{d.Lead() + ": " + on}
		}
	}
	return nil
}

// tree reads the objects of the trees, and those that the RenderConfigs render to.
func (f *catalogDiffFlags) tree(cmd *cobra.Command) (*tree.Tree, error) {
	t, err := f.roots.read(cmd, f.trees, tree.Options{})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd.ErrOrStderr(), t)
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
		s, err := review.FromRendered(rendered)
		if err != nil {
			return nil, err
		}
		t.Objects = append(t.Objects, s.All...)
	}
	return t, requireObjects(t)
}
