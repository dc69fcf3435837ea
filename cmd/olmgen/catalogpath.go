package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/manifest"
)

type pathFlags struct {
	catalogs, channels []string
	from, to           string
	profile            generate.Profile
	versions           string
	policy             generate.UpgradePolicy
	format             findings.Format
	network            fbc.Options
	read               []*fbc.Catalog // those of the flags
}

func newCatalogPath() *cobra.Command {
	f := pathFlags{profile: generate.ProfileSubscription, policy: generate.UpgradeCatalogProvided,
		format: findings.Text}
	cmd := command("path PACKAGE", "Show the updates from one version to another", args(1, 1, "the package"), f.run)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.catalogs, "catalog", nil,
		"content of a catalog, `[NAME=]DIR[,priority=N]`: a file-based catalog or a directory with bundles, a file or "+
			"an image too; may be repeated for OLM v1")
	flags.StringVar(&f.from, "from", "", "installed `VERSION`, or the name of its CSV")
	flags.StringVar(&f.to, "to", "", "`VERSION` to reach, or the name of its CSV (default: the head)")
	flags.StringSliceVar(&f.channels, "channel", nil,
		"`CHANNEL` (default: the default channel, for OLM v1 all); several, with commas, for OLM v1")
	enumFlag(cmd, &f.profile, "profile", text.Or(pathProfiles), pathProfiles...)
	flags.StringVar(&f.versions, "version-range", "", "the `VERSIONS` that OLM v1 may install (default: any)")
	enumFlag(cmd, &f.policy, "upgrade-constraint-policy",
		"which updates OLM v1 makes, of which SelfCertified allows any", generate.UpgradeCatalogProvided,
		generate.UpgradeSelfCertified)
	formatFlag(cmd, &f.format, []findings.Format{findings.Text, findings.JSON})
	registerSources(flags, &f.network)
	return cmd
}

// pathProfiles are the profiles that leave updates to OLM.
var pathProfiles = []generate.Profile{generate.ProfileSubscription, generate.ProfileClusterExtension}

func (f *pathFlags) run(cmd *cobra.Command, args []string) error {
	path, err := f.path(cmd, args[0])
	missing := func(c *fbc.Catalog) bool { return c != nil && c.Missing(args[0]) != nil }
	if err != nil && len(f.read) > 0 && manifest.HintOf(err) == "" && !slices.ContainsFunc(f.read, missing) {
		dir := f.catalogs[0][strings.LastIndexByte(f.catalogs[0], '=')+1:]
		return manifest.WithHint(err, "olmgen catalog audit "+text.Shell(dir)+" lists the packages of a catalog")
	}
	if err != nil {
		return err
	}
	if err := print.Report(cmd.OutOrStdout(), path, f.format); err != nil {
		return err
	}
	if !path.Good() {
		err := &foundError{"the path does not reach " + cmp.Or(path.To, "the head")}
		return manifest.WithHint(err, cmp.Or(f.notReleased(args[0], "--from", path.From),
			f.notReleased(args[0], "--to", path.To)))
	}
	return nil
}

func (f *pathFlags) path(cmd *cobra.Command, pkg string) (*resolve.Path, error) {
	if len(f.catalogs) == 0 {
		return nil, &usageError{"--catalog is missing", "name the directory or image of a file-based catalog"}
	}
	if f.profile == generate.ProfileClusterExtension {
		return f.ofOLMv1(cmd, pkg)
	}
	if name := given(cmd, "version-range", "upgrade-constraint-policy"); name != "" {
		return nil, &usageError{name + " is for OLM v1", "add --profile clusterextension"}
	}
	switch {
	case len(f.catalogs) > 1:
		return nil, &usageError{"a Subscription of OLM v0 names one catalog, and --catalog is given several times",
			"choose one, or add --profile clusterextension"}
	case len(f.channels) > 1:
		return nil, &usageError{"a Subscription of OLM v0 names one channel, and --channel is given several times",
			"choose one, or add --profile clusterextension"}
	}
	_, read, err := f.open(cmd, f.catalogs[0], pkg)
	if err != nil {
		return nil, err
	}
	return resolve.PathOf(read, pkg, strings.Join(f.channels, ""), f.from, f.to)
}

func (f *pathFlags) ofOLMv1(cmd *cobra.Command, pkg string) (*resolve.Path, error) {
	if err := generate.CheckVersionRange(f.versions); err != nil && f.versions != "" {
		return nil, &usageError{"--version-range: " + err.Error(), manifest.HintOf(err)}
	}
	var sources []extension.Source
	for _, value := range f.catalogs {
		c, read, err := f.open(cmd, value, pkg)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sources, func(s extension.Source) bool { return s.Name == c.Name }) {
			return nil, &usageError{fmt.Sprintf("--catalog: %s is given twice", c.Name), "name them with NAME=DIR"}
		}
		sources = append(sources, extension.Source{Name: c.Name, Priority: c.Priority, Catalog: read})
	}
	return extension.PathOf(sources, extension.Request{Package: pkg, Versions: f.versions, Channels: f.channels,
		SelfCertified: f.policy == generate.UpgradeSelfCertified}, f.from, f.to)
}

// notReleased returns a hint if no catalog has the release of a flag: it may be a slip.
func (f *pathFlags) notReleased(pkg, flag, given string) string {
	var names []string
	for _, c := range f.read {
		if why := c.Dropped(pkg, given); why != nil {
			return given + " is on disk, and in no channel: " + manifest.HintOf(why)
		}
		if p := c.Packages[pkg]; p != nil {
			names = slices.Concat(names, lists.Map(p.Bundles, func(b *fbc.Bundle) string { return b.Name }))
		}
	}
	if given == "" || slices.Contains(names, given) {
		return ""
	}
	return flag + ": no release is " + given + "; there are " + text.FirstOf(mostFields, names)
}

// open reads a catalog of --catalog, as far as a package needs it.
func (f *pathFlags) open(cmd *cobra.Command, value, pkg string) (review.Content, *fbc.Catalog, error) {
	c, err := review.ReadContent(value, f.profile == generate.ProfileClusterExtension, false)
	if err != nil {
		return c, nil, contentError(err)
	}
	reader := review.ContentReader{Options: withInput(cmd, f.network)}
	reader.Options.Only = []string{pkg}
	read, err := reader.Read(cmd.Context(), c.Dir)
	if err != nil {
		return c, nil, err
	}
	f.read = append(f.read, read.Catalog)
	return c, read.Catalog, nil
}

func readCatalog(cmd *cobra.Command, ref string, network fbc.Options) (*fbc.Catalog, error) {
	return fbc.Read(cmd.Context(), ref, withInput(cmd, network))
}
