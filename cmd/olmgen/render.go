package main

import (
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/source"
)

const renderHelp = `Render reads a bundle and writes every object that OLM would create for it, to
stdout or to a directory. With -f it renders all operators of a RenderConfig,
which "olmgen init" writes. SOURCE is a bundle's directory, an archive, an image
or a catalog.`

const renderExamples = `  # one file per object, for an operator that watches two namespaces
  olmgen render bundle/ -o out/ -n operators --target-namespaces team-a,team-b
  # for a cluster without OLM
  olmgen render bundle/ --profile plain | kubectl apply --server-side -f -
  # one version of a package in a catalog
  olmgen render catalog:c/ --package a --version 1.0.0 -o out/
  # all operators of a file: is what is committed as rendered?
  olmgen render -f olmgen.yaml --check
  # for Argo CD
  olmgen render bundle/ -o out/ --annotations argocd`

func newRender() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:     "render SOURCE | -f FILE",
		Short:   "Write every object that OLM would create for a bundle",
		Long:    renderHelp,
		Example: renderExamples,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(f.files) > 0 {
				return f.checkDeclared(cmd, given)
			}
			if len(given) == 0 && source.IsRenderConfig(defaultConfig) {
				return &usageError{"the bundle is missing",
					"to render " + defaultConfig + ", write olmgen render -f " + defaultConfig}
			}
			return args(1, 1, "the bundle")(cmd, given)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fileFlag(cmd.Flags(), &f.files)
	f.registerWriting(cmd)
	f.registerCheck(cmd)
	f.register(cmd, func(config.Option) bool { return true })
	return cmd
}

// defaultConfig is the file that "olmgen init" writes.
const defaultConfig = "olmgen.yaml"
