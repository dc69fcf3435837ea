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

	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// withConfig are the flags of render that go together with -f; the others have their places in the file.
var withConfig = map[string]bool{"config": true, "helm-crds": true, "output": true, "layout": true, "check": true, "force": true, "strict": true, "offline": true, "insecure": true}

func (f *renderFlags) checkDeclared(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return &usageError{fmt.Sprintf("%q beside -f: with -f the bundles are those of %s", given[0], f.file), "list it there below groups"}
	}
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !withConfig[flag.Name] {
			err = &usageError{fmt.Sprintf("--%s cannot be given with -f", flag.Name), "write it into " + f.file}
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
	flags := cmd.Flags()
	if !flags.Changed("output") && c.Output.Directory != "" {
		f.output = c.Output.Directory
		if !filepath.IsAbs(f.output) {
			f.output = filepath.Join(dir, f.output)
		}
	}
	if f.output == "" {
		return &usageError{"-o needs a directory, or - for stdout", ""}
	}
	if f.check && f.output == "-" {
		return errCheckStdout
	}
	o := config.Options{Dir: dir, Source: source.Options{Offline: f.source.Offline, Insecure: f.source.Insecure}}
	switch {
	case f.output == "-" && f.layout != output.LayoutFlat:
		return errLayoutStdout
	case f.output == "-" || flags.Changed("layout"): // a stream has no layout, whatever the file says
		o.Layout = f.layout
	}
	if err := checkHelmCRDs(cmd, cmp.Or(o.Layout, c.Output.Layout, output.LayoutFlat)); err != nil {
		return err
	}
	if flags.Changed("helm-crds") {
		o.HelmCRDs = f.helmCRDs
	}
	bar, done := progress(cmd.ErrOrStderr())
	o.Progress = bar
	r, err := c.Render(cmd.Context(), o)
	done()
	if err != nil {
		return err
	}
	out := rendered{files: r.Files, sources: r.Sources}
	for _, w := range r.Warnings {
		out.warnings = append(out.warnings, w.String())
	}
	for _, n := range r.Notes {
		out.notes = append(out.notes, n.String())
	}
	return f.deliver(cmd, out)
}

// readConfig reads a RenderConfig and gives the directory that its paths are relative to.
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

// joined lists words for a help text.
func joined[T ~string](list []T) string {
	w := words(list)
	if n := len(w); n > 1 {
		return strings.Join(w[:n-1], ", ") + " or " + w[n-1]
	}
	return strings.Join(w, "")
}
