package main

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/source"
)

type validateFlags struct {
	report  reportFlags
	source  sourceFlags
	target  targetFlags
	options validate.Options
}

func newValidate() *cobra.Command {
	f := validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate SOURCE... | -f FILE",
		Short: "Is this bundle right? List its mistakes",
		Args:  sourcesOr(&f.source.files, math.MaxInt),
		RunE:  f.run,
	}
	flags := cmd.Flags()
	fileFlag(flags, &f.source.files)
	f.report.register(cmd)
	flags.BoolVar(&f.options.OperatorHub, "operatorhub", false,
		"also check the rules for publication on OperatorHub.io")
	f.target.register(cmd, true)
	f.source.register(cmd)
	return cmd
}

func (f *validateFlags) run(cmd *cobra.Command, refs []string) error {
	given, err := f.target.checked(cmd.Flags())
	if err != nil {
		return err
	}
	f.options.Resources = apiserver.Checker{}
	if helper, err := validate.FindHelper(); err == nil {
		f.options.Checker = helper
	} else {
		text, hint := config.ErrorText(err, flagsOf(cmd))
		say(cmd, findings.Warning, hint, "only olmgen's own findings: %s", text)
	}
	sources, err := f.source.sources(cmd, refs)
	if err != nil {
		return err
	}
	var list []validate.Finding
	bundles, failed := 0, 0
	for _, s := range sources {
		if f.options.Cluster = given; !given.Known() {
			f.options.Cluster = s.cluster
		}
		f.options.Descoped = cmp.Or(f.target.profile, s.profile) == generate.ProfileDescoped
		if f.options.Form = ""; f.target.profile != "" || s.profile != "" && f.options.Cluster.Known() {
			f.options.Form = fit.Form(cmp.Or(f.target.profile, s.profile).Installer())
		}
		found, n, err := f.validate(cmd, s.ref, withInput(cmd, s.options))
		switch {
		case err == nil:
			list = append(list, found...)
			bundles += n
		case len(sources) == 1 || cmd.Context().Err() != nil:
			return err
		default:
			sayError(cmd, cmd.ErrOrStderr(), err)
			failed++
		}
	}
	return f.report.finish(cmd, found{list: list, rules: validate.Rules(), what: text.Count(bundles, "bundle"),
		unread: failed, noun: "source"})
}

// validate checks one source: a bundle, or all versions of a legacy package. It returns their number.
func (f *validateFlags) validate(cmd *cobra.Command, ref string, o fbc.Options) ([]validate.Finding, int, error) {
	ctx := cmd.Context()
	warn, warnings := o.Source.Warn, []string{}
	o.Source.Warn = func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	src, err := fbc.Open(ctx, ref, o)
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	if src.Kind == source.KindPackageManifest && o.Channel+o.Version == "" {
		return validate.Package(ctx, ref, o, f.options)
	}
	for _, w := range warnings {
		warn("%s", w)
	}
	if src.Digest != "" {
		tell(cmd, "%s is %s", ref, src.Digest)
	}
	if o.Package+o.Channel+o.Version != "" && !source.HasSeveral(src.Kind) {
		// An error of Read is a finding, see validate.Bundle.
		if b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true}); err == nil {
			if err := o.Check(b); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", ref, err)
			}
		}
	}
	list, err := validate.Bundle(ctx, src.Source, f.options)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", ref, err)
	}
	return validate.Located(src.Source, list), 1, nil
}
