package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/generate/fit"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/rules/validate"
	"github.com/olmgen/olmgen/source"
)

// validateFlags holds the flags of olmgen validate.
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
		Long: `Validate reads bundles and lists their mistakes, by file and line: what olmgen
refuses or warns about, and what the validators of operator-framework report,
which operator-sdk bundle validate also runs. Those validators are in the
program olmgen-validate, beside olmgen or in PATH. Without it, validate prints a
warning and omits their findings.

With --olm-version, --openshift-version, --kube-version or --profile it also
lists what keeps the operator from working in such a cluster, and what holds
back the upgrade of the cluster.

The exit code is 3 if there are findings at or above --fail-on, and 1 if a
source cannot be read.

` + sourceHelp,
		Example: `  olmgen validate bundle/
  olmgen validate --fail-on warning oci://quay.io/example/operator-bundle:v1.2.3
  olmgen validate -f olmgen.yaml
  olmgen validate --openshift-version 4.20 --profile olmv1 bundle/
  olmgen validate --format sarif bundles/* > olmgen.sarif`,
		Args: sourcesOr(&f.source.files, math.MaxInt),
		RunE: f.run,
	}
	f.register(cmd)
	completeReport(cmd)
	return cmd
}

func (f *validateFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	fileFlag(flags, &f.source.files)
	f.report.register(flags)
	flags.BoolVar(&f.options.OperatorHub, "operatorhub", false,
		"also check the rules for publication on OperatorHub.io")
	f.target.register(cmd, true)
	f.source.register(cmd)
}

func (f *validateFlags) run(cmd *cobra.Command, refs []string) error {
	stderr := cmd.ErrOrStderr()
	given, err := f.target.checked(cmd.Flags())
	if err != nil {
		return err
	}
	if helper, err := validate.FindHelper(); err == nil {
		f.options.Checker, f.options.Resources = helper, crs.LazyHelper{}
	} else {
		text, hint := config.ErrorText(err, flagsOf(cmd))
		fmt.Fprintf(stderr, "olmgen: warning: only olmgen's own findings: %s\nhint: %s\n", text, hint)
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
		if f.options.Form = ""; f.target.profile != "" || s.profile != "" && f.options.Cluster.Known() {
			f.options.Form = fit.Form(cmp.Or(f.target.profile, s.profile).Installer())
		}
		found, n, err := f.validate(cmd.Context(), stderr, s.ref, withInput(cmd, s.options))
		switch {
		case err == nil:
			list = append(list, found...)
			bundles += n
		case len(sources) == 1 || cmd.Context().Err() != nil:
			return err
		default:
			sayError(cmd, stderr, err)
			failed++
		}
	}
	if list, err = f.report.known(stderr, list, failed == 0); err != nil {
		return err
	}
	if err := print.Report(cmd.OutOrStdout(), print.List{Rules: validate.Rules(), Findings: list},
		f.report.format); err != nil {
		return err
	}
	return f.report.concludePartly(stderr, list, text.Count(bundles, "bundle"), failed, "source")
}

// validate checks one source: a bundle, or all versions of a legacy package. It returns their number.
func (f *validateFlags) validate(ctx context.Context, stderr io.Writer, ref string,
	o fbc.Options) ([]validate.Finding, int, error) {
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
		fmt.Fprintf(stderr, "olmgen: %s is %s\n", ref, src.Digest)
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
