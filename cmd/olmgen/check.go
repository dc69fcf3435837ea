package main

import (
	"math"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/predict"
	"github.com/olmgen/olmgen/source"
)

type checkFlags struct {
	report   reportFlags
	catalogs treeCatalogs
	roots    treeFlags
	network  fbc.Options
	target   targetFlags
	options  predict.Options
}

func newCheck() *cobra.Command {
	f := checkFlags{}
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Will OLM take this tree? Predict what it does",
		Args:  args(1, math.MaxInt, "the path"),
		RunE:  f.run,
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.options.Namespace, "namespace", "n", "",
		"`NAMESPACE` of objects that name none (default: such objects are not checked)")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.target.register(cmd, false)
	f.target.registerDate(cmd, &f.report.failOn)
	f.report.registerAs(cmd, print.FindingFormats, supportWords, findings.Error)
	registerSources(flags, &f.network)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, paths []string) error {
	if cmd.Flags().Changed("namespace") {
		if err := checkNamespace(f.options.Namespace); err != nil {
			return err
		}
	}
	for _, p := range paths {
		if source.IsAnnotated(p) {
			return &usageError{p + " is a bundle, and check reads what is applied to a cluster",
				"olmgen validate " + p + " checks a bundle; olmgen render makes a tree of it"}
		}
	}
	var err error
	if f.options.Target, err = f.target.checked(cmd.Flags()); err != nil {
		return err
	}
	if f.target.date != "" && !f.options.Target.Known() {
		return &usageError{"--date needs to know the cluster", "add --openshift-version"}
	}
	t, err := f.roots.read(cmd, paths, tree.Options{})
	if err != nil {
		return err
	}
	if err := requireObjects(t); err != nil {
		return err
	}
	given, err := f.catalogs.given(cmd, f.network, t.Objects)
	if err != nil {
		return err
	}
	f.options.Checker, f.options.Bundles = apiserver.Checker{}, &f.network
	r, err := predict.CheckClusters(cmd.Context(), t, func(t *tree.Tree) predict.Options {
		o := f.options
		o.Catalogs = f.catalogs.reader.WithImages(cmd.Context(), t, given)
		return o
	})
	if err != nil {
		return err
	}
	what := text.Count(len(t.Objects), "object") + " of " + text.Count(t.Files, "file")
	return f.report.finish(cmd, found{list: r.Findings, what: what, unread: len(t.Faults), noun: "path",
		print: func(list []findings.Finding) error {
			r.Findings = list
			return print.Report(cmd.OutOrStdout(), r, f.report.format)
		}})
}
