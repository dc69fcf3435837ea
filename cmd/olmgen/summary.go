package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// summaryFlags say how a command that writes files reports on them.
type summaryFlags struct {
	dryRun bool
	format findings.Format // of what the command wrote: a line on stderr, or JSON on stdout
	held   *output.Held    // the directory, by a run that has read of it; else nil
}

func (f *summaryFlags) registerDryRun(flags *pflag.FlagSet) {
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing; list what would change")
}

func (f *summaryFlags) registerFormat(cmd *cobra.Command) {
	f.format = findings.Text
	enumFlag(cmd, &f.format, "format", "how to say what is written: text or json", findings.Text, findings.JSON)
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
		return &usageError{"--dry-run needs a directory", "name it with -o"}
	case f.format == findings.JSON && dir == output.Stdout:
		return &usageError{"--format json needs a directory: the objects go to stdout", "name it with -o"}
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

// print writes the summary as JSON. Lists are never null.
func (s summary) print(w io.Writer) error {
	for _, list := range []*[]string{&s.Added, &s.Changed, &s.Removed, &s.Kept} {
		if *list == nil {
			*list = []string{}
		}
	}
	return findings.WriteJSON(w, s)
}

func summaryOf(dir string, r output.Result) summary {
	return summary{Directory: dir, Added: r.Added, Changed: r.Changed, Removed: r.Removed, Kept: r.Kept,
		Unchanged: len(r.Unchanged)}
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
		s := summaryOf(dir, p.Result)
		s.DryRun, s.Refused = true, p.Refused
		if err == nil && f.format != findings.JSON {
			s.printText(cmd)
		}
		return s, err
	}
	write := func(files output.Files, o output.WriteOptions) (output.Result, error) {
		return output.Write(dir, files, o)
	}
	if f.held != nil {
		write = f.held.Write
	}
	r, err := write(files, o)
	if err != nil {
		return summary{}, err
	}
	report(cmd, dir, r)
	return summaryOf(dir, r), nil
}
