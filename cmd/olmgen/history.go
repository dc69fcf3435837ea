package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/compare/history"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
)

// historyFlags are the flags of olmgen history as they were given.
type historyFlags struct {
	render renderFlags
	format history.Format
}

func newHistory() *cobra.Command {
	f := historyFlags{format: history.Text}
	cmd := &cobra.Command{
		Use:   "history DIR|CATALOG",
		Short: "Show what changed from release to release of an operator",
		Long: `History reads every release of a package and says what changed and in which
release: since when the operator reads Secrets, writes RBAC or runs in pods, how
many permissions it has, which versions its CRDs have, where its images are
from. The releases are in the order of the update graph: each after those that
it replaces or skips, and otherwise by version.

DIR has the directories of bundles, such as a package of a catalog's repository,
or is a package in the legacy format (packagemanifest:DIR). CATALOG is
catalog:DIR_OR_FILE, of which --package chooses the package. Each release is
rendered with the same flags. With --format svg a chart goes to stdout.`,
		Example: `  olmgen history community-operators/operators/grafana-operator
  olmgen history catalog:catalog/ --package grafana-operator --channel v5
  olmgen history --format svg operators/grafana-operator > history.svg`,
		Args: args(1, 1, "the directory or catalog"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(enum(&f.format, history.Formats...), "format", joined(history.Formats))
	offer(cmd, "format", words(history.Formats))
	f.render.register(cmd, func(o config.Option) bool { return o.Access && o.ID != bundle.OptionVersion })
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) }
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command, ref string) error {
	c, err := f.render.config(ref, map[manifest.Option]any{generate.OptionCerts: string(generate.CertsManager)})
	if err != nil {
		return err
	}
	if p := c.Groups[0].Bundles[0].Profile; p.HandsOver() {
		return &usageError{fmt.Sprintf("profile %s leaves RBAC to OLM", p), "leave out --profile"}
	}
	options, err := c.GenerateOptions(0, 0, "")
	if err != nil {
		return err
	}
	so := withInput(cmd, f.render.source)
	so.Package, _ = f.render.options.Text(bundle.OptionPackage)
	so.Channel, _ = f.render.options.Text(bundle.OptionChannel)
	releases, err := fbc.Releases(cmd.Context(), ref, so)
	if err != nil {
		return err
	}
	list, pkg, left, err := readReleases(cmd, releases, options)
	if err != nil {
		return err
	}
	if pkg == "" {
		pkg = filepath.Base(filepath.Clean(ref))
	}
	h, err := history.Of(pkg, list)
	if err != nil {
		return err
	}
	h.Notes = append(h.Notes, left...)
	return h.Print(cmd.OutOrStdout(), f.format)
}

// readReleases reads and renders releases, several at the same time. Releases that cannot be read are left out, with a
// note; if none can be read, the first reason is the error.
func readReleases(cmd *cobra.Command, releases []fbc.Release, o generate.Options) (list []history.Input, pkg string,
	left []string, err error) {
	inputs, packages := make([]history.Input, len(releases)), make([]string, len(releases))
	errs := make([]error, len(releases))
	bar, done := progress(cmd.ErrOrStderr())
	defer done()
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, r := range releases {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			inputs[i], packages[i], errs[i] = readRelease(cmd.Context(), r, o)
			if bar != nil {
				bar(len(releases))
			}
		})
	}
	wait.Wait()
	if err := cmd.Context().Err(); err != nil {
		return nil, "", nil, err
	}
	var all, out []string
	var first error
	for i := range releases {
		if errs[i] == nil {
			list, all = append(list, inputs[i]), append(all, packages[i])
			continue
		}
		if out = append(out, releases[i].Name); first == nil {
			first = errs[i]
		}
	}
	if len(list) == 0 {
		return nil, "", nil, fmt.Errorf("none of %s can be read: %w", plural(len(releases), "release"), first)
	}
	if len(out) > 0 {
		reason, _ := config.SayError(first, func(manifest.Option) string { return "" })
		left = []string{fmt.Sprintf("left out: %s: %s", text.FirstOf(6, out), reason)}
		fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: warning: "+left[0])
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 1 {
		return nil, "", nil, manifest.WithHint(fmt.Errorf("the releases are of %d packages: %s", len(all),
			strings.Join(all, ", ")), "name a directory with the releases of one package")
	}
	return list, all[0], left, nil
}

// readRelease reads one release and renders it.
func readRelease(ctx context.Context, r fbc.Release, o generate.Options) (in history.Input, pkg string, err error) {
	src, err := r.Open(ctx)
	if err != nil {
		return in, "", err
	}
	defer src.Close()
	b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true})
	if err != nil {
		return in, "", err
	}
	result, err := generate.Render(b, o)
	if err != nil {
		return in, "", err
	}
	in = history.Input{Name: b.CSV.Name, Version: b.CSV.Spec.Version.Version, Replaces: b.CSV.Spec.Replaces,
		Skips: append(slices.Clone(b.CSV.Spec.Skips), r.Skips...), Channels: r.Channels}
	if r.Replaces != nil {
		in.Replaces = *r.Replaces
	}
	for _, m := range b.CSV.Spec.InstallModes {
		if m.Supported {
			in.Modes = append(in.Modes, string(m.Type))
		}
	}
	slices.Sort(in.Modes)
	evaluated := permissions.Input{Namespace: result.Namespace, Rendered: true, Shipped: b.Others,
		CSVs: []permissions.CSV{{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}}}
	for _, x := range result.Objects {
		m, err := x.Manifest()
		if err != nil {
			return in, "", err
		}
		in.Objects = append(in.Objects, m)
		if permissions.Relevant(x.Group(), x.Kind) {
			evaluated.Objects = append(evaluated.Objects, m)
		}
	}
	in.Permissions, err = permissions.Evaluate(evaluated)
	return in, b.Package, err
}
