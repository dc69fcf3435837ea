package main

import (
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/source"
)

func newRender() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render SOURCE | -f FILE",
		Short: "Write every object that OLM would create for a bundle",
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
