package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
	"github.com/olmgen/olmgen/templates"
)

func newRender() *cobra.Command {
	var f renderFlags
	var into string
	cmd := &cobra.Command{
		Use:   "render SOURCE | -f FILE",
		Short: "Write every object that OLM would create for a bundle",
		Args: func(cmd *cobra.Command, given []string) error {
			if into != "" && cmd.Flags().NFlag()+len(given) > 1 {
				return &usageError{"--print-templates stands alone", "leave out what else is given"}
			} else if into != "" {
				return nil
			}
			if len(f.files) > 0 {
				return f.checkDeclared(cmd, given)
			}
			if len(given) == 0 && source.IsRenderConfig(defaultConfig) {
				return &usageError{"the bundle is missing",
					"to render " + defaultConfig + ", write olmgen render -f " + defaultConfig}
			}
			return args(1, 1, "the bundle")(cmd, given)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if into != "" {
				return printTemplates(cmd, into)
			}
			return f.run(cmd, args)
		},
	}
	fileFlag(cmd.Flags(), &f.files)
	f.registerWriting(cmd)
	f.registerCheck(cmd)
	f.register(cmd, func(config.Option) bool { return true })
	cmd.Flags().StringVar(&into, "print-templates", "", "write olmgen's own templates into `DIR`, and do nothing else")
	place(cmd.Flags(), config.TopicObjects, "print-templates")
	nameOnly(cmd.Flags(), "print-templates")
	return cmd
}

// printTemplates writes olmgen's own templates into a directory that is new or empty.
func printTemplates(cmd *cobra.Command, dir string) error {
	if err := output.NotGit(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(entries) > 0:
		return manifest.WithHint(fmt.Errorf("%s: the directory is not empty", dir), "name another one")
	}
	if err := os.CopyFS(dir, templates.Own()); err != nil {
		return err
	}
	tell(cmd, "%s: olmgen's own templates; keep those that you change", dir)
	return nil
}

// defaultConfig is the file that "olmgen init" writes.
const defaultConfig = "olmgen.yaml"
