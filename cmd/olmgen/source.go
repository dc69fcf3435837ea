package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
)

const sourceHelp = `SOURCE is a bundle's directory (the one that holds manifests/ and metadata/, or
its parent), an archive (.tar, .tar.gz, .tgz, .zip, or - for a tar on stdin) or,
by prefix:
  oci://REGISTRY/REPO:TAG or @sha256:...   an image in a registry
  oci-layout:DIR, docker-archive:FILE      an image on disk
  catalog:DIR_OR_FILE                      a file-based catalog; --package,
                                           --channel and --version choose
  packagemanifest:DIR                      the legacy package format
  dir:PATH, tar:FILE, zip:FILE             whatever the name looks like
A bundle that is not chosen must be of the --package, --channel and --version.`

// registerSource adds the flags that say where a bundle comes from.
func registerSource(flags *pflag.FlagSet, o *source.Options) {
	flags.StringVar(&o.Package, "package", "", "of a catalog: `NAME` of the package")
	flags.StringVar(&o.Channel, "channel", "", "of a catalog or legacy package: `NAME` of the channel (default: the package's default channel)")
	flags.StringVar(&o.Version, "version", "", "of a catalog or legacy package: `VERSION` of the bundle (default: the channel head)")
	flags.BoolVar(&o.Offline, "offline", false, "never use the network")
	flags.BoolVar(&o.Insecure, "insecure", false, "allow registries without TLS")
}

// openBundle opens a source and reads the bundle in it, which must be the one asked for. What is odd about the source, and the digest of an
// image, is said on stderr.
func openBundle(cmd *cobra.Command, ref string, o source.Options, read bundle.ReadOptions) (*bundle.Bundle, *source.Source, error) {
	stderr := cmd.ErrOrStderr()
	o.Stdin = cmd.InOrStdin()
	o.Warn = func(format string, args ...any) { fmt.Fprintf(stderr, "olmgen: warning: "+format+"\n", args...) }
	src, err := source.Open(cmd.Context(), ref, o)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	if src.Digest != "" {
		fmt.Fprintf(stderr, "olmgen: %s is %s\n", ref, src.Digest)
	}
	read.Labels = src.Labels
	b, err := bundle.Read(src.FS, read)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", ref, err)
	}
	return b, src, checkChoice(b, src, o)
}

// checkChoice refuses a bundle that was not chosen and is not the one asked for.
func checkChoice(b *bundle.Bundle, src *source.Source, o source.Options) error {
	if src.Chosen() {
		return nil
	}
	if err := (bundle.Choice{Package: o.Package, Channel: o.Channel, Version: o.Version}).Check(b); err != nil {
		return fmt.Errorf("%s: %w", src.Ref, err)
	}
	return nil
}

// choiceFor gives the options for one of several sources. Where there are catalogs among them, what is to be chosen is about those.
func choiceFor(ref string, refs []string, o source.Options) source.Options {
	if slices.ContainsFunc(refs, source.Chooses) && !source.Chooses(ref) {
		o.Package, o.Channel, o.Version = "", "", ""
	}
	return o
}

// sourceName is how the lock file calls a source: a path as it was given, with slashes.
func sourceName(s *source.Source) string {
	if s.Kind == source.KindDir {
		return filepath.ToSlash(filepath.Clean(s.Ref))
	}
	return s.Ref
}
