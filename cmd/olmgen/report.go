package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

type reportFlags struct {
	format   findings.Format
	failOn   failOn
	baseline string
}

func (f *reportFlags) register(cmd *cobra.Command) {
	f.registerAs(cmd, print.Formats, nil, findings.Error)
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
	hint := "name a file that --format baseline has written"
	if _, err := os.Stat(f.baseline); errors.Is(err, fs.ErrNotExist) {
		hint = "write it with --format baseline > " + f.baseline
	}
	data, err := readNamed(f.baseline, budget.TreeFile, hint)
	if err != nil {
		return nil, err
	}
	b, err := findings.ParseBaseline(data)
	if err != nil {
		return nil, &manifest.Error{File: f.baseline, Msg: err.Error(), Tip: hint}
	}
	fresh, stale := b.Apply(list)
	if n := len(list) - len(fresh); n > 0 {
		tell(cmd, "%s leaves out %s", f.baseline, text.Count(n, "finding"))
	}
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
func requireObjects(t *tree.Tree, paths ...string) error {
	if len(t.Objects)+len(t.Faults)+len(t.Unknown()) > 0 || t.Waits() {
		return nil
	}
	read, hint := text.Count(t.Files, "file"), "check that the command before the pipe succeeded"
	if !slices.Contains(paths, tree.Stdin) {
		hint = "" // lead looks at what is there
	}
	if n := len(t.Skipped); n > 0 {
		hint = `"olmgen help trees" explains what is read, of charts too`
		read += ", " + strconv.Itoa(n) + " skipped: " + t.Skipped[0].Path + ": " + t.Skipped[0].Why
	}
	where := ""
	if len(paths) > 0 {
		where = strings.Replace(text.FirstOf(3, paths), tree.Stdin, tree.StdinFile, 1) + ": "
	}
	return manifest.WithHint(fmt.Errorf("%sno Kubernetes objects (read %s)", where, read), hint)
}

// enumValue is a flag that takes one of a few words.
type enumValue[T ~string] struct {
	value   *T
	allowed []T
}

// enumFlag registers a flag that takes one of a few words, which a shell completes.
func enumFlag[T ~string](cmd *cobra.Command, value *T, name, usage string, allowed ...T) {
	cmd.Flags().Var(&enumValue[T]{value, allowed}, name, usage)
	offer(cmd, name, text.Words(allowed))
}

func (e *enumValue[T]) String() string { return string(*e.value) }

func (e *enumValue[T]) Type() string { return "WORD" }

func (e *enumValue[T]) Set(s string) error {
	if err := text.CheckKnown("value", T(s), e.allowed); err != nil {
		return err
	}
	*e.value = T(s)
	return nil
}

// formatFlag registers --format of a command that has these formats.
func formatFlag(cmd *cobra.Command, format *findings.Format, formats []findings.Format) {
	enumFlag(cmd, format, "format", text.Or(formats), formats...)
}

// failOn is what makes the exit code 3: severities, and the differences that a command knows by name.
type failOn struct {
	words, allowed []string
	given          bool
}

// failOnFlag registers --fail-on of a command. Without the flag, the words count.
func failOnFlag(cmd *cobra.Command, f *failOn, named []string, words ...findings.Severity) {
	f.words, f.allowed = text.Words(words), named
	usage := "lowest level that makes the exit code 3: " + text.Or(findings.Severities)
	switch {
	case slices.Equal(named, supportWords):
		usage = "exit with 3 at this `LEVEL`, " + text.Or(findings.Severities) + ", or at " + text.Or(named)
	case len(named) > 0:
		usage = "exit with 3 at this `LEVEL`, " + text.Or(findings.Severities) +
			", or at a difference that olmgen diff --help names"
	}
	for _, s := range text.Words(findings.Severities) {
		f.allowed = lists.Add(f.allowed, s)
	}
	cmd.Flags().Var(f, "fail-on", usage)
	offerList(cmd, "fail-on", func() []string { return f.allowed })
}

func (f *failOn) String() string { return strings.Join(f.words, ",") }

func (f *failOn) Type() string { return "WORD" }

func (f *failOn) Set(s string) error {
	if !f.given {
		f.words, f.given = nil, true
	}
	for word := range strings.SplitSeq(s, ",") {
		if err := text.CheckKnown("value", word, f.allowed); err != nil {
			return err
		}
		f.words = append(f.words, word)
	}
	return nil
}

// level returns the severity that a word stands for, or "" for the name of a difference.
func level(word string) findings.Severity {
	switch s := findings.Severity(word); {
	case word == string(compare.AnyDifference):
		return findings.Note
	case slices.Contains(findings.Severities, s):
		return s
	}
	return ""
}

func (f *failOn) reached(list []findings.Finding) bool {
	return slices.ContainsFunc(f.words, func(word string) bool {
		if slices.Contains(supportWords, word) {
			return slices.ContainsFunc(list, func(x findings.Finding) bool {
				return x.Rule == fit.Prefix+word && x.Level != findings.Note
			})
		}
		return level(word) != "" && findings.Reaches(list, level(word))
	})
}

// met returns the words that a report on differences meets, separated by commas, or "".
func (f *failOn) met(meets func(compare.Trigger) bool) string {
	return strings.Join(lists.Filter(f.words, func(word string) bool {
		t := compare.Trigger(word)
		if level(word) == findings.Note {
			t = compare.AnyDifference
		}
		return level(word) != findings.None && meets(t)
	}), ", ")
}

// never reports whether nothing makes the exit code 3.
func (f *failOn) never() bool {
	return !slices.ContainsFunc(f.words, func(word string) bool { return level(word) != findings.None })
}

// offer has a shell complete a flag with these values.
func offer(cmd *cobra.Command, flag string, words []string) {
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// offerList has a shell complete each word of a flag that takes several, with commas, with values not given yet.
func offerList(cmd *cobra.Command, flag string, words func() []string) {
	complete := func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		before := start[:strings.LastIndexByte(start, ',')+1]
		given := strings.Split(before, ",")
		var out []string
		for _, w := range words() {
			if strings.HasPrefix(before+w, start) && !slices.Contains(given, w) {
				out = append(out, before+w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// knownNamespaces returns the namespaces that the RenderConfig of the current directory names, sorted.
func knownNamespaces() []string {
	c, _, err := readConfig(nil, defaultConfig)
	if err != nil {
		return nil
	}
	var names []string
	for _, g := range c.Groups {
		names = slices.Concat(names, []string{g.Namespace}, g.TargetNamespaces, g.CopiedCSVNamespaces)
		for _, b := range g.Bundles {
			if b.Descoped != nil {
				names = append(names, b.Descoped.BindNamespaces...)
			}
		}
	}
	return lists.SortedUnique(lists.Filter(names, func(name string) bool { return name != "" }))
}

// offerOption has a shell complete the flag of an option.
func offerOption(cmd *cobra.Command, o config.OptionAt) {
	fixed := func() []string { return o.Words }
	switch {
	case o.Type == config.List && o.Words != nil:
		offerList(cmd, o.Flag, fixed)
	case o.Words != nil:
		offer(cmd, o.Flag, o.Words)
	case strings.HasSuffix(strings.ToLower(o.Name), "namespaces") && o.Type == config.List:
		offerList(cmd, o.Flag, knownNamespaces)
	case o.ID == option.Namespace:
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(o.Flag,
			func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
				other := func(n string) bool { return !strings.HasPrefix(n, start) }
				return slices.DeleteFunc(knownNamespaces(), other), cobra.ShellCompDirectiveNoFileComp
			}))
	}
}
