package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

type pathFlags struct {
	catalogs, channels []string
	from, to           string
	profile            generate.Profile
	versions           string
	policy             generate.UpgradePolicy
	format             findings.Format

	diff   pathDiff
	review diffFlags
	opened []openedCatalog
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
	enumFlag(cmd, &f.diff, "diff",
		"add what changes from the first version to the last (`total`), or with each of the steps",
		diffTotal, diffSteps)
	flags.Lookup("diff").NoOptDefVal = string(diffTotal)
	f.review.cluster.register(flags)
	f.review.render.register(cmd, func(o config.Option) bool { return o.Access && o.Topic == config.TopicPlacement })
	return cmd
}

// pathProfiles are the profiles that leave updates to OLM.
var pathProfiles = []generate.Profile{generate.ProfileSubscription, generate.ProfileClusterExtension}

func (f *pathFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.checkDiff(cmd); err != nil {
		return err
	}
	path, err := f.path(cmd, args[0])
	if err != nil {
		return err
	}
	diffs, err := f.compare(cmd, path)
	if err != nil {
		return err
	}
	if err := printPath(cmd.OutOrStdout(), path, diffs, f.format); err != nil {
		return err
	}
	if !path.Good() {
		return &foundError{"the path does not reach " + cmp.Or(path.To, "the head")}
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
	c, read, err := f.open(cmd, f.catalogs[0], pkg)
	if err != nil {
		return nil, err
	}
	f.opened = []openedCatalog{{c.Name, c.Dir, read}}
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
		f.opened = append(f.opened, openedCatalog{c.Name, c.Dir, read})
		sources = append(sources, extension.Source{Name: c.Name, Priority: c.Priority, Catalog: read})
	}
	return extension.PathOf(sources, extension.Request{Package: pkg, Versions: f.versions, Channels: f.channels,
		SelfCertified: f.policy == generate.UpgradeSelfCertified}, f.from, f.to)
}

// open reads a catalog of --catalog, as far as a package needs it.
func (f *pathFlags) open(cmd *cobra.Command, value, pkg string) (review.Content, *fbc.Catalog, error) {
	c, err := review.ReadContent(value, f.profile == generate.ProfileClusterExtension, false)
	if err != nil {
		return c, nil, contentError(err)
	}
	reader := review.ContentReader{Options: withInput(cmd, f.review.render.source)}
	reader.Options.Only = []string{pkg}
	read, err := reader.Read(cmd.Context(), c.Dir)
	return c, read.Catalog, err
}

func readCatalog(cmd *cobra.Command, ref string, network fbc.Options) (*fbc.Catalog, error) {
	return fbc.Read(cmd.Context(), ref, withInput(cmd, network))
}

type pathDiff string

const (
	diffTotal pathDiff = "total" // the first with the last
	diffSteps pathDiff = "steps" // each with the next
)

type openedCatalog struct {
	name, ref string
	content   *fbc.Catalog
}

// checkDiff refuses flags that say how --diff renders if there is no --diff.
func (f *pathFlags) checkDiff(cmd *cobra.Command) (wrong error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		_, option := f.review.render.options.Option(flag.Name)
		option = option || flag.Name == "tree" || flag.Name == "crs"
		if option && f.diff == "" && wrong == nil {
			wrong = &usageError{"--" + flag.Name + " needs --diff", "add --diff"}
		}
	})
	return wrong
}

// compare compares versions of a path as olmgen diff does.
func (f *pathFlags) compare(cmd *cobra.Command, path *resolve.Path) ([]*compare.Report, error) {
	steps := path.Steps
	if len(steps) > 0 && steps[0].From == "" {
		steps = steps[1:] // a fresh install
	}
	if f.diff == "" || len(steps) == 0 {
		return nil, nil
	}
	if f.diff == diffTotal {
		last := steps[len(steps)-1]
		steps = []resolve.PathStep{{From: steps[0].From, To: last.To, Catalog: last.Catalog}}
	}
	f.review.inCatalog = true
	var reports []*compare.Report
	for _, s := range steps {
		old, err := f.side(path.Package, s.From, "")
		if err != nil {
			return nil, err
		}
		old.old = true
		now, err := f.side(path.Package, s.To, s.Catalog)
		if err != nil {
			return nil, err
		}
		sides := [2]side{old, now}
		on, o, err := f.review.prepare(cmd, sides)
		if err != nil {
			return nil, err
		}
		report, err := f.review.compareSides(cmd, sides, on, o)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// side returns a bundle as a side of a comparison. Without a catalog's name, the first that has it counts.
func (f *pathFlags) side(pkg, csv, catalog string) (side, error) {
	for _, c := range f.opened {
		p := c.content.Packages[pkg]
		if p == nil || p.Bundle(csv) == nil || catalog != "" && c.name != catalog {
			continue
		}
		found := side{Revision: review.Revision{Ref: source.KindCatalog + ":" + c.ref, Name: csv}, pkg: pkg,
			version: csv}
		if f.profile == generate.ProfileClusterExtension {
			found.profile = generate.ProfileOLMv1
		}
		return found, nil
	}
	return side{}, fmt.Errorf("--diff: no catalog has %s, so there is nothing to compare with", csv)
}

func printPath(w io.Writer, path *resolve.Path, diffs []*compare.Report, format findings.Format) error {
	if format == findings.JSON && diffs != nil {
		return findings.WriteJSON(w, struct {
			*resolve.Path
			Diffs []*compare.Report `json:"diffs"`
		}{path, diffs})
	}
	if err := print.Report(w, path, format); err != nil {
		return err
	}
	for _, d := range diffs {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := print.Report(w, d, findings.Text); err != nil {
			return err
		}
	}
	return nil
}
