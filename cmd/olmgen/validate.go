package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/validate"
)

// validateFlags are the flags of olmgen validate as they were given.
type validateFlags struct {
	format  validate.Format
	failOn  validate.Level
	source  source.Options
	options validate.Options
}

func newValidate() *cobra.Command {
	f := validateFlags{format: validate.FormatText, failOn: validate.LevelError}
	cmd := &cobra.Command{
		Use:   "validate SOURCE...",
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
  olmgen validate --format sarif bundles/* > olmgen.sarif`,
		Args: args(1, math.MaxInt, "the bundle"),
		RunE: f.run,
	}
	f.register(cmd.Flags())
	for name, values := range map[string][]string{
		"format":  {"text", "json", "sarif"},
		"fail-on": {"error", "warning"},
	} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	return cmd
}

func (f *validateFlags) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	registerSource(flags, &f.source)
	flags.Var(enum(&f.format, validate.Formats...), "format", "text, json or sarif")
	flags.Var(enum(&f.failOn, validate.LevelError, validate.LevelWarning), "fail-on", "the least that makes the exit code 3: error or warning")
	flags.BoolVar(&f.options.OperatorHub, "operatorhub", false, "also check what OperatorHub.io asks of a bundle")
}

func (f *validateFlags) run(cmd *cobra.Command, refs []string) error {
	stderr := cmd.ErrOrStderr()
	if helper, err := validate.FindHelper(); err == nil {
		f.options.Checker = helper
	} else {
		fmt.Fprintf(stderr, "olmgen: warning: only olmgen's own findings: %v\nhint: %s\n", err, hintOf(err))
	}
	f.source.Stdin = cmd.InOrStdin()
	f.source.Warn = func(format string, args ...any) { fmt.Fprintf(stderr, "olmgen: warning: "+format+"\n", args...) }
	var reports []validate.Report
	failed := 0
	for _, ref := range refs {
		r, err := f.validate(cmd.Context(), stderr, ref)
		switch {
		case err == nil:
			reports = append(reports, r)
		case len(refs) == 1 || cmd.Context().Err() != nil:
			return err
		default:
			sayError(stderr, err)
			failed++
		}
	}
	if err := validate.Print(cmd.OutOrStdout(), f.format, reports); err != nil {
		return err
	}
	return f.conclude(stderr, reports, failed)
}

// validate looks at one source.
func (f *validateFlags) validate(ctx context.Context, stderr io.Writer, ref string) (validate.Report, error) {
	src, err := source.Open(ctx, ref, f.source)
	if err != nil {
		return validate.Report{}, err
	}
	defer src.Close()
	if src.Digest != "" {
		fmt.Fprintf(stderr, "olmgen: %s is %s\n", ref, src.Digest)
	}
	findings, err := validate.Bundle(ctx, src, f.options)
	if err != nil {
		return validate.Report{}, fmt.Errorf("%s: %w", ref, err)
	}
	return validate.NewReport(src, findings), nil
}

// conclude sums up. What it returns gives the exit code.
func (f *validateFlags) conclude(stderr io.Writer, reports []validate.Report, failed int) error {
	errors, warnings := validate.Count(reports)
	summary := fmt.Sprintf("%s, %s in %s", plural(errors, "error"), plural(warnings, "warning"), plural(len(reports), "bundle"))
	found := errors > 0 || f.failOn == validate.LevelWarning && warnings > 0
	switch {
	case failed > 0:
		fmt.Fprintln(stderr, "olmgen: "+summary)
		return fmt.Errorf("%s could not be read", plural(failed, "source"))
	case found:
		return &foundError{summary}
	}
	fmt.Fprintln(stderr, "olmgen: "+summary)
	return nil
}

// foundError is the summary of findings that are to fail the command, with exit code 3.
type foundError struct{ msg string }

func (e *foundError) Error() string { return e.msg }
