package main

import (
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/report/graph"
)

// pictureFormat is what graph writes.
type pictureFormat string

const (
	formatMermaid pictureFormat = "mermaid"
	formatSVG     pictureFormat = "svg"
)

func newGraph() *cobra.Command {
	var f renderFlags
	var radius bool
	format := formatMermaid
	cmd := &cobra.Command{
		Use:   "graph SOURCE --blast-radius",
		Short: "Draw what an operator reaches",
		Long: `Graph draws the blast radius of an operator: its ServiceAccounts, the roles
they are bound to, the namespaces of the bindings, and those that no binding
reaches. It draws what olmgen render writes with the same flags. The picture
goes to stdout, as Mermaid text or as SVG.

` + sourceHelp,
		Example: `  olmgen graph bundle/ --blast-radius
  olmgen graph bundle/ --blast-radius --profile descoped \
      --bind-namespaces team-a --format svg > radius.svg`,
		Args: args(1, 1, "the bundle"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&radius, "blast-radius", false, "draw what the operator reaches; there is no other picture yet")
	flags.Var(enum(&format, formatMermaid, formatSVG), "format", "mermaid or svg")
	offer(cmd, "format", []string{"mermaid", "svg"})
	f.register(cmd, func(o config.Option) bool { return o.Access })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !radius {
			return &usageError{"the picture is missing", "give --blast-radius"}
		}
		return f.draw(cmd, args[0], format)
	}
	return cmd
}

// draw renders a bundle and draws what came out.
func (f *renderFlags) draw(cmd *cobra.Command, ref string, format pictureFormat) error {
	// An operator that serves must have certificates. They are not in the picture.
	c, err := f.config(ref, map[manifest.Option]any{generate.OptionCerts: string(generate.CertsManager)})
	if err != nil {
		return err
	}
	r, err := f.render(cmd, c)
	if err != nil {
		return err
	}
	picture, err := graph.BlastRadius(r.Operators[0].Result)
	if err != nil {
		return err
	}
	if format == formatSVG {
		return picture.SVG(cmd.OutOrStdout())
	}
	return picture.Mermaid(cmd.OutOrStdout())
}
