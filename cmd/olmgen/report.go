package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/findings"
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

func (f *reportFlags) register(cmd *cobra.Command) {
	f.format, f.failOn = findings.Text, findings.Error
	formatFlag(cmd, &f.format, findings.Formats)
	failOnFlag(cmd, &f.failOn)
	f.registerBaseline(cmd.Flags())
}

// registerBaseline adds the flags about known findings.
func (f *reportFlags) registerBaseline(flags *pflag.FlagSet) {
	flags.StringVar(&f.baseline, "baseline", "", "ignore the findings that `FILE` lists")
	flags.StringVar(&f.write, "write-baseline", "",
		"write all findings to `FILE`, for --baseline, and exit with code 0")
	place(flags, topicFindings, "format", "fail-on", "baseline", "write-baseline")
}

// known removes the findings of the baseline, and writes a baseline on request. If not all could be read, it writes
// none and calls no entry stale.
func (f *reportFlags) known(cmd *cobra.Command, list []findings.Finding, all bool) ([]findings.Finding, error) {
	fresh := list
	if f.baseline != "" {
		data, err := whole.ReadFile(f.baseline, budget.TreeFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &manifest.Error{File: f.baseline, Msg: "no such file",
				Tip: "write it with --write-baseline " + f.baseline}
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
		for i, s := range stale {
			hint := ""
			if i == len(stale)-1 && f.write == "" {
				hint = "--write-baseline " + f.baseline + " removes stale entries"
			}
			say(cmd, "", hint, "stale in %s: %s", f.baseline, s)
		}
	}
	if f.write == "" || !all {
		return fresh, nil
	}
	if err := os.WriteFile(f.write, findings.NewBaseline(list).Encode(), 0o644); err != nil {
		return nil, err
	}
	tell(cmd, "%s: %s", f.write, text.Count(len(list), "finding"))
	return fresh, nil
}

// found is what a command has to report.
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
	if r.print == nil {
		r.print = func(list []findings.Finding) error {
			return findings.Print(cmd.OutOrStdout(), f.format, r.rules, list)
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
	return f.write == "" && findings.Reaches(list, f.failOn)
}

// countsOf says how many errors and warnings there are.
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
