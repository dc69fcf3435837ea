package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/output"
)

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
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what the new content of a catalog changes",
		Args:  args(2, 2, "OLD or NEW"),
		RunE:  f.run,
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.trees, "tree", nil,
		"`PATH` with Subscriptions, ClusterExtensions and what else is in the cluster; may be repeated")
	fileFlag(flags, &f.files)
	flags.StringArrayVar(&f.crs, "crs", nil,
		"`PATH` with custom resources that exist, to check against the CRDs of each operator that moves; may be "+
			"repeated")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.registerAs(cmd, print.FindingFormats, triggers(), findings.Error)
	registerSources(flags, &f.network)
	return cmd
}

func (f *catalogDiffFlags) run(cmd *cobra.Command, refs []string) error {
	if len(f.trees)+len(f.files) > 0 {
		return f.moves(cmd, refs)
	}
	if name := given(cmd, "crs", "catalog", "approve-all"); name != "" {
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
	if err := unreadError(in.Unread); err != nil {
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
		t.Objects = append(t.Objects, s.All...)
	}
	return t, requireObjects(t)
}
