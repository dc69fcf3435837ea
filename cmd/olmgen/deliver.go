package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/output"
)

var (
	errCheckStdout  = &usageError{"--check needs a directory to compare with", "name it with -o"}
	errLayoutStdout = &usageError{"--layout needs a directory: stdout has no files", "name a directory with -o"}
)

// deliver prints the warnings and writes or compares the files.
func (f *renderFlags) deliver(cmd *cobra.Command, r *config.Rendered) error {
	if err := f.findPaths(cmd, r); err != nil {
		return err
	}
	if f.output != output.Stdout && f.check == "" {
		if err := output.CheckOwner(f.output, r.Files, f.writeOptions(r.Sources)); err != nil {
			return err
		}
	}
	said := r.Notes
	if f.output != output.Stdout {
		if !f.verbose {
			said = review.NewNotes(f.output, r)
		}
		r.Warnings = append(r.Warnings, review.Removals(f.output, r)...)
		changes := review.ProfileChanges(f.output, r)
		r.Notes, said = append(r.Notes, changes...), append(said, changes...)
	}
	overwritten := f.overwritten(cmd, r)
	if err := cmp.Or(f.printWarnings(cmd, r.Warnings, said), r.Refused); err != nil {
		return err
	}
	if n := output.CRLF(f.output, r.Files); f.output != "-" && n > 0 { // with --check too
		say(cmd, findings.Note, filepath.Join(f.output, attributesName)+
			" with \"/** text eol=lf\" keeps them as olmgen writes them",
			"%s: %s with line ends of Windows (CRLF): only lines are compared", f.output, text.Count(n, "file"))
	}
	if f.output != "-" {
		if err := r.CheckOutput(f.output); err != nil {
			return err
		}
	}
	f.sayGrowth(cmd, overwritten)
	if f.check != "" {
		return f.compare(cmd, r)
	}
	if err := f.keepTenants(r); err != nil {
		return err
	}
	return f.write(cmd, r.Files, r.Sources, r)
}

// findPaths adds warnings about operators that OLM would not update in one step from the version in the directory. A
// directory that cannot be read is an error of what follows.
func (f *renderFlags) findPaths(cmd *cobra.Command, r *config.Rendered) error {
	if f.output == output.Stdout {
		return nil
	}
	recorded, err := output.RecordedSources(f.output)
	if err != nil || len(recorded) == 0 {
		return nil //nolint:nilerr // see above
	}
	warnings, err := r.PathWarnings(cmd.Context(), recorded)
	r.Warnings = append(r.Warnings, warnings...)
	return err
}

// printWarnings prints warnings and, where files are written, notes; with --strict warnings are an error. What is said
// of several places is said of the first, unless all is asked for.
func (f *renderFlags) printWarnings(cmd *cobra.Command, warnings, notes []config.Warning) error {
	reason := func(w config.Warning) config.Warning {
		if w.Reason != "" && !f.verbose {
			w.Message = ""
		}
		return w
	}
	for w, also := range firstOf(warnings, reason) {
		warn(cmd, "%s%s%s", w, also, class(w.Class))
	}
	for _, n := range notes {
		if f.check == "" || f.verbose { // they are about what is rendered, and were read when it was
			note(cmd, "%s", n)
		}
	}
	return f.refuseWarnings(len(warnings))
}

// class returns the class of a warning as it stands behind it.
func class(name string) string {
	if name == "" {
		return ""
	}
	return " [" + name + "]"
}

func (f *renderFlags) refuseWarnings(n int) error {
	if f.strict && n > 0 {
		them := "it as an error"
		if n > 1 {
			them = "them as errors"
		}
		return fmt.Errorf("%s, and --strict treats %s", text.Count(n, "warning"), them)
	}
	return nil
}

// write writes files, and sums up as the flags say. Without r there are no warnings to sum up.
func (f *renderFlags) write(cmd *cobra.Command, files output.Files, sources []output.Source, r *config.Rendered) error {
	if f.output == "-" {
		return output.Stream(cmd.OutOrStdout(), files)
	}
	s, err := f.summary.write(cmd, f.output, files, f.writeOptions(sources))
	if err != nil {
		return err
	}
	if f.summary.format == findings.JSON {
		s.Warnings, s.Notes = notes(r.Warnings), notes(r.Notes)
		if err := s.print(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	return s.refused()
}

func (f *renderFlags) writeOptions(sources []output.Source) output.WriteOptions {
	return output.WriteOptions{Sources: sources, Force: f.force, Replace: f.replace}
}

func report(cmd *cobra.Command, dir string, r output.Result) {
	for _, name := range r.Kept {
		warn(cmd, "%s: not rendered any more, but edited by hand: kept", filepath.Join(dir, name))
	}
	tell(cmd, "%s: %d added, %d changed, %d removed, %d unchanged", dir, len(r.Added), len(r.Changed), len(r.Removed),
		len(r.Unchanged))
}

// compare prints how the directory differs: the diff, the numbers of changed lines or the names to stdout, the state of
// each file to stderr.
func (f *renderFlags) compare(cmd *cobra.Command, r *config.Rendered) error {
	differences, err := output.Check(f.output, r.Files, r.Sources)
	if err != nil {
		return err
	}
	for _, d := range differences {
		tell(cmd, "%s: %s", filepath.Join(f.output, filepath.FromSlash(d.Path)), d.State)
		text := d.Diff
		switch f.check {
		case checkNames:
			text = []byte(d.Path + "\n")
		case checkStat:
			text = nil
		}
		if _, err := cmd.OutOrStdout().Write(text); err != nil {
			return err
		}
	}
	if f.check == checkStat {
		if _, err := cmd.OutOrStdout().Write(output.Stat(differences)); err != nil {
			return err
		}
	}
	if n := len(differences); n > 0 {
		return &foundError{fmt.Sprintf("%s: %s not as rendered", f.output, text.Count(n, "file"))}
	}
	tell(cmd, "%s: as rendered: %s, %s", f.output, text.Count(len(r.Sources), "operator"),
		text.Count(len(r.Files), "file"))
	return nil
}
