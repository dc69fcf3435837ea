package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
)

// checkDeclared refuses arguments and flags that have their places in the file: all options but those of the layout.
func (f *renderFlags) checkDeclared(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return &usageError{fmt.Sprintf("%q beside -f: with -f the bundles are those of %s", given[0], f.file),
			"list it there below groups"}
	}
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if o, ok := f.options.Option(flag.Name); ok && err == nil && !strings.HasPrefix(o.Path, "output.") {
			err = &usageError{fmt.Sprintf("--%s cannot be given with -f", flag.Name), fmt.Sprintf("write it into %s as %s",
				f.file, o.Path)}
		}
	})
	return err
}

// runDeclared renders a RenderConfig.
func (f *renderFlags) runDeclared(cmd *cobra.Command) error {
	c, dir, err := readConfig(cmd.InOrStdin(), f.file)
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("output") && c.Output.Directory != "" {
		f.output = c.Output.Directory
		if !filepath.IsAbs(f.output) {
			f.output = filepath.Join(dir, f.output)
		}
	}
	if err := f.checkOutput(); err != nil {
		return err
	}
	o := config.Options{Dir: dir, Source: f.source}
	layout, _ := f.options.Text(config.OptionLayout)
	crds, _ := f.options.Text(config.OptionHelmCRDs)
	o.Layout, o.HelmCRDs = output.Layout(layout), helm.CRDs(crds)
	switch {
	case f.output != "-":
	case f.check:
		return errCheckStdout
	case o.Layout != "" && o.Layout != output.LayoutFlat:
		return errLayoutStdout
	default:
		o.Layout = output.LayoutFlat // a stream has no layout, whatever the file says
	}
	if used := cmp.Or(o.Layout, c.Output.Layout, output.LayoutFlat); o.HelmCRDs != "" && used != output.LayoutHelm {
		return &usageError{fmt.Sprintf("--helm-crds: means nothing with layout %s", used),
			"leave it out: it is for layout helm"}
	}
	bar, done := progress(cmd.ErrOrStderr())
	o.Progress = bar
	r, err := c.Render(cmd.Context(), o)
	done()
	if err != nil {
		return err
	}
	return f.deliver(cmd, r)
}

// readConfig reads a RenderConfig and returns the directory that its paths are relative to.
func readConfig(stdin io.Reader, file string) (*config.Config, string, error) {
	if file == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return nil, "", err
		}
		c, err := config.Read("stdin", data)
		return c, "", err
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", manifest.WithHint(fmt.Errorf("%s: no such file", file), "\"olmgen init\" writes one")
	}
	if err != nil {
		return nil, "", err
	}
	c, err := config.Read(filepath.ToSlash(file), data)
	return c, filepath.Dir(file), err
}
