package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config/krm"
)

func newFn() *cobra.Command {
	var o krm.Options
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "Render as a KRM function, for kustomize and kpt",
		Long: `Fn reads a ResourceList on stdin, whose functionConfig is a RenderConfig, and
writes it to stdout with the rendered objects: one that is among the items
already is replaced in its place, the others are appended, with the annotations
that tell their files. Other items stay as they are. Warnings and errors are in
the results, and on stderr.

Paths in the RenderConfig are relative to its own file, as its annotation
internal.config.kubernetes.io/path tells it, else to the working directory.`,
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
				switch r.Severity {
				case krm.Warning:
					fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: warning: "+r.Message)
				case krm.Info:
					fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: note: "+r.Message)
				}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Source.Offline, "offline", false, "never use the network")
	flags.BoolVar(&o.Source.Insecure, "insecure", false, "allow registries without TLS")
	return cmd
}
