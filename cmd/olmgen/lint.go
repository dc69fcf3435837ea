package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/cmd/internal/rules/policy"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

type lintFlags struct {
	report    reportFlags
	policy    string
	listRules bool
	catalogs  treeCatalogs
	roots     treeFlags
	network   fbc.Options
}

func newLint() *cobra.Command {
	f := lintFlags{}
	cmd := &cobra.Command{
		Use:   "lint PATH... --policy FILE|operate-first",
		Short: "Does this tree follow our rules? Check it against a policy",
		RunE:  f.run,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", "", "`POLICY` to check against: a file, or operate-first")
	flags.BoolVar(&f.listRules, "list-rules", false,
		"list the rules of the policy, or all built-in rules, as text or JSON")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.report.register(cmd)
	registerSources(flags, &f.network)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("policy",
		cobra.FixedCompletions(policy.Names(), cobra.ShellCompDirectiveDefault)))
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command, paths []string) error {
	if f.listRules {
		return f.list(cmd, paths)
	}
	if err := args(1, math.MaxInt, "the path")(cmd, paths); err != nil {
		return err
	}
	if f.policy == "" {
		return &usageError{"--policy is missing", "name a file, or operate-first"}
	}
	p, err := f.load()
	if err != nil {
		return err
	}
	t, err := f.roots.read(cmd, paths, tree.Options{Partial: true, Plain: true})
	if err != nil {
		return err
	}
	if len(t.Objects)+len(t.Faults) == 0 && len(t.Failed) > 0 {
		return t.Failed[0]
	}
	if err := requireObjects(t); err != nil {
		return err
	}
	for _, err := range t.Failed {
		sayError(cmd, cmd.ErrOrStderr(), err)
	}
	in := policy.Input{Paths: paths, Tree: t}
	installed, unknown, err := f.catalogs.installs(cmd, t, f.network)
	if err != nil {
		return err
	}
	for _, i := range installed {
		for _, csv := range i.Subject.CSVs {
			in.Installed = append(in.Installed, policy.Installed{By: i.Object, Name: i.Name, Namespace: csv.Namespace,
				CSV: csv.Object})
		}
	}
	in.Unknown = lists.Map(unknown, func(u review.Unknown) policy.Unknown {
		return policy.Unknown{By: u.Object, Why: u.Why, Hint: catalogHint(u)}
	})
	list, err := p.Check(cmd.Context(), in)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s of %s", text.Count(len(t.Objects), "object"), text.Count(t.Files, "file"))
	return f.report.finish(cmd, found{list: list, rules: policy.Explain(p.Rules()), what: what,
		unread: len(t.Failed) + len(t.Faults), noun: "path"})
}

func saySkipped(cmd *cobra.Command, t *tree.Tree) {
	for _, s := range t.Skipped {
		warn(cmd, "%s: %s", s.Path, s.Why)
	}
}

// load returns the built-in policy of that name, or reads a policy file.
func (f *lintFlags) load() (*policy.Policy, error) {
	if p := policy.Builtin(f.policy); p != nil {
		return p, nil
	}
	data, err := whole.ReadFile(f.policy, budget.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &manifest.Error{File: f.policy, Msg: "no such file", Tip: "name a file, or operate-first"}
	}
	if err != nil {
		return nil, err
	}
	return policy.Parse(filepath.ToSlash(filepath.Clean(f.policy)), data)
}

// list prints the rules of the policy, or all built-in rules.
func (f *lintFlags) list(cmd *cobra.Command, paths []string) error {
	if err := args(0, 0, "")(cmd, paths); err != nil {
		return err
	}
	rules := policy.BuiltinRules()
	if f.policy != "" {
		p, err := f.load()
		if err != nil {
			return err
		}
		rules = p.Rules()
	}
	switch f.report.format {
	case findings.Text:
		return printRules(cmd.OutOrStdout(), rules)
	case findings.JSON:
		return findings.WriteJSON(cmd.OutOrStdout(), rules)
	}
	return &usageError{"--list-rules prints text or json", "see " + cmd.CommandPath() + " --help"}
}

func printRules(w io.Writer, rules []policy.Rule) error {
	width := 0
	for _, r := range rules {
		width = max(width, len(r.ID))
	}
	for _, r := range rules {
		if _, err := fmt.Fprintf(w, "%-*s  %-7s  %s\n", width, r.ID, r.Level, text.Printable(r.Text)); err != nil {
			return err
		}
	}
	return nil
}
