package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/config"
)

const sourceHelp = `SOURCE is a bundle's directory, an archive, an image or a catalog: see
"olmgen help sources".`

// sourceFlags are the flags that say where a bundle comes from.
type sourceFlags struct {
	files   []string
	options *config.Flags
	source  source.Options
}

func (f *sourceFlags) register(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	f.options = addOptions(cmd, optionsWith(func(o config.Option) bool { return o.Topic == config.TopicSource }))
	registerNetwork(cmd.Flags(), &f.source)
}

// namedSource is a source that a command reads, and what chooses the bundle in it.
type namedSource struct {
	ref     string
	options source.Options
}

// sources returns the sources of the arguments, or those of the RenderConfigs that -f names.
func (f *sourceFlags) sources(cmd *cobra.Command, refs []string) (all []namedSource, err error) {
	given := f.given()
	for _, ref := range refs {
		all = append(all, namedSource{ref, choiceFor(ref, refs, given)})
	}
	if len(f.files) > 0 && given.Package+given.Channel+given.Version != "" {
		return nil, &usageError{"--package, --channel and --version cannot be given with -f",
			"write them into " + f.files[0]}
	}
	declared, err := declarations(cmd, f.files)
	if err != nil {
		return nil, err
	}
	for _, d := range declared {
		for _, g := range d.Groups {
			for _, b := range g.Bundles {
				o := given
				o.Package, o.Channel, o.Version = b.Package, b.Channel, b.Version
				all = append(all, namedSource{source.In(d.dir, b.Source), o})
			}
		}
	}
	return all, nil
}

// given returns what the flags say.
func (f *sourceFlags) given() source.Options {
	o := f.source
	o.Package, _ = f.options.Text(bundle.OptionPackage)
	o.Channel, _ = f.options.Text(bundle.OptionChannel)
	o.Version, _ = f.options.Text(bundle.OptionVersion)
	return o
}

// registerNetwork adds the flags about registries.
func registerNetwork(flags *pflag.FlagSet, o *source.Options) {
	flags.BoolVar(&o.Offline, "offline", false, "never use the network")
	flags.BoolVar(&o.Insecure, "insecure", false, "allow registries without TLS")
	place(flags, config.TopicSource, "offline", "insecure")
	nameOnly(flags, "offline", "insecure")
	o.Catalogs = &source.Catalogs{} // a command reads an image once
}

// openBundle opens a source and reads the bundle in it, which must be the one asked for. It prints warnings about the
// source and the digest of an image on stderr.
func openBundle(cmd *cobra.Command, ref string, o source.Options, read bundle.ReadOptions) (*config.Opened, error) {
	o.Stdin, o.Warn = cmd.InOrStdin(), warnOn(cmd.ErrOrStderr())
	opened, err := config.Open(cmd.Context(), ref, o, read)
	if err != nil {
		return nil, err
	}
	sayDigest(cmd.ErrOrStderr(), opened)
	return opened, nil
}

// warnOn returns what prints a warning.
func warnOn(stderr io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) { fmt.Fprintf(stderr, "olmgen: warning: "+format+"\n", args...) }
}

// sayDigest prints the digest of an image.
func sayDigest(stderr io.Writer, o *config.Opened) {
	if o.Digest != "" {
		fmt.Fprintf(stderr, "olmgen: %s is %s\n", o.Ref, o.Digest)
	}
}

// choiceFor returns the options for one of several sources. Where catalogs are among them, package, channel and
// version are about those.
func choiceFor(ref string, refs []string, o source.Options) source.Options {
	if slices.ContainsFunc(refs, source.Chooses) && !source.Chooses(ref) {
		o.Package, o.Channel, o.Version = "", "", ""
	}
	return o
}
