package main

import (
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/output"
)

type convertFlags struct {
	output  string
	force   bool
	replace bool

	summary summaryFlags
	source  fbc.Options
}

func newConvert() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert DIR -o OUT",
		Short: "Turn a package in the legacy format into bundles",
		Args:  args(1, 1, "the package's directory"),
		RunE:  func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`DIR` to write to")
	flags.StringVar(&f.source.Package, "package", "", "`NAME` of the package, where the directory has several")
	flags.BoolVar(&f.force, "force", false,
		"overwrite and remove files of an earlier run although they were edited by hand")
	flags.BoolVar(&f.replace, "replace", false,
		"remove the files of a directory that was converted from other packages")
	f.summary.registerDryRun(flags)
	return cmd
}

func (f *convertFlags) run(cmd *cobra.Command, dir string) error {
	if f.output == "" || f.output == "-" {
		return &usageError{"-o needs a directory", "see " + cmd.CommandPath() + " --help"}
	}
	if err := config.CheckOutputOf(dir, f.output); err != nil {
		return err
	}
	f.source.Source.Warn = warnOn(cmd)
	bundles, err := fbc.Convert(cmd.Context(), dir, f.source)
	if err != nil {
		return err
	}
	var files output.Files
	var sources []output.Source
	incomplete := 0
	for _, b := range bundles {
		if b.Incomplete {
			incomplete++
		}
		sources = append(sources, output.Source{Bundle: b.Dir, Source: filepath.ToSlash(filepath.Clean(dir))})
		for _, name := range slices.Sorted(maps.Keys(b.Files)) {
			files = append(files, output.File{Path: path.Join(path.Base(b.Dir), name), Data: b.Files[name]})
		}
	}
	s, err := f.summary.write(cmd, f.output, files,
		output.WriteOptions{Sources: sources, Force: f.force, Replace: f.replace})
	if err != nil {
		return err
	}
	if err := s.refused(); err != nil || incomplete == 0 {
		return err
	}
	return &foundError{text.Count(incomplete, "version") +
		" of the package incomplete: the warnings say what is missing"}
}
