package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

type reportFlags struct {
	format   findings.Format
	failOn   failOn
	baseline string
}

func (f *reportFlags) register(cmd *cobra.Command) {
	f.registerAs(cmd, print.FindingFormats, nil, findings.Error)
}

// registerAs is register for a report with formats, differences and a default of its own.
func (f *reportFlags) registerAs(cmd *cobra.Command, formats []findings.Format, named []string,
	failOn findings.Severity) {
	f.format = findings.Text
	formatFlag(cmd, &f.format, append(slices.Clone(formats), formatBaseline))
	failOnFlag(cmd, &f.failOn, named, failOn)
	cmd.Flags().StringVar(&f.baseline, "baseline", "", "ignore the findings that `FILE` lists, which "+
		"--format baseline has written")
	place(cmd.Flags(), topicFindings, "format", "fail-on", "baseline")
}

const formatBaseline findings.Format = "baseline"

// known removes the findings of the baseline. If not all could be read, it calls no entry stale.
func (f *reportFlags) known(cmd *cobra.Command, list []findings.Finding, all bool) ([]findings.Finding, error) {
	if f.baseline == "" {
		return list, nil
	}
	const hint = "write it with --format baseline > "
	data, err := whole.ReadFile(f.baseline, budget.TreeFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &manifest.Error{File: f.baseline, Msg: "no such file", Tip: hint + f.baseline}
	case err != nil:
		return nil, err
	}
	b, err := findings.ParseBaseline(data)
	if err != nil {
		return nil, &manifest.Error{File: f.baseline, Msg: err.Error(), Tip: hint + f.baseline}
	}
	fresh, stale := b.Apply(list)
	for i, s := range stale {
		tip := ""
		if i == len(stale)-1 {
			tip = "--format baseline writes one without stale entries"
		}
		if all {
			say(cmd, "", tip, "stale in %s: %s", f.baseline, s)
		}
	}
	return fresh, nil
}

// printBaseline prints all findings as a baseline; nothing if not all could be read.
func (f *reportFlags) printBaseline(cmd *cobra.Command, list []findings.Finding, all bool) error {
	if f.baseline != "" {
		return &usageError{"--baseline cannot be given with --format baseline, which has all findings", "leave it out"}
	}
	if !all {
		return nil
	}
	tell(cmd, "%s in the baseline", text.Count(len(list), "finding"))
	_, err := cmd.OutOrStdout().Write(findings.NewBaseline(list).Encode())
	return err
}

type found struct {
	list   []findings.Finding
	rules  []findings.Rule
	print  func(list []findings.Finding) error // a report of its own; nil for the findings alone
	what   string                              // that was read
	unread int                                 // how much could not be read, which is an error and not a finding
	noun   string                              // what could not be read
}

// finish prints the findings that are not known, and a summary. The error that it returns sets the exit code.
func (f *reportFlags) finish(cmd *cobra.Command, r found) error {
	list, err := f.known(cmd, r.list, r.unread == 0)
	if err != nil {
		return err
	}
	if f.format == formatBaseline {
		r.print = func(list []findings.Finding) error { return f.printBaseline(cmd, list, r.unread == 0) }
	}
	if r.print == nil {
		r.print = func(list []findings.Finding) error {
			return print.Report(cmd.OutOrStdout(), print.List{Rules: r.rules, Findings: list}, f.format)
		}
	}
	if err := r.print(list); err != nil {
		return err
	}
	summary := countsOf(list)
	if n := findings.Count(list, findings.Note); n > 0 {
		summary += ", " + text.Count(n, "note")
	}
	summary += " in " + r.what
	if r.unread == 0 && f.fails(list) {
		return &foundError{summary}
	}
	tell(cmd, "%s", summary)
	if r.unread > 0 {
		return fmt.Errorf("%s could not be read", text.Count(r.unread, r.noun))
	}
	return nil
}

// fails reports whether findings make the exit code 3.
func (f *reportFlags) fails(list []findings.Finding) bool {
	return f.format != formatBaseline && f.failOn.reached(list)
}

func countsOf(list []findings.Finding) string {
	return text.Count(findings.Count(list, findings.Error), "error") + ", " +
		text.Count(findings.Count(list, findings.Warning), "warning")
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
