package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/report/graph"
)

// pictureFormat is what graph writes.
type pictureFormat string

const (
	formatMermaid pictureFormat = "mermaid"
	formatSVG     pictureFormat = "svg"
)

// graphFlags are the flags of render that decide what an operator may do.
var graphFlags = []string{"package", "channel", "version", "offline", "insecure", "namespace", "install-mode", "target-namespaces",
	"operator-group", "names", "profile", "bind-namespaces", "bind-all", "split", "allow-unsupported"}

func newGraph() *cobra.Command {
	var f renderFlags
	var radius bool
	format := formatMermaid
	cmd := &cobra.Command{
		Use:   "graph SOURCE --blast-radius",
		Short: "Draw what an operator reaches",
		Long: `Graph draws the blast radius of an operator: its ServiceAccounts, the roles
they are bound to, the namespaces that the bindings are in, and those that no
binding reaches. What is drawn is what olmgen render would write with the same
flags. The picture is written to stdout, as Mermaid text or as SVG.

` + sourceHelp,
		Example: `  olmgen graph bundle/ --blast-radius
  olmgen graph bundle/ --blast-radius --profile descoped \
      --bind-namespaces team-a --format svg > radius.svg`,
		Args: args(1, 1, "the bundle"),
	}
	all := pflag.NewFlagSet("render", pflag.ContinueOnError)
	f.register(all)
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&radius, "blast-radius", false, "draw what the operator reaches; there is no other picture yet")
	flags.Var(enum(&format, formatMermaid, formatSVG), "format", "mermaid or svg")
	for _, name := range graphFlags {
		flags.AddFlag(all.Lookup(name))
	}
	offer(cmd, map[string][]string{
		"format":       {"mermaid", "svg"},
		"install-mode": words(bundle.InstallModes),
		"names":        words(generate.AllNames),
		"profile":      words(generate.Profiles),
		"split":        words(generate.Splits),
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !radius {
			return &usageError{"which picture is not said", "there is one: --blast-radius"}
		}
		return f.draw(cmd, args[0], format)
	}
	return cmd
}

// draw renders a bundle and draws what came out.
func (f *renderFlags) draw(cmd *cobra.Command, ref string, format pictureFormat) error {
	f.options.Certs = generate.CertsManager // they are not in the picture, but an operator that serves must have some
	r, err := f.render(cmd, ref)
	if err != nil {
		return err
	}
	picture, err := graph.BlastRadius(r.Result)
	if err != nil {
		return err
	}
	if format == formatSVG {
		return picture.SVG(cmd.OutOrStdout())
	}
	return picture.Mermaid(cmd.OutOrStdout())
}
