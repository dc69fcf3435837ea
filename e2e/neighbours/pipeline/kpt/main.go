// Command kpt is kpt with its commands "fn" only. Its own main links "kpt alpha rollouts", a module that the module
// proxy does not serve. The name of this module lies below kpt's, so that it may import what is internal there.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kptdev/kpt/commands/fn"
	"github.com/kptdev/kpt/pkg/lib/errors/resolver"
	"github.com/kptdev/kpt/pkg/printer"
	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "kpt", SilenceUsage: true, SilenceErrors: true}
	ctx := printer.WithContext(context.Background(), printer.New(os.Stdout, os.Stderr))
	root.PersistentFlags().BoolVar(&printer.TruncateOutput, "truncate-output", true, "truncate what functions print")
	root.AddCommand(fn.GetCommand(ctx, "kpt"))
	if err := root.ExecuteContext(ctx); err != nil {
		if known, ok := resolver.ResolveError(err); ok {
			fmt.Fprintln(os.Stderr, known.Message)
			os.Exit(known.ExitCode)
		}
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
