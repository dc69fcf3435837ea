package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/cmd/internal/gittree"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// prepare says what there is to say of what is rendered, and refuses what must not be written.
func (f *renderFlags) prepare(cmd *cobra.Command, r *config.Rendered) error {
	if f.output != output.Stdout { // a directory that cannot be read is an error of what follows
		recorded, _ := output.RecordedSources(f.output)
		warnings, err := r.PathWarnings(cmd.Context(), recorded)
		if err != nil {
			return err
		}
		r.Warnings = append(r.Warnings, warnings...)
	}
	if f.output != output.Stdout && f.check == "" && !f.summary.dryRun {
		if err := output.CheckWrite(f.output, r.Files, f.writeOptions(r.Sources)); err != nil {
			return err
		}
	}
	said := r.Notes
	if f.output != output.Stdout {
		fresh, removals, profiles := review.Over(f.output, r)
		if n := len(said) - len(fresh); !f.verbose && n > 0 {
			said = append(fresh, config.Warning{Message: fmt.Sprintf("%s about operators whose files do not change: "+
				"--verbose prints them", text.Count(n, "note"))})
		}
		r.Warnings = append(r.Warnings, removals...)
		r.Notes, said = append(r.Notes, profiles...), append(said, profiles...)
	}
	overwritten := f.overwritten(cmd, r)
	warnings := r.Warnings
	if f.green(r) {
		warnings = nil
	}
	if err := cmp.Or(f.printWarnings(cmd, warnings, said), r.Refused); err != nil {
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
	// permissions grow, or CRDs change in a way that breaks, over an older tree
	_, quiet := cmd.ErrOrStderr().(*quietWriter)
	if growth := review.Growth(overwritten); growth != "" && !quiet {
		note(cmd, "%s: %s: see %s", f.output, growth, f.howToSee(cmd))
	}
	if f.check != "" {
		return nil
	}
	return f.keepTenants(r)
}

// finish writes what is rendered, or compares it with what is there.
func (f *renderFlags) finish(cmd *cobra.Command, r *config.Rendered) error {
	if f.check != "" {
		return f.compare(cmd, r.Files, r.Sources, "rendered", text.Count(len(r.Sources), "operator"))
	}
	return f.write(cmd, r.Files, r.Sources, r)
}

// green reports whether a check finds the directory as rendered, and nothing asks for the warnings that were read when
// it was.
func (f *renderFlags) green(r *config.Rendered) bool {
	if f.check == "" || f.strict || f.verbose {
		return false
	}
	differences, err := output.Check(f.output, r.Files, r.Sources)
	return err == nil && len(differences) == 0
}

// printWarnings prints warnings and, where files are written, notes; with --strict warnings are an error. What is said
// of several places or operators is said of the first, unless all is asked for.
func (f *renderFlags) printWarnings(cmd *cobra.Command, warnings, notes []config.Warning) error {
	reason := func(w config.Warning) config.Warning {
		if w.Reason != "" && !f.verbose {
			w.Message, w.Field, w.Operator = "", "", ""
		}
		return w
	}
	several := len(lists.Set(warnings, func(w config.Warning) string { return w.Operator })) > 1
	about := func(w config.Warning) string {
		if several {
			return strings.TrimSpace(w.Operator + " " + w.Field)
		}
		return w.Field
	}
	for w, also := range firstOf(warnings, reason, about) {
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
		if err := print.JSON(cmd.OutOrStdout(), "WriteReport", s); err != nil {
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

// compare prints how the directory differs: the diffs or the names to stdout, the state of
// each file to stderr. The files are as made ("rendered") of what.
func (f *renderFlags) compare(cmd *cobra.Command, files output.Files, sources []output.Source, made, of string) error {
	differences, err := output.Check(f.output, files, sources)
	if err != nil {
		return err
	}
	for _, d := range differences {
		tell(cmd, "%s: %s", filepath.Join(f.output, filepath.FromSlash(d.Path)), d.State)
	}
	for _, d := range differences { // a diff may be long
		if len(f.files) > 1 { // or else nobody knows which directory it is in
			d = d.Below(filepath.ToSlash(f.output))
		}
		text := d.Diff
		if f.check == checkNames {
			text = []byte(d.Path + "\n")
		}
		if _, err := cmd.OutOrStdout().Write(text); err != nil {
			return err
		}
	}
	if n := len(differences); n > 0 {
		return &foundError{fmt.Sprintf("%s: %s not as %s", f.output, text.Count(n, "file"), made)}
	}
	tell(cmd, "%s: as %s: %s, %s", f.output, made, of, text.Count(len(files), "file"))
	return nil
}

// tenantsDir is where every layout has the bindings of tenants, a directory for each.
const tenantsDir = "tenants/"

// keepTenants refuses to remove the bindings of tenants that the flags do not name. A RenderConfig lists all tenants,
// and so does a file of tenants: one that is not in it is to be removed. A command line may name the new tenant only.
func (f *renderFlags) keepTenants(r *config.Rendered) error {
	_, listed := f.options.Text(option.Tenants)
	if len(f.files) > 0 || listed || f.pruneTenants || f.output == output.Stdout || !f.descoped() {
		return nil
	}
	differences, err := output.Check(f.output, r.Files, r.Sources)
	if err != nil {
		return nil //nolint:nilerr // what is wrong with the directory is for Write to say
	}
	var gone []string
	for _, d := range differences {
		rest, ok := strings.CutPrefix(d.Path, tenantsDir)
		tenant, _, inside := strings.Cut(rest, "/")
		if ok && inside && d.State == output.StateLeftOver && !slices.Contains(gone, tenant) {
			gone = append(gone, tenant)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return manifest.WithHint(fmt.Errorf("%s: this would remove the bindings of %s", f.output, strings.Join(gone, ", ")),
		"name all tenants with --bind-namespaces or --tenants, or give --prune-tenants to remove these")
}

func (f *renderFlags) descoped() bool {
	profile, _ := f.options.Text(option.Profile)
	_, takes := f.options.Option(strings.TrimPrefix(config.FlagOf(option.Profile), "--"))
	return profile == string(generate.ProfileDescoped) || !takes // olmgen descope has no such flag
}

// overwritten compares the older tree, if it can be read, with what is rendered, and warns of what OLM would refuse.
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

func (f *renderFlags) howToSee(cmd *cobra.Command) string {
	dir := text.Shell(f.output)
	what := strings.Join(append(cmd.Flags().Args(), f.files...), " ")
	switch {
	case f.check != "" || f.summary.dryRun:
		return "olmgen diff " + dir + " " + text.Shell(what) + givenToo(cmd, newDiff())
	case gittree.Tracks(f.output):
		return "olmgen diff --git HEAD " + dir
	}
	return "olmgen diff with a copy of the older tree and " + dir
}

// givenToo returns the flags that a command has been given and that another one takes as well, as its line has them.
func givenToo(cmd, other *cobra.Command) (line string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case other.Flags().Lookup(f.Name) == nil || f.Name == "format":
		case f.Value.Type() == "bool":
			line += " --" + f.Name + "=" + f.Value.String()
		default:
			line += " --" + f.Name + " " + text.Shell(strings.Join(valuesOf(f), ","))
		}
	})
	return line
}

// summaryFlags say how a command that writes files reports on them.
type summaryFlags struct {
	dryRun bool
	format findings.Format // of what the command wrote: a line on stderr, or JSON on stdout
	held   *output.Held    // the directory, by a run that has read of it; else nil
}

func (f *summaryFlags) registerDryRun(flags *pflag.FlagSet) {
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing; list what would change")
}

// check refuses flags that mean nothing without a directory.
func (f *summaryFlags) check(dir string, checks bool) error {
	switch {
	case f.dryRun && checks:
		return &usageError{"--dry-run cannot be given with --check: neither writes", "leave one of them out"}
	case f.format == findings.JSON && checks:
		return &usageError{"--format json cannot be given with --check, which prints a diff",
			"leave one of them out"}
	case f.dryRun && dir == output.Stdout:
		return &usageError{"--dry-run needs a directory", nameOutput}
	case f.format == findings.JSON && dir == output.Stdout:
		return &usageError{"--format json needs a directory: the objects go to stdout", nameOutput}
	}
	return nil
}

// summary is the JSON form of what a run did or would do. Paths are below the directory.
type summary struct {
	Directory string        `json:"directory"`
	DryRun    bool          `json:"dryRun,omitempty"`
	Added     []string      `json:"added"`
	Changed   []string      `json:"changed"`
	Removed   []string      `json:"removed"`
	Kept      []string      `json:"kept"`
	Refused   []string      `json:"refused,omitempty"`
	Unchanged int           `json:"unchanged"`
	Warnings  []summaryNote `json:"warnings"`
	Notes     []summaryNote `json:"notes"`
}

type summaryNote struct {
	Operator string `json:"operator,omitempty"`
	Class    string `json:"class,omitempty"`
	Message  string `json:"message"`
}

func notes(list []config.Warning) []summaryNote {
	return append([]summaryNote{}, lists.Map(list, func(w config.Warning) summaryNote {
		return summaryNote{w.Operator, w.Class, w.Message}
	})...)
}

// summaryOf returns what a run did. Lists are never nil.
func summaryOf(dir string, r output.Result) summary {
	list := func(paths []string) []string { return append([]string{}, paths...) }
	return summary{Directory: dir, Added: list(r.Added), Changed: list(r.Changed), Removed: list(r.Removed),
		Kept: list(r.Kept), Unchanged: len(r.Unchanged)}
}

func (s summary) printText(cmd *cobra.Command) {
	for _, part := range []struct {
		what  string
		paths []string
	}{{"added", s.Added}, {"changed", s.Changed}, {"removed", s.Removed}, {"kept, edited by hand", s.Kept},
		{"refused, not as olmgen wrote it", s.Refused}} {
		for _, p := range part.paths {
			tell(cmd, "%s: would be %s", filepath.Join(s.Directory, filepath.FromSlash(p)), part.what)
		}
	}
	tell(cmd, "%s: %d would be added, %d changed, %d removed, %d unchanged", s.Directory, len(s.Added),
		len(s.Changed), len(s.Removed), s.Unchanged)
}

// refused returns the error that a run would end with because of files that are in its way.
func (s summary) refused() error {
	if len(s.Refused) == 0 {
		return nil
	}
	return manifest.WithHint(fmt.Errorf("%s: %s would be refused", s.Directory, text.Count(len(s.Refused), "file")),
		"move away what olmgen did not write; --force overwrites files that were edited by hand")
}

// write writes files, or with --dry-run says what would be written.
func (f *summaryFlags) write(cmd *cobra.Command, dir string, files output.Files, o output.WriteOptions) (summary,
	error) {
	if f.dryRun {
		p, err := output.NewPreview(dir, files, o)
		s := summaryOf(dir, p)
		s.DryRun, s.Refused = true, p.Refused
		if err == nil && f.format != findings.JSON {
			s.printText(cmd)
		}
		return s, err
	}
	var r output.Result
	var err error
	if f.held != nil {
		r, err = f.held.Write(files, o)
	} else {
		r, err = output.Write(dir, files, o)
	}
	if err != nil {
		return summary{}, err
	}
	report(cmd, dir, r)
	return summaryOf(dir, r), nil
}

// outFile is a file that a command writes by its name.
type outFile struct {
	name string
	data []byte
	held *output.Held // by a run that has read it; else nil
}

// writeFiles writes files, each whole, or none of them. With replace it replaces those that are there; hint says what
// else to do about one.
func writeFiles(files []outFile, replace bool, hint string) error {
	var contents []output.Content
	for i, f := range files {
		same := func(x outFile) bool { return filepath.Clean(x.name) == filepath.Clean(f.name) }
		if slices.ContainsFunc(files[:i], same) {
			return manifest.WithHint(fmt.Errorf("%s would be written twice", f.name), "give each file its own name")
		}
		if f.held == nil {
			var err error
			if f.held, err = output.HoldFile(f.name); err != nil {
				return err
			}
			defer f.held.Release()
		}
		contents = append(contents, output.Content{File: f.held, Data: f.data})
	}
	err := output.WriteFiles(contents, replace)
	if there, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrExist) {
		return manifest.WithHint(fmt.Errorf("%s is there already", there.Path), hint)
	}
	return err
}

// checkNotRead refuses a directory or a file that nothing is written to, or that would be part of what a run reads.
func checkNotRead(name string, refs []string) error {
	if err := output.CheckTarget(name); err != nil {
		return err
	}
	for _, ref := range refs {
		if err := config.CheckOutputOf(ref, name); err != nil {
			return err
		}
	}
	return nil
}

// checkDirectory refuses a --directory that has the file in it, or that nothing is rendered into.
func checkDirectory(file, directory string) error {
	dir, clean := inDirectory(filepath.Dir(file), directory), filepath.ToSlash(filepath.Clean(directory))
	if strings.Trim(clean, "./") == "" || clean == output.Stdout ||
		config.CheckOutputOf(dir, filepath.Dir(file)) != nil {
		return &usageError{"--directory needs a directory of its own", "such as operators"}
	}
	return cmp.Or(output.CheckTarget(file), output.CheckTarget(dir))
}

// inDirectory returns a path of a file in dir as it is from here.
func inDirectory(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
