package main

import (
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/krm"
	"github.com/olmgen/olmgen/findings"
)

func newFn() *cobra.Command {
	var o krm.Options
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "Render as a KRM function, for kustomize and kpt",
		Args:  args(0, 0, ""),
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
