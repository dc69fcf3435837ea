package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/cmd/internal/rules/policy"
	"github.com/olmgen/olmgen/cmd/internal/rules/release"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/source"
)

type validateFlags struct {
	report   reportFlags
	source   sourceFlags
	target   targetFlags
	programs programFlags
	options  validate.Options
	release  bool
}

func newValidate() *cobra.Command {
	f := validateFlags{}
	cmd := command("validate SOURCE... | -f FILE", "Is this bundle right? List its mistakes",
		sourcesOr(&f.source.files), f.run)
	flags := cmd.Flags()
	fileFlag(flags, &f.source.files)
	f.report.register(cmd)
	flags.BoolVar(&f.options.OperatorHub, "operatorhub", false,
		"also check the rules for publication on OperatorHub.io")
	flags.StringSliceVar(&f.options.Catalogs, "catalog-rules", nil,
		"also ask pipelines (`NAMES`: "+strings.Join(validate.Catalogs, ", ")+")")
	flags.BoolVar(&f.release, "release", false, "SOURCE is an operator's repository")
	f.target.register(cmd, true)
	f.programs.register(flags)
	f.source.register(cmd)
	return cmd
}

func (f *validateFlags) run(cmd *cobra.Command, refs []string) error {
	given, err := f.target.checked()
	if err != nil {
		return err
	}
	for _, name := range f.options.Catalogs {
		if !slices.Contains(validate.Catalogs, name) {
			return &usageError{fmt.Sprintf("--catalog-rules: unknown value %q", name),
				"choose of " + strings.Join(validate.Catalogs, ", ")}
		}
	}
	f.options.Resources = apiserver.Checker{}
	program, err := f.programs.validators()
	if err != nil {
		return err
	}
	if _, err := program.Find(); err == nil {
		f.options.Checker, f.options.API = validate.Helper{Program: program}, beside.Kubernetes{Program: program}
	} else {
		sayMissing(cmd, "only olmgen's own findings", err)
	}
	if f.release {
		f.options.Cluster = given
		return f.releases(cmd, refs)
	}
	sources, declared, err := f.source.sources(cmd, refs)
	if err != nil {
		return err
	}
	var list []validate.Finding
	bundles, failed := 0, 0
	for _, s := range sources {
		if f.options.Cluster = given; !given.Known() {
			f.options.Cluster = s.cluster
		}
		f.options.Descoped = cmp.Or(f.target.profile, s.profile) == generate.ProfileDescoped
		if f.options.Form = ""; f.target.profile != "" || s.profile != "" && f.options.Cluster.Known() {
			f.options.Form = fit.Form(cmp.Or(f.target.profile, s.profile).Installer())
		}
		found, n, err := f.validate(cmd, s.ref, withInput(cmd, s.options))
		switch {
		case err == nil:
			list = append(list, found...)
			bundles += n
		case len(sources) == 1 || cmd.Context().Err() != nil:
			return err
		default:
			sayError(cmd, cmd.ErrOrStderr(), err)
			failed++
		}
	}
	for _, d := range declared {
		refused, err := f.rendered(cmd, d, list)
		if err != nil {
			return err
		}
		list = append(list, refused...)
	}
	return f.report.finish(cmd, found{list: list, rules: validate.Rules(), what: text.Count(bundles, "bundle"),
		unread: failed, noun: "source"})
}

// rendered returns what the API server refuses of what a RenderConfig renders to, apart from what it refuses at the
// same place of a bundle.
func (f *validateFlags) rendered(cmd *cobra.Command, d declaration, known []findings.Finding) ([]findings.Finding,
	error) {
	if f.options.API == nil {
		return nil, nil
	}
	render := renderFlags{options: f.source.options, source: f.source.source}
	s, err := render.reviewDeclared(cmd, d)
	if err != nil {
		note(cmd, "what the API server says of what %s renders to was not asked: %v", d.file, err)
		return nil, cmd.Context().Err()
	}
	list, err := s.Refused(cmd.Context(), f.options.API)
	return lists.Map(slices.DeleteFunc(list, func(r findings.Finding) bool {
		return slices.ContainsFunc(known, func(k findings.Finding) bool {
			return k.Level == findings.Error && k.Path == r.File && k.Line == r.Line
		})
	}), func(r findings.Finding) findings.Finding {
		return findings.Finding{Rule: validate.RuleAPIServer, Level: r.Level, Source: d.file,
			Path: cmp.Or(r.File, d.file), File: r.File, Line: r.Line,
			Message: r.Object + ", as it is rendered: " + r.Message, Hint: r.Hint}
	}), err
}

// releases checks directories of operators' repositories.
func (f *validateFlags) releases(cmd *cobra.Command, dirs []string) error {
	if name := given(cmd, "config", "package", "channel", "version"); name != "" {
		return &usageError{name + " cannot be given with --release", "give the directory of a repository: its " +
			"newest bundle is judged"}
	}
	if f.target.profile != "" {
		f.options.Form = fit.Form(f.target.profile.Installer())
	}
	f.options.Descoped = f.target.profile == generate.ProfileDescoped
	helm := &beside.Renderer{Program: &beside.Program{Name: beside.Helm, Does: "renders charts"}}
	var list []validate.Finding
	bundles := 0
	for _, dir := range dirs {
		found, n, err := release.Check(cmd.Context(), dir, f.options, helm)
		if err != nil {
			return err
		}
		list, bundles = append(list, found...), bundles+n
	}
	return f.report.finish(cmd, found{list: list, rules: release.AllRules(), what: text.Count(bundles, "bundle") +
		" and what stands beside"})
}

// validate checks one source: a bundle, or all versions of a legacy package. It returns their number.
func (f *validateFlags) validate(cmd *cobra.Command, ref string, o fbc.Options) ([]validate.Finding, int, error) {
	ctx := cmd.Context()
	warn, warnings := o.Source.Warn, []string{}
	o.Source.Warn = func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	src, err := fbc.Open(ctx, ref, o)
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	if src.Kind == source.KindPackageManifest && o.Channel+o.Version == "" {
		return validate.Package(ctx, ref, o, f.options)
	}
	for _, w := range warnings {
		warn("%s", w)
	}
	if src.Digest != "" {
		tell(cmd, "%s is %s", ref, src.Digest)
	}
	if o.Package+o.Channel+o.Version != "" && !source.HasSeveral(src.Kind) {
		// An error of Read is a finding, see validate.Bundle.
		if b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true}); err == nil {
			if err := o.Check(b); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", ref, err)
			}
		}
	}
	list, err := validate.Bundle(ctx, src.Source, f.options)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", ref, err)
	}
	return validate.Located(src.Source, list), 1, nil
}

type checkFlags struct {
	report   reportFlags
	catalogs treeCatalogs
	roots    treeFlags
	network  fbc.Options
	target   targetFlags
	programs programFlags
	options  predict.Options
}

func newCheck() *cobra.Command {
	f := checkFlags{roots: treeFlags{inReport: true}}
	cmd := command("check PATH...", "Will OLM take this tree? Predict what it does", args(1, many, "the path"), f.run)
	flags := cmd.Flags()
	flags.StringVarP(&f.options.Namespace, "namespace", "n", "",
		"`NAMESPACE` of objects that name none (default: such objects are not checked)")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.target.register(cmd, false)
	f.target.registerDate(cmd, &f.report.failOn)
	f.programs.register(flags)
	f.report.registerAs(cmd, print.Formats, supportWords, findings.Error)
	registerSources(flags, &f.network)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, paths []string) error {
	if err := checkNamespace(f.options.Namespace); err != nil {
		return err
	}
	for _, p := range paths {
		if err := f.refuseBundles(p); err != nil {
			return err
		}
	}
	var err error
	if f.options.Target, err = f.target.checked(); err != nil {
		return err
	}
	if f.target.date != "" && !f.options.Target.Known() {
		return &usageError{"--date needs to know the cluster", "add --openshift-version"}
	}
	f.roots.cluster = f.options.Target
	t, err := f.roots.read(cmd, paths, tree.Options{})
	if err != nil {
		return err
	}
	if err := requireObjects(t, paths...); err != nil {
		return err
	}
	given, err := f.catalogs.given(cmd, f.network, t)
	if err != nil {
		return err
	}
	f.options.Checker, f.options.Bundles, f.options.Applied = apiserver.Checker{}, &f.network, true
	if f.options.API, err = f.programs.kubernetes(cmd); err != nil {
		return err
	}
	r, err := predict.CheckClusters(cmd.Context(), t, func(t *tree.Tree) predict.Options {
		o := f.options
		o.Catalogs = f.catalogs.reader.WithImages(cmd.Context(), t, given)
		return o
	})
	if err != nil {
		return err
	}
	r.Scope.Give = " (--catalog NAMESPACE/NAME=DIR)"
	if n, what := t.Undecided(); n > 0 && r.Scope.Clusters > 1 {
		note(cmd, "%s: --cluster DIR says which are one cluster", what)
	}
	what := text.Count(len(t.Objects), "object") + " of " + text.Count(t.Files, "file")
	err = f.report.finish(cmd, found{list: r.Findings, what: what, unread: len(t.Faults), noun: "path",
		print: func(list []findings.Finding) error {
			r.Findings = list
			return print.Report(cmd.OutOrStdout(), r, f.report.format)
		}})
	unread := lists.Filter(r.Unknown, func(u predict.Unknown) bool { return u.Unread })
	if err != nil || len(unread) == 0 || f.roots.allowUnknown {
		return err
	}
	return &foundError{fmt.Sprintf("the outcome of %s is not known: a bundle cannot be read",
		text.Count(len(unread), "Subscription"))}
}

// refuseBundles refuses what olmgen render makes a tree of. A CSV beside CRDs may be a tree if its namespace is known.
func (f *checkFlags) refuseBundles(path string) error {
	bundles := source.BundlesAt(path)
	if len(bundles) == 0 || f.options.Namespace != "" && !source.IsAnnotated(path) {
		return nil
	}
	hint := "olmgen validate " + text.Shell(bundles[len(bundles)-1]) + " checks the bundle; olmgen render makes a " +
		"tree of it"
	if !source.IsAnnotated(path) {
		hint += "; give --namespace if it is applied as it is"
	}
	what := "a bundle"
	switch {
	case len(bundles) > 1:
		what = text.Count(len(bundles), "bundle")
	case bundles[0] != path:
		what = "part of the bundle " + bundles[0]
	}
	return &usageError{path + " is " + what + ", and check reads what is applied to a cluster", hint}
}

type lintFlags struct {
	report    reportFlags
	policy    string
	listRules bool
	catalogs  treeCatalogs
	roots     treeFlags
	network   fbc.Options
}

func newLint() *cobra.Command {
	f := lintFlags{roots: treeFlags{inReport: true}}
	cmd := command("lint PATH... --policy FILE|operate-first",
		"Does this tree follow our rules? Check it against a policy", nil, f.run)
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
	if err := args(1, many, "the path")(cmd, paths); err != nil {
		return err
	}
	if f.policy == "" {
		return &usageError{"--policy is missing", "name a file, or operate-first, whose rules " +
			"\"olmgen lint --list-rules --policy operate-first\" lists"}
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
	if err := requireObjects(t, paths...); err != nil {
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
	for s, also := range firstOf(t.Skipped, func(s tree.Skipped) string { return s.Why }, nil) {
		warn(cmd, "%s: %s%s", s.Path, s.Why, also)
	}
}

// load returns the built-in policy of that name, or reads a policy file.
func (f *lintFlags) load() (*policy.Policy, error) {
	if p := policy.Builtin(f.policy); p != nil {
		return p, nil
	}
	data, err := readNamed(f.policy, budget.File, "name a file, or operate-first")
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
	return &usageError{"--list-rules prints text or json", seeHelp(cmd)}
}

func printRules(w io.Writer, rules []policy.Rule) error {
	t := document.Table{Columns: []document.Column{{Align: true}, {Width: 7}, {}}}
	t.Rows = lists.Map(rules, func(r policy.Rule) []document.Cell {
		return document.Cells(r.ID, string(r.Level), r.Text)
	})
	s := document.Section{Tables: []document.Table{t}}
	return print.Document(w, &document.Document{Sections: []document.Section{s}}, findings.Text)
}
