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
)

// renderFlags are the flags of a command that renders: those that fill a RenderConfig, and those about the run.
type renderFlags struct {
	options *config.Flags
	source  fbc.Options // what registerSources fills
	files   []string
	output  string
	check   checkMode
	force   bool
	replace bool
	strict  bool
	verbose bool

	pruneTenants bool
	summary      summaryFlags
}

// checkMode is what --check prints of a directory that differs.
type checkMode string

const (
	checkDiff  checkMode = "diff"
	checkStat  checkMode = "stat"  // the number of changed lines of each file
	checkNames checkMode = "names" // of the files
)

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
	flags.BoolVar(&f.verbose, "verbose", false, "print all notes, and each place of a warning")
	enumFlag(cmd, &f.check, "check", "write nothing; print a `diff` of DIR, stat or names; exit with 3 if it differs",
		checkDiff, checkStat, checkNames)
	flags.Lookup("check").NoOptDefVal = string(checkDiff)
	flags.BoolVar(&f.pruneTenants, "prune-tenants", false,
		"remove the bindings of tenants that this run does not name")
	place(flags, config.TopicOutput, "format", "check", "verbose", "prune-tenants")
	nameOnly(flags, "format", "verbose", "prune-tenants")
}

// checkOutput refuses an empty directory, most likely an unset variable, and what looks like kubectl's -o or a file.
func (f *renderFlags) checkOutput() error {
	if f.output == "" {
		return &usageError{"-o needs a directory, or - for stdout", ""}
	}
	if info, err := os.Stat(f.output); err == nil && info.IsDir() {
		return f.summary.check(f.output, f.check != "")
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
	return f.summary.check(f.output, f.check != "")
}
