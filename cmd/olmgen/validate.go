package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/review/findings"
	"github.com/olmgen/olmgen/review/validate"
)

// validateFlags are the flags of olmgen validate as they were given.
type validateFlags struct {
	report  reportFlags
	source  sourceFlags
	options validate.Options
}

func newValidate() *cobra.Command {
	f := validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate SOURCE... | -f FILE",
		Short: "Say what is wrong with bundles",
		Long: `Validate reads bundles and says what is wrong with them, by file and line: what
olmgen refuses or warns about, and what the validators of operator-framework
say, those of operator-sdk bundle validate. All sources are looked at, in the
order given. The latter validators are in the program olmgen-validate, which has
to be beside olmgen or in PATH; without it they are left out, with a warning.

The exit code is 3 if there are findings at or above --fail-on, and 1 if a
source cannot be read.

` + sourceHelp,
		Example: `  olmgen validate bundle/
  olmgen validate --fail-on warning oci://quay.io/example/operator-bundle:v1.2.3
  olmgen validate -f olmgen.yaml
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
	flags.BoolVar(&f.options.OperatorHub, "operatorhub", false, "also check what OperatorHub.io asks of a bundle")
	f.source.register(cmd)
}

func (f *validateFlags) run(cmd *cobra.Command, refs []string) error {
	stderr := cmd.ErrOrStderr()
	if helper, err := validate.FindHelper(); err == nil {
		f.options.Checker = helper
	} else {
		text, hint := config.SayError(err, flagsOf(cmd))
		fmt.Fprintf(stderr, "olmgen: warning: only olmgen's own findings: %s\nhint: %s\n", text, hint)
	}
	sources, err := f.source.sources(cmd, refs)
	if err != nil {
		return err
	}
	var list []validate.Finding
	bundles, failed := 0, 0
	for _, s := range sources {
		s.options.Stdin, s.options.Warn = cmd.InOrStdin(), warnOn(stderr)
		found, err := f.validate(cmd.Context(), stderr, s.ref, s.options)
		switch {
		case err == nil:
			list = append(list, found...)
			bundles++
		case len(sources) == 1 || cmd.Context().Err() != nil:
			return err
		default:
			sayError(cmd, stderr, err)
			failed++
		}
	}
	if list, err = f.report.known(stderr, list); err != nil {
		return err
	}
	if err := findings.Print(cmd.OutOrStdout(), f.report.format, validate.Rules(), list); err != nil {
		return err
	}
	conclusion := f.report.conclude(stderr, list, plural(bundles, "bundle"))
	if failed > 0 {
		if conclusion != nil {
			fmt.Fprintln(stderr, "olmgen: "+conclusion.Error())
		}
		return fmt.Errorf("%s could not be read", plural(failed, "source"))
	}
	return conclusion
}

// validate looks at one source.
func (f *validateFlags) validate(ctx context.Context, stderr io.Writer, ref string,
	o source.Options) ([]validate.Finding, error) {
	src, err := source.Open(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if src.Digest != "" {
		fmt.Fprintf(stderr, "olmgen: %s is %s\n", ref, src.Digest)
	}
	if o.Package+o.Channel+o.Version != "" && !src.Chosen() {
		if b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels,
			AllowUnsupported: true}); err == nil { // else that is a finding
			if err := (bundle.Choice{Package: o.Package, Channel: o.Channel, Version: o.Version}).Check(b); err != nil {
				return nil, fmt.Errorf("%s: %w", ref, err)
			}
		}
	}
	list, err := validate.Bundle(ctx, src, f.options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return validate.Located(src, list), nil
}
