package main

import (
	"math"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/predict"
)

// checkFlags holds the flags of olmgen check.
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
		Long: `Check reads a tree (a GitOps repository, the output of olmgen render or of
kubectl get -o yaml) and predicts what OLM does with it. It prints the target
namespaces and provided APIs of each OperatorGroup, and the phase, reason and
message of each ClusterServiceVersion in OLM's words. Then it lists what is
wrong, by file and line.

PATH is a file, a directory, or - for stdin. Kustomizations are built: see
"olmgen help trees". If two groups provide the same APIs to a namespace, the one
with the older CSV keeps them (creationTimestamp, then the order of files).

--catalog says what a CatalogSource serves. Each Subscription is then judged by
the catalog that it names, as olmgen catalog resolve does: what is missing is an
error in OLM's words, and so is an update that OLM holds back. DIR alone is the
content of every catalog that is not given by name; it can be oci://IMAGE.
NAME=DIR is the content of a ClusterCatalog: each ClusterExtension is then
installed, or refused in the words of OLM v1.

An update that a catalog offers over an operator of the tree is judged as
olmgen diff judges it: custom resources that do not fit the newer CRD, a stored
version that goes, a field that cannot change. A bundle that the catalog only
names is fetched, unless --offline is set.

--openshift-version, --olm-version and --kube-version ask what holds back the
upgrade of the cluster. The exit code is 3 on findings at or above --fail-on. A
CSV that OLM fails is an error.`,
		Example: `  olmgen check clusters/prod
  kubectl get ns,og,csv,sub -A -o yaml | olmgen check -
  olmgen check --catalog olm/operatorhubio-catalog=configs/ clusters/prod
  olmgen check --openshift-version 4.20 clusters/prod
  olmgen check --format sarif . > olmgen.sarif`,
		Args: args(1, math.MaxInt, "the path"),
		RunE: f.run,
	}
	f.register(cmd)
	completeReport(cmd)
	return cmd
}

func (f *checkFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(
		&f.options.Namespace,
		"namespace",
		"n",
		"",
		"`NAMESPACE` of objects that name none (default: such objects are not checked)",
	)
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.target.register(cmd, false)
	f.report.register(flags)
	registerSources(flags, &f.network)
}

func (f *checkFlags) run(cmd *cobra.Command, paths []string) error {
	if cmd.Flags().Changed("namespace") {
		if err := checkNamespace(f.options.Namespace); err != nil {
			return err
		}
	}
	var err error
	if f.options.Target, err = f.target.checked(cmd.Flags()); err != nil {
		return err
	}
	t, err := f.roots.read(cmd, paths, tree.Options{})
	if err != nil {
		return err
	}
	if err := requireObjects(t); err != nil {
		return err
	}
	given, err := f.catalogs.given(cmd, f.network)
	if err != nil {
		return err
	}
	f.options.Checker, f.options.Source = crs.LazyHelper{}, &f.network.Source
	r, err := predict.CheckClusters(cmd.Context(), t, func(t *tree.Tree) predict.Options {
		o := f.options
		o.Catalogs = f.catalogs.withImages(cmd, t, given, f.network)
		return o
	})
	if err != nil {
		return err
	}
	if r.Findings, err = f.report.known(cmd.ErrOrStderr(), r.Findings, len(t.Faults) == 0); err != nil {
		return err
	}
	if err := print.Report(cmd.OutOrStdout(), r, f.report.format); err != nil {
		return err
	}
	what := text.Count(len(t.Objects), "object") + " of " + text.Count(t.Files, "file")
	return f.report.concludePartly(cmd.ErrOrStderr(), r.Findings, what, len(t.Faults), "path")
}
