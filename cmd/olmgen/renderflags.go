package main

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// renderFlags are the flags of a command that renders: those that fill a RenderConfig, and those about the run.
type renderFlags struct {
	options *config.Flags
	source  fbc.Options // what registerSources fills
	files   []string
	output  string
	check   bool
	stat    bool // with check
	names   bool // with check
	force   bool
	replace bool
	strict  bool
	verbose bool

	pruneTenants bool
	summary      summaryFlags
}

// optionsWith yields the declared options with a flag that a command takes.
func optionsWith(takes func(config.Option) bool) iter.Seq[config.OptionAt] {
	return func(yield func(config.OptionAt) bool) {
		for o := range config.WithFlags(config.Declared()) {
			if takes(o.Option) && !yield(o) {
				return
			}
		}
	}
}

// addOptions adds the flags of options, with their completion.
func addOptions(cmd *cobra.Command, options iter.Seq[config.OptionAt]) *config.Flags {
	flags := config.AddFlags(cmd.Flags(), options)
	for o := range flags.Options() {
		offerOption(cmd, o)
	}
	return flags
}

// register adds the flags of a command that renders with the options that takes reports.
func (f *renderFlags) register(cmd *cobra.Command, takes func(config.Option) bool) {
	flags := cmd.Flags()
	f.options = addOptions(cmd, optionsWith(takes))
	registerSources(flags, &f.source)
}

// registerWriting adds the flags of a command that writes files.
func (f *renderFlags) registerWriting(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "-", "`DIR` to write to; - is stdout")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	flags.BoolVar(&f.force, "force", false,
		"overwrite and remove files although they were edited by hand")
	flags.BoolVar(&f.replace, "replace", false,
		"remove the files of a directory that was rendered from other packages")
	f.summary.registerDryRun(flags)
	place(flags, config.TopicOutput, "output", "force", "replace", "dry-run")
	place(flags, config.TopicObjects, "strict")
	nameOnly(flags, "force", "replace")
}

func (f *renderFlags) registerCheck(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.summary.registerFormat(cmd)
	flags.BoolVar(&f.verbose, "verbose", false, "print the notes that an earlier run into DIR has printed, too")
	flags.BoolVar(&f.check, "check", false, "write nothing; print a diff of DIR; exit with 3 if it differs")
	flags.BoolVar(&f.pruneTenants, "prune-tenants", false,
		"remove the bindings of tenants that this run does not name")
	flags.BoolVar(&f.stat, "stat", false, "with --check, print a line for each file, not the diff")
	flags.BoolVar(&f.names, "name-only", false, "with --check, print the names of files, not the diff")
	place(flags, config.TopicOutput, "format", "output-format", "check", "verbose", "prune-tenants", "stat",
		"name-only")
	nameOnly(flags, "format", "output-format", "verbose", "prune-tenants", "stat", "name-only")
}

// config returns the RenderConfig of a source. Options in fixed have their values from the command.
func (f *renderFlags) config(ref string, fixed map[manifest.Option]any) (*config.Config, error) {
	c, err := f.options.Config(ref, fixed)
	if err != nil {
		return nil, err
	}
	switch layout := c.Output.Layout; {
	case f.output == "-" && layout != "" && layout != output.LayoutFlat:
		return nil, errLayoutStdout
	case f.output == "-" && f.check:
		return nil, errCheckStdout
	}
	return c, nil
}

// render renders the RenderConfig of a source.
func (f *renderFlags) render(cmd *cobra.Command, c *config.Config) (*config.Rendered, error) {
	o := withInput(cmd, f.source)
	r, err := c.Render(cmd.Context(), config.Options{Source: o.Source, Catalogs: o.Cache})
	if err != nil {
		return nil, err
	}
	for _, opened := range r.Opened {
		sayDigest(cmd, opened)
	}
	return r, nil
}

// checkOutput refuses an empty directory, most likely an unset variable of a shell, and what looks like the -o of
// kubectl or like a file.
func (f *renderFlags) checkOutput() error {
	if f.output == "" {
		return &usageError{"-o needs a directory, or - for stdout", ""}
	}
	if err := f.checkPrinting(); err != nil {
		return err
	}
	if info, err := os.Stat(f.output); err == nil && info.IsDir() {
		return f.summary.check(f.output, f.check)
	}
	switch strings.ToLower(filepath.Ext(f.output)) {
	case ".yaml", ".yml", ".json":
		return &usageError{fmt.Sprintf("-o %s: -o names a directory, and this looks like a file", f.output),
			"for one file with all objects, redirect stdout: > " + f.output}
	}
	if slices.Contains([]string{"json", "yaml", "name", "wide"}, f.output) {
		return &usageError{fmt.Sprintf("-o %s: -o names a directory, not a format", f.output),
			"without -o, YAML goes to stdout; for a directory of this name write -o ./" + f.output}
	}
	return f.summary.check(f.output, f.check)
}

// checkPrinting refuses flags that say how to print a check that is not made.
func (f *renderFlags) checkPrinting() error {
	switch {
	case f.stat && f.names:
		return &usageError{"--stat and --name-only exclude each other", "choose one"}
	case (f.stat || f.names) && !f.check:
		return &usageError{"--stat and --name-only need --check", "add --check"}
	}
	return nil
}

// run renders a source and writes or compares the files.
func (f *renderFlags) run(cmd *cobra.Command, ref string, fixed map[manifest.Option]any) (*config.Rendered, error) {
	if err := f.checkOutput(); err != nil {
		return nil, err
	}
	c, err := f.config(ref, fixed)
	if err != nil {
		return nil, err
	}
	r, err := f.render(cmd, c)
	if err != nil {
		return nil, err
	}
	return r, f.deliver(cmd, r)
}
