package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
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
	format := formatMermaid
	cmd := &cobra.Command{
		Use:   "graph SOURCE | -f FILE [NAME]",
		Short: "Draw what an operator reaches",
		Long: `Graph draws the blast radius of an operator: its ServiceAccounts, the roles
they are bound to, the namespaces of the bindings, and those that no binding
reaches. It draws what olmgen render writes with the same flags, or with -f an
operator of a RenderConfig: the one that NAME says, where there are several. The
picture goes to stdout, as Mermaid text or as SVG.

` + sourceHelp,
		Example: `  olmgen graph bundle/
  olmgen graph bundle/ --profile descoped --bind-namespaces team-a \
      --format svg > radius.svg
  olmgen graph -f olmgen.yaml memcached-operator`,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(f.files) == 0 {
				return args(1, 1, "the bundle")(cmd, given)
			}
			if err := args(0, 1, "")(cmd, given); err != nil {
				return err
			}
			return f.checkDeclared(cmd, nil)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	fileFlag(flags, &f.files)
	flags.Bool("blast-radius", true, "draw what the operator reaches; there is no other picture")
	cobra.CheckErr(flags.MarkHidden("blast-radius")) // it was necessary before
	flags.Var(enum(&format, formatMermaid, formatSVG), "format", "mermaid or svg")
	offer(cmd, "format", []string{"mermaid", "svg"})
	f.register(cmd, func(o config.Option) bool { return o.Access })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		operator, err := f.operator(cmd, args)
		if err != nil {
			return err
		}
		picture, err := graph.BlastRadius(operator)
		if err != nil {
			return err
		}
		if format == formatSVG {
			return picture.SVG(cmd.OutOrStdout())
		}
		return picture.Mermaid(cmd.OutOrStdout())
	}
	return cmd
}

// operator renders the operator of a source, or one of those that -f declares.
func (f *renderFlags) operator(cmd *cobra.Command, given []string) (*generate.Result, error) {
	if len(f.files) > 0 {
		return f.declaredOperator(cmd, given)
	}
	// An operator that serves must have certificates. They are not in the picture.
	c, err := f.config(given[0], map[manifest.Option]any{generate.OptionCerts: string(generate.CertsManager)})
	if err != nil {
		return nil, err
	}
	r, err := f.render(cmd, c)
	if err != nil {
		return nil, err
	}
	return r.Operators[0].Result, nil
}

// declaredOperator renders RenderConfigs and returns the operator that is called for.
func (f *renderFlags) declaredOperator(cmd *cobra.Command, name []string) (*generate.Result, error) {
	all, err := f.renderFiles(cmd)
	if err != nil {
		return nil, err
	}
	var names []string
	var found []*generate.Result
	for _, r := range all {
		for _, o := range r.Operators {
			names = append(names, o.Name)
			if len(name) == 0 || name[0] == o.Name {
				found = append(found, o.Result)
			}
		}
	}
	files := strings.Join(f.files, ", ")
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		hint := "choose one of " + strings.Join(names, ", ")
		return nil, manifest.WithHint(fmt.Errorf("%s: no operator is called %q", files, name[0]), hint)
	case len(name) == 0:
		return nil, &usageError{fmt.Sprintf("%s has %d operators, and a picture has one", files, len(found)),
			"name one of " + strings.Join(names, ", ")}
	}
	return nil, manifest.WithHint(fmt.Errorf("%s: %d operators are called %q", files, len(found), name[0]),
		"name one file with -f")
}

// renderFiles renders the RenderConfigs that -f names, for a report.
func (f *renderFlags) renderFiles(cmd *cobra.Command) (all []*config.Rendered, err error) {
	declared, err := declarations(cmd, f.files)
	if err != nil {
		return nil, err
	}
	for _, d := range declared {
		d.output = output.Stdout
		r, err := f.renderDeclared(cmd, d)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
