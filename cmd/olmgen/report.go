package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/manifest/budget"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/manifest/whole"
	"github.com/olmgen/olmgen/manifest"
)

// reportFlags holds the flags of the commands that print findings.
type reportFlags struct {
	format          findings.Format
	failOn          findings.Severity
	baseline, write string
}

func (f *reportFlags) register(flags *pflag.FlagSet) {
	f.format, f.failOn = findings.Text, findings.Error
	flags.Var(enum(&f.format, print.FindingFormats...), "format", "text, json, markdown or sarif")
	flags.Var(
		enum(&f.failOn, findings.Severities...),
		"fail-on",
		"lowest level that makes the exit code 3: error, warning, note or none",
	)
	f.registerBaseline(flags)
}

// registerBaseline adds the flags about known findings.
func (f *reportFlags) registerBaseline(flags *pflag.FlagSet) {
	flags.StringVar(&f.baseline, "baseline", "", "ignore the findings that `FILE` lists")
	flags.StringVar(&f.write, "write-baseline", "",
		"write all findings to `FILE`, for --baseline, and exit with code 0")
	place(flags, topicFindings, "format", "fail-on", "baseline", "write-baseline")
}

func completeReport(cmd *cobra.Command) {
	offer(cmd, "format", text.Words(print.FindingFormats))
	offer(cmd, "fail-on", text.Words(findings.Severities))
}

// known removes the findings of the baseline, and writes a baseline on request. If not all could be read, it writes
// none and calls no entry stale.
func (f *reportFlags) known(stderr io.Writer, list []findings.Finding, all bool) ([]findings.Finding, error) {
	fresh := list
	if f.baseline != "" {
		data, err := whole.ReadFile(f.baseline, budget.TreeFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &manifest.Error{
				File: f.baseline,
				Msg:  "no such file",
				Tip:  "write it with --write-baseline " + f.baseline,
			}
		case err != nil:
			return nil, err
		}
		b, err := findings.ParseBaseline(data)
		if err != nil {
			return nil, &manifest.Error{File: f.baseline, Msg: err.Error(), Tip: "write it with --write-baseline"}
		}
		var stale []string
		if fresh, stale = b.Apply(list); !all {
			stale = nil
		}
		for _, s := range stale {
			fmt.Fprintf(stderr, "olmgen: stale in %s: %s\n", f.baseline, s)
		}
		if len(stale) > 0 && f.write == "" {
			fmt.Fprintf(stderr, "hint: --write-baseline %s removes stale entries\n", f.baseline)
		}
	}
	if f.write == "" || !all {
		return fresh, nil
	}
	if err := os.WriteFile(f.write, findings.NewBaseline(list).Encode(), 0o644); err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "olmgen: %s: %s\n", f.write, text.Count(len(list), "finding"))
	return fresh, nil
}

// conclude prints a summary of the findings. The error that it returns sets the exit code.
func (f *reportFlags) conclude(stderr io.Writer, list []findings.Finding, what string) error {
	summary := fmt.Sprintf(
		"%s, %s",
		text.Count(findings.Count(list, findings.Error), "error"),
		text.Count(findings.Count(list, findings.Warning), "warning"),
	)
	if n := findings.Count(list, findings.Note); n > 0 {
		summary += ", " + text.Count(n, "note")
	}
	summary += " in " + what
	if f.write == "" && findings.Reaches(list, f.failOn) {
		return &foundError{summary}
	}
	fmt.Fprintln(stderr, "olmgen: "+summary)
	return nil
}

// concludePartly is conclude where some of what was to be read could not be, which is an error and not a finding.
func (f *reportFlags) concludePartly(stderr io.Writer, list []findings.Finding, what string, failed int,
	noun string) error {
	conclusion := f.conclude(stderr, list, what)
	if failed == 0 {
		return conclusion
	}
	if conclusion != nil {
		fmt.Fprintln(stderr, "olmgen: "+conclusion.Error())
	}
	return fmt.Errorf("%s could not be read", text.Count(failed, noun))
}

// foundError is the summary of findings that fail the command with exit code 3.
type foundError struct{ msg string }

func (e *foundError) Error() string { return e.msg }

// requireObjects returns an error if a tree has nothing to check: an empty pipe must not look like a passed check.
func requireObjects(t *tree.Tree) error {
	if len(t.Objects)+len(t.Faults)+len(t.Unknown()) > 0 {
		return nil
	}
	read := text.Count(t.Files, "file")
	if n := len(t.Skipped); n > 0 {
		read += ", " + strconv.Itoa(n) + " skipped: " + t.Skipped[0].Path + ": " + t.Skipped[0].Why
	}
	return manifest.WithHint(fmt.Errorf("no Kubernetes objects (read %s)", read),
		"check the paths; for -, check that the command before the pipe succeeded")
}
