package main

import (
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/config/krm"
)

func newFn() *cobra.Command {
	var o krm.Options
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "Render as a KRM function, for kustomize and kpt",
		Long: `Fn reads a ResourceList on stdin, whose functionConfig is a RenderConfig, and
writes it to stdout with the rendered objects. An object replaces the item with
its name; the others are appended, with annotations for their files. All other
items are unchanged. Warnings and errors are in the results, and on stderr.

Paths in the RenderConfig are relative to the file in its annotation
internal.config.kubernetes.io/path or, without one, to the working directory.`,
		Example: `  # olmgen.yaml, a RenderConfig, as a generator of a kustomization
  metadata:
    name: operators
    annotations:
      config.kubernetes.io/function: |
        exec: {path: olmgen, args: [fn]}

  kustomize build --enable-alpha-plugins --enable-exec`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			results, err := krm.Run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), o)
			for _, r := range results {
				if r.Severity != findings.Error {
					say(cmd, r.Severity.SARIF(), "", "%s", r.Message)
				}
			}
			return err
		},
	}
	registerNetwork(cmd.Flags(), &o.Source)
	return cmd
}
