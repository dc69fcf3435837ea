package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/review/groups"
)

// checkFlags holds the flags of olmgen check.
type checkFlags struct {
	report   reportFlags
	catalogs []string
	kube     string
	options  groups.Options
}

func newCheck() *cobra.Command {
	f := checkFlags{}
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Predict what OLM does with OperatorGroups and CSVs",
		Long: `Check reads a tree of YAML or JSON (a GitOps repository, the output of olmgen
render or of kubectl get -o yaml) and predicts what OLM does with it. It prints
the target namespaces and provided APIs of each OperatorGroup, and the phase,
reason and message of each ClusterServiceVersion in OLM's words. Then it lists
what is wrong, by file and line.

PATH is a file, a directory with everything below it, or - for stdin. All paths
together describe one cluster. If two groups provide the same APIs to a
namespace, the one with the older CSV keeps them. Age is creationTimestamp, then
the order of paths and files.

The exit code is 3 if there are findings at or above --fail-on. A CSV that OLM
fails is an error.`,
		Example: `  olmgen check clusters/prod
  kubectl get ns,og,csv,sub -A -o yaml | olmgen check -
  kustomize build . | olmgen check --catalog catalog/ -
  olmgen check --format sarif . > olmgen.sarif`,
		Args: args(1, math.MaxInt, "the path"),
		RunE: f.run,
	}
	f.register(cmd.Flags())
	completeReport(cmd)
	return cmd
}

func (f *checkFlags) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVarP(
		&f.options.Namespace,
		"namespace",
		"n",
		"",
		"`NAMESPACE` of objects that name none (default: such objects are not checked)",
	)
	flags.StringArrayVar(
		&f.catalogs,
		"catalog",
		nil,
		"file-based catalog, a `DIR` or file, that Subscriptions install from; may be repeated",
	)
	flags.StringVar(&f.kube, "kube-version", "", "`VERSION` of Kubernetes, which CSVs need (spec.minKubeVersion)")
	f.report.register(flags)
}

func (f *checkFlags) run(cmd *cobra.Command, paths []string) error {
	if n := f.options.Namespace; cmd.Flags().Changed("namespace") && len(validation.IsDNS1123Label(n)) > 0 {
		return &usageError{
			fmt.Sprintf("--namespace: %q is not a valid namespace name", n),
			"use lower-case letters, digits and -",
		}
	}
	if cmd.Flags().Changed("kube-version") {
		kube, err := config.ParseKubeVersion(f.kube)
		var bad *config.FlagError
		if errors.As(err, &bad) {
			return &usageError{"--kube-version: " + bad.Msg, bad.Tip}
		}
		f.options.Kube = kube
	}
	for _, c := range f.catalogs {
		catalog, err := source.ReadCatalog(cmd.Context(), c, source.Options{})
		if err != nil {
			return err
		}
		f.options.Catalogs = append(f.options.Catalogs, catalog)
	}
	t, err := tree.Read(cmd.Context(), paths, tree.Options{Stdin: cmd.InOrStdin()})
	if err != nil {
		return err
	}
	if err := requireObjects(t); err != nil {
		return err
	}
	r := groups.Check(t, f.options)
	if r.Findings, err = f.report.known(cmd.ErrOrStderr(), r.Findings, true); err != nil {
		return err
	}
	if err := r.Print(cmd.OutOrStdout(), f.report.format); err != nil {
		return err
	}
	return f.report.conclude(
		cmd.ErrOrStderr(),
		r.Findings,
		plural(len(t.Objects), "object")+" of "+plural(t.Files, "file"),
	)
}
