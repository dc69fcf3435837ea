package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/output"
)

// partFlags are the flags with which several processes share the work on a RenderConfig.
type partFlags struct {
	shard string
	merge bool
}

func (f *partFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.shard, "shard", "",
		"with -f, read shard I of N (`I/N`) of the bundles and write a part to the file of -o")
	flags.BoolVar(&f.merge, "merge", false, "with -f, take the bundles from parts: the arguments")
	place(flags, config.TopicSource, "shard", "merge")
	nameOnly(flags, "shard", "merge")
}

// asked reports whether one of the flags is given.
func (f *partFlags) asked() bool { return f.shard != "" || f.merge }

// besideShard are the flags that --shard can be given with.
var besideShard = []string{"config", "shard", "output", "offline", "insecure-registry", "verify-key", "color", "quiet"}

// check refuses what has no meaning with a part. The arguments are the parts.
func (f *partFlags) check(cmd *cobra.Command, files, given []string) error {
	switch {
	case f.shard != "" && f.merge:
		return &usageError{"--shard and --merge exclude each other", "choose one"}
	case len(files) != 1:
		return &usageError{"--shard and --merge need one -f FILE", ""}
	case f.merge:
		return args(1, math.MaxInt, "the part")(cmd, given)
	}
	if err := besideFile(files, given); err != nil {
		return err
	}
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(besideShard, flag.Name) {
			err = &usageError{fmt.Sprintf("--%s cannot be given with --shard", flag.Name),
				"give it to olmgen render --merge"}
		}
	})
	return err
}

// runShard reads the bundles of a shard and writes them to a file, or to stdout.
func (f *renderFlags) runShard(cmd *cobra.Command) error {
	in, _, err := parseShard(f.parts.shard)
	if err != nil {
		return err
	}
	name := f.output
	switch name {
	case "":
		return &usageError{"-o needs a file, or - for stdout", ""}
	case output.Stdout:
		name = ""
	}
	all, err := declarations(cmd, f.files)
	if err != nil {
		return err
	}
	bar, done := progress(cmd.ErrOrStderr())
	defer done()
	part, err := all[0].Part(cmd.Context(), config.Options{Dir: all[0].dir, Source: f.source, Progress: bar}, in)
	return writePart(cmd, name, part, err)
}
