package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/krm"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/installs"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
	"github.com/olmgen/olmgen/templates"
)

// renderFlags are the flags of a command that renders: those that fill a RenderConfig, and those about the run.
type renderFlags struct {
	options *config.Flags
	source  fbc.Options // what registerSources fills
	files   []string
	output  string
	check   checkMode
	force   bool
	replace bool
	strict  bool
	verbose bool

	pruneTenants bool
	summary      summaryFlags
	narrow       narrowFlags
}

// checkMode is what --check prints of a directory that differs.
type checkMode string

const (
	checkDiff  checkMode = "diff"
	checkNames checkMode = "names" // of the files
)

// addOptions adds the flags of the declared options that a command takes.
func addOptions(cmd *cobra.Command, takes func(config.Option) bool) *config.Flags {
	taken := lists.Filter(slices.Collect(config.WithFlags(config.Declared())),
		func(o config.OptionAt) bool { return takes(o.Option) })
	options := config.NewFlags(slices.Values(taken))
	for _, v := range options.Values() {
		flag := cmd.Flags().VarPF(v, v.Flag, v.Short, v.Usage())
		flag.NoOptDefVal = v.Alone
		place(cmd.Flags(), v.Topic, v.Flag)
		setBrief(flag, v.Summary())
		offerOption(cmd, v.OptionAt)
	}
	return options
}

// register adds the flags of a command that renders with the options that takes reports.
func (f *renderFlags) register(cmd *cobra.Command, takes func(config.Option) bool) {
	f.options = addOptions(cmd, takes)
	registerSources(cmd.Flags(), &f.source)
}

// registerWriting adds the flags of a command that writes files.
func (f *renderFlags) registerWriting(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "-", "`DIR` to write to; - is stdout")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	flags.BoolVar(&f.force, "force", false,
		"overwrite and remove files although they were edited by hand")
	flags.BoolVar(&f.replace, "replace", false,
		"remove the files of a directory that was rendered from other packages")
	f.summary.registerDryRun(flags)
	place(flags, config.TopicOutput, "output", "dry-run")
	place(flags, config.TopicObjects, "strict")
	nameOnly(flags, config.TopicOutput, "force", "replace")
}

func (f *renderFlags) registerCheck(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.summary.format = findings.Text
	enumFlag(cmd, &f.summary.format, "format", "how to say what is written: text or json", findings.Text, findings.JSON)
	flags.BoolVar(&f.verbose, "verbose", false, "print all notes, and each place of a warning")
	enumFlag(cmd, &f.check, "check", "write nothing; print a `diff` of DIR, or names; exit with 3 if it differs",
		checkDiff, checkNames)
	flags.Lookup("check").NoOptDefVal = string(checkDiff)
	flags.BoolVar(&f.pruneTenants, "prune-tenants", false,
		"remove the bindings of tenants that this run does not name")
	place(flags, config.TopicOutput, "check")
	nameOnly(flags, config.TopicOutput, "format", "verbose", "prune-tenants")
}

// nameOutput is the hint where a directory is missing.
const nameOutput = "name it with -o, or as output.directory of the RenderConfig"

// checkOutput refuses what looks like kubectl's -o or a file.
func (f *renderFlags) checkOutput(cmd *cobra.Command) error {
	info, err := os.Stat(f.output)
	name := given(cmd, "force", "replace", "prune-tenants")
	switch {
	case name != "" && f.check != "":
		return &usageError{name + " cannot be given with --check, which writes nothing", "leave one of them out"}
	case name != "" && f.output == output.Stdout:
		return &usageError{name + " needs a directory", nameOutput}
	case err == nil && info.IsDir():
	case slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(f.output))):
		return &usageError{fmt.Sprintf("-o %s: -o names a directory, and this looks like a file", f.output),
			"for one file with all objects, redirect stdout: > " + f.output}
	case slices.Contains([]string{"json", "yaml", "name", "wide"}, f.output):
		return &usageError{fmt.Sprintf("-o %s: -o names a directory, not a format", f.output),
			"without -o, YAML goes to stdout; for a directory of this name write -o ./" + f.output}
	}
	return f.summary.check(f.output, f.check != "")
}

func newRender() *cobra.Command {
	var f renderFlags
	var into string
	cmd := command("render SOURCE | -f FILE", "Write every object that OLM would create for a bundle",
		func(cmd *cobra.Command, given []string) error {
			if into != "" && cmd.Flags().NFlag()+len(given) > 1 {
				return &usageError{"--print-templates stands alone", "leave out what else is given"}
			} else if into != "" {
				return nil
			}
			if len(f.files) > 0 {
				return f.checkDeclared(cmd, given)
			}
			if len(given) == 0 && source.IsRenderConfig(defaultConfig) {
				return &usageError{"the bundle is missing",
					"to render " + defaultConfig + ", write olmgen render -f " + defaultConfig}
			}
			return args(1, 1, "the bundle")(cmd, given)
		}, func(cmd *cobra.Command, args []string) error {
			if into != "" {
				return printTemplates(cmd, into)
			}
			return f.run(cmd, args)
		})
	fileFlag(cmd.Flags(), &f.files)
	f.registerWriting(cmd)
	f.registerCheck(cmd)
	f.register(cmd, func(config.Option) bool { return true })
	f.narrow.register(cmd)
	cmd.Flags().StringVar(&into, "print-templates", "", "write olmgen's own templates into `DIR`, and do nothing else")
	nameOnly(cmd.Flags(), config.TopicObjects, "print-templates")
	return cmd
}

// printTemplates writes olmgen's own templates into a directory that is new or empty.
func printTemplates(cmd *cobra.Command, dir string) error {
	if err := output.CheckTarget(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(entries) > 0:
		return manifest.WithHint(fmt.Errorf("%s: the directory is not empty", dir), "name another one")
	}
	if err := os.CopyFS(dir, templates.Own()); err != nil {
		return err
	}
	tell(cmd, "%s: olmgen's own templates; keep those that you change", dir)
	return nil
}

// defaultConfig is the file that "olmgen init" writes.
const defaultConfig = "olmgen.yaml"

func newDescope() *cobra.Command {
	var f renderFlags
	var tree string
	cmd := command("descope SOURCE", "Render an operator that is bound only where you say",
		args(1, 1, "the bundle"), func(cmd *cobra.Command, refs []string) error { return f.descope(cmd, refs, tree) })
	f.registerWriting(cmd)
	f.registerCheck(cmd)
	cmd.Flags().StringVar(&tree, "tree", "", "`PATH` with the manifests of today's installations, for the advice")
	f.register(cmd, func(o config.Option) bool {
		return o.Uses(generate.ProfileDescoped) && o.ID != option.Profile
	})
	f.narrow.register(cmd)
	return cmd
}

// descope renders a source with the descoped profile and prints the advice for the installations in a tree.
func (f *renderFlags) descope(cmd *cobra.Command, refs []string, tree string) error {
	all, err := f.declared(cmd, refs,
		map[manifest.Option]any{option.Profile: string(generate.ProfileDescoped)})
	if err != nil {
		return err
	}
	if all[0].output, err = f.outputOf(cmd, all[0]); err != nil {
		return err
	}
	r, err := f.render(cmd, all[0])
	if err != nil {
		return err
	}
	b := r.Opened[0].Bundle
	var known []installs.Install
	if tree != "" {
		if known, err = readInstalls(cmd, b, tree); err != nil {
			return fmt.Errorf("--tree: %w", err)
		}
	}
	if err := f.prepare(cmd, r); err != nil {
		return err
	}
	if err := f.finish(cmd, r); err != nil {
		return err
	}
	f.sayScope(cmd, b.CSV, known, r.Operators[0].Namespace, r.Operators[0].Bound)
	return nil
}

// sayScope prints what kind of operator it is and what to do. It does not propose what the flags did.
func (f *renderFlags) sayScope(cmd *cobra.Command, csv *v1alpha1.ClusterServiceVersion, known []installs.Install,
	namespace string, bound generate.Bound) {
	scope, reason := bundle.ScopeOf(csv)
	tell(cmd, "%s is %s: %s; %s", csv.Name, scope, reason, bound.Text)
	tell(cmd, "whoever may create pods in namespace %s has the rights of the operator", namespace)
	advice := installs.Advise(csv, known)
	if advice.State != "" {
		tell(cmd, "%s", advice.State)
	}
	if scope == bundle.Scoped && known == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "hint: --tree PATH reads its installations from manifests")
	}
	w := cmd.ErrOrStderr()
	given := func(o manifest.Option) bool {
		_, ok := f.options.Text(o)
		return ok
	}
	name := func(o manifest.Option) string {
		return cmp.Or(flagsOf(cmd)(o), "olmgen render "+config.FlagOf(o))
	}
	for _, step := range config.OpenSteps(advice.Steps, known, given, bound.Namespaces) {
		fmt.Fprintln(w, "hint: "+config.WithOptionNames(step.Msg, step.Options, name))
	}
}

// readInstalls looks for installations in a tree and warns of what it can't read there.
func readInstalls(cmd *cobra.Command, b *bundle.Bundle, path string) ([]installs.Install, error) {
	t, err := tree.Read(cmd.Context(), []string{path}, tree.Options{Plain: true})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd, t)
	for _, err := range t.Faults {
		warn(cmd, "%v", err)
	}
	found, unreadable := installs.Find(t, b)
	for _, err := range unreadable {
		warn(cmd, "%v", err)
	}
	return found, nil
}

func newFn() *cobra.Command {
	var so source.Options
	cmd := command("fn", "Render as a KRM function, for kustomize and kpt", args(0, 0, ""),
		func(cmd *cobra.Command, _ []string) error {
			results, err := krm.Run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), so)
			for _, r := range results {
				if r.Severity != findings.Error {
					say(cmd, r.Severity.SARIF(), "", "%s", r.Message)
				}
			}
			return err
		})
	registerNetwork(cmd.Flags(), &so)
	return cmd
}
