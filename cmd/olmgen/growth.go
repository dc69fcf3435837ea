package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/gittree"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/output"
)

// overwritten compares the older tree in the output directory with what is rendered, and adds warnings about what OLM
// would refuse. An older tree that cannot be read is no reason to fail here.
func (f *renderFlags) overwritten(cmd *cobra.Command, r *config.Rendered) *compare.Report {
	if f.output == output.Stdout {
		return nil
	}
	report, err := review.Overwritten(cmd.Context(), f.output, r)
	if err != nil {
		return nil
	}
	r.Warnings = append(r.Warnings, review.Refusals(report)...)
	return report
}

// sayGrowth prints a note if permissions grow, or if CRDs change in a way that breaks, by what is about to be written
// over an older tree.
func (f *renderFlags) sayGrowth(cmd *cobra.Command, report *compare.Report) {
	if growth := review.Growth(report); growth != "" && !hidesNotes(cmd) {
		note(cmd, "%s: %s: see %s", f.output, growth, f.howToSee(cmd))
	}
}

// hidesNotes reports whether notes are not printed.
func hidesNotes(cmd *cobra.Command) bool {
	_, is := cmd.ErrOrStderr().(*quietWriter)
	return is
}

// howToSee returns the command that shows what grew.
func (f *renderFlags) howToSee(cmd *cobra.Command) string {
	dir := text.Shell(f.output)
	what := strings.Join(append(cmd.Flags().Args(), f.files...), " ")
	switch {
	case f.check != "" || f.summary.dryRun:
		return "olmgen diff " + dir + " " + text.Shell(what)
	case gittree.Tracks(f.output):
		return "olmgen diff --git HEAD " + dir
	}
	return "olmgen diff with a copy of the older tree and " + dir
}
