package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

type adoptFlags struct {
	output, directory string
	force             bool
	sources           []string
	choice            adopt.Selection
	to                generate.Profile
	plan              string
	before            string
	table             bool
	kubectl           bool
	verify, verbose   bool
	since             []string
	files             []string
	source            fbc.Options
	target            targetFlags
	report            reportFlags
}

func newAdopt() *cobra.Command {
	f := &adoptFlags{to: generate.ProfileOLM}
	cmd := command("adopt DUMP...", "Write an olmgen.yaml for what OLM runs in a cluster", nil, f.run)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "olmgen.yaml", "`FILE` to write; - is stdout")
	flags.StringVar(&f.directory, "directory", "operators", "`DIR` that the file will render to, relative to it")
	flags.BoolVar(&f.force, "force", false, "overwrite files that are there")
	flags.StringArrayVar(&f.sources, "source", nil,
		"where the bundle of a package is, as `PACKAGE=SOURCE`; may be repeated")
	flags.StringArrayVar(&f.choice.Packages, "package", nil,
		"only the operators of this `PACKAGE`, or of this CSV; may be repeated")
	flags.StringArrayVar(&f.choice.Namespaces, "namespace", nil,
		"only the operators in this `NAMESPACE`; may be repeated")
	flags.StringArrayVar(&f.choice.Except, "except", nil,
		"not the operators of this `PACKAGE`, or of this CSV: they stay with OLM; may be repeated")
	enumFlag(cmd, &f.to, "to", "profile of the file: "+text.Or(generate.Profiles), generate.Profiles...)
	flags.StringVar(&f.plan, "plan", "", "write the steps to the new form to `FILE.md`, and as a script beside it")
	flags.StringVar(&f.before, "before", "",
		"write the operators' objects as they are in the dump to `DIR`, and those of OLM to DIR-olm and "+
			"DIR-subscriptions")
	flags.BoolVar(&f.table, "table", false, "with --to clusterextension, print the table and write no file")
	flags.BoolVar(&f.verify, "verify", false, "compare the cluster with what the file of -f renders to")
	flags.StringArrayVarP(&f.files, "config", "f", nil, "with --verify, the RenderConfig `FILE`")
	flags.StringArrayVar(&f.since, "since", nil,
		"with --verify, fail if an operator was changed since this earlier `DUMP`; may be repeated")
	flags.BoolVar(&f.verbose, "verbose", false, "with --verify, print every object and every difference")
	flags.BoolVar(&f.kubectl, "print-kubectl", false, "print the kubectl command that makes a dump")
	f.target.register(cmd, false)
	registerSources(flags, &f.source)
	f.report.register(cmd)
	return cmd
}

func (f *adoptFlags) run(cmd *cobra.Command, paths []string) error {
	if f.kubectl {
		if err := args(0, 0, "")(cmd, paths); err != nil {
			return err
		}
		kinds := dump.Kinds
		if f.to == generate.ProfileClusterExtension {
			kinds = append(slices.Clone(kinds), dump.ClusterCatalog, dump.ClusterExtension)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), dump.Command(kinds...))
		return err
	}
	if err := f.check(cmd, paths); err != nil {
		return err
	}
	d, err := dump.Read(cmd.Context(), paths, cmd.InOrStdin())
	if err != nil {
		return err
	}
	state, err := adopt.Read(d)
	if err != nil {
		return err
	}
	if state.Target, err = f.target.checked(); err != nil {
		return err
	}
	if state.Asked = state.Target.Known(); state.Target.OpenShift == nil {
		f.openShift(cmd, state)
	}
	if f.verify && len(f.since) > 0 {
		return f.judge(cmd, state)
	}
	if state, err = state.Select(f.choice); err != nil {
		return err
	}
	if f.verify {
		return f.compare(cmd, state, paths)
	}
	sources, err := f.given()
	if err == nil {
		err = f.open(cmd, state, sources)
	}
	if err != nil {
		return err
	}
	if f.before != "" {
		return f.backup(cmd, state, paths, sources)
	}
	if f.table {
		printFindings(cmd, state.FindingsWith(sources))
		return f.printTable(cmd, state)
	}
	return f.write(cmd, state.For(f.to), paths, sources)
}

// openShift takes the release of OpenShift from the dump, and says so if the form is one of OLM v1.
func (f *adoptFlags) openShift(cmd *cobra.Command, state *adopt.State) {
	release := adopt.OpenShift(state.Dump)
	if release == "" || f.verify || f.to != generate.ProfileClusterExtension && f.to != generate.ProfileOLMv1 {
		return
	}
	c, err := fit.Given{OpenShift: release}.Read()
	if err != nil {
		say(cmd, findings.Warning, "name the release that it will have with --openshift-version",
			"the dump is of OpenShift %s: %v", release, err)
		return
	}
	note(cmd, "the dump is of OpenShift %s, so the file and the checks are for %s", release, c.OpenShift)
	state.Target.OpenShift = c.OpenShift
}

func (f *adoptFlags) check(cmd *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		return &usageError{"the dump is missing", "\"olmgen adopt --print-kubectl\" prints the command that makes one"}
	}
	changed := func(names ...string) string { return given(cmd, names...) }
	written := []string{"output", "directory", "force", "plan", "before"}
	switch {
	case f.verify && len(f.files) != 1 && (len(f.files) > 0 || len(f.since) == 0):
		return &usageError{"--verify needs one RenderConfig, or an earlier dump", "name it with -f, or with --since"}
	case f.verify:
		given := changed(append([]string{"output", "directory", "force", "source", "to", "plan", "before", "table"},
			targetNames...)...)
		if given != "" {
			return &usageError{given + " cannot be given with --verify, which writes no file", "leave one of them out"}
		}
		return nil
	case changed("since", "verbose") != "":
		return &usageError{changed("since", "verbose") + " without --verify", "add --verify"}
	case len(f.files) > 0:
		return &usageError{"-f without --verify", "add --verify, or name the file to write with -o"}
	case f.output == "":
		return &usageError{"-o needs a file, or - for stdout", ""}
	case f.table && f.to != generate.ProfileClusterExtension:
		return &usageError{"--table needs --to clusterextension", "add it"}
	case f.table && changed(written...) != "":
		return &usageError{changed(written...) + " cannot be given with --table, which writes no file",
			"leave one of them out"}
	case f.plan != "" && slices.Contains(paths, output.Stdout):
		return &usageError{"--plan needs the dump in a file: its commands read it again", "write the dump to a file"}
	case f.plan != "" && filepath.Ext(f.plan) != ".md":
		return &usageError{"--plan: " + f.plan + " does not end in .md", "the script beside it ends in .sh"}
	}
	return f.checkFile(cmd)
}

// checkFile refuses what means nothing where a file is written.
func (f *adoptFlags) checkFile(cmd *cobra.Command) error {
	report, other := given(cmd, "format", "fail-on", "baseline"), given(cmd, "output", "directory", "plan", "to")
	switch {
	case f.before != "" && other != "":
		return &usageError{other + " cannot be given with --before, which writes no other file",
			"leave it out: a second run writes the file"}
	case report != "" && f.to != generate.ProfileClusterExtension:
		return &usageError{report + " without --verify and without --to clusterextension", "leave it out"}
	case f.report.format == formatBaseline:
		return &usageError{"--format baseline needs --verify", "add --verify and -f FILE"}
	}
	return checkDirectory(f.output, f.directory)
}

func printFindings(cmd *cobra.Command, list []findings.Finding) {
	for _, x := range list {
		x.Field = "" // the message says what it is about
		place := ""
		if x.File != "" {
			place = x.Where() + ": "
		}
		say(cmd, x.Level, x.Hint, "%s%s", place, x.Description())
	}
}

// given returns the sources of bundles, by package or CSV.
func (f *adoptFlags) given() (map[string]string, error) {
	sources, err := keyed("--source", f.sources, "write PACKAGE=SOURCE once for each, such as etcd=bundles/etcd",
		func(value string) (name, ref string, ok bool) {
			name, ref, ok = strings.Cut(value, "=")
			return name, ref, ok && name != "" && ref != ""
		})
	if err != nil {
		return nil, err
	}
	for _, name := range lists.Keys(sources) {
		if _, _, err := source.Recognise(sources[name], ""); err != nil {
			return nil, fmt.Errorf("--source %s: %w", name, err)
		}
	}
	return sources, nil
}

// open opens the given sources, which must have the bundles of the installed operators. One in a registry that cannot
// be reached is a warning: the file only names it.
func (f *adoptFlags) open(cmd *cobra.Command, state *adopt.State, sources map[string]string) error {
	for _, name := range lists.Keys(sources) {
		if err := state.CheckName(name); err != nil {
			return fmt.Errorf("--source %s: %w", name, err)
		}
	}
	for _, o := range state.All() {
		name := o.SourceIn(sources)
		ref, of := sources[name], fbc.Options{Source: f.source.Source, Cache: f.source.Cache, Metadata: true}
		if ref == "" {
			continue
		}
		if source.Several(ref) != "" {
			of.Choice = bundle.Choice{Package: o.Package, Version: o.Version()}
		}
		b, err := config.Open(cmd.Context(), ref, of, bundle.ReadOptions{AllowUnsupported: true})
		if err != nil && source.Path(ref) == "" && cmd.Context().Err() == nil {
			warn(cmd, "--source %s: not compared with what is installed: %v", name, err)
			continue
		}
		if err == nil {
			o.Bundle, err = b.Bundle, o.CheckBundle(ref, b.CSV.Name)
		}
		if err != nil {
			return fmt.Errorf("--source %s, of which namespace %s has %s: %w", name, o.Group.Namespace, o.CSV.Name,
				err)
		}
	}
	return nil
}

func (f *adoptFlags) write(cmd *cobra.Command, state *adopt.State, dumps []string,
	sources map[string]string) error {
	file, dir := f.output, filepath.Dir(f.output)
	if f.output == output.Stdout {
		file, dir = "olmgen.yaml", "."
	}
	o := adopt.Options{File: filepath.Base(file), Dir: dir, Directory: f.directory, Sources: sources, To: f.to,
		Dumps: dumps, Plan: filepath.ToSlash(f.plan)}
	state, plan, err := f.planned(cmd, state, file, o)
	if err != nil {
		return err
	}
	list := state.FindingsWith(sources)
	printFindings(cmd, list)
	data, err := adopt.Declare(state, o)
	if err == nil {
		err = f.checkShared(cmd, file)
	}
	if err != nil {
		return err
	}
	ofPlan := f.planFiles(cmd, plan)
	files := ofPlan
	if f.output != output.Stdout {
		files = append([]outFile{{name: f.output, data: data}}, ofPlan...)
	}
	if err := f.writeAll(files, dumps, "name another, or give --force to overwrite it"); err != nil {
		return err
	}
	if f.output == output.Stdout {
		if _, err := cmd.OutOrStdout().Write(data); err != nil {
			return err
		}
	} else {
		groups := lists.Set(state.All(), func(o *adopt.Operator) string { return o.Group.Namespace })
		say(cmd, "", fmt.Sprintf("olmgen adopt --verify -f %s DUMP compares it with the cluster", f.output),
			"wrote %s: %s in %s", f.output, text.Count(len(state.All()), "operator"),
			text.Count(len(groups), "OperatorGroup"))
	}
	if plan != nil {
		names := lists.Map(ofPlan, func(file outFile) string { return file.name })
		tell(cmd, "wrote %s: read them, and run nothing blindly", text.And(names))
	}
	if f.to == generate.ProfileClusterExtension && f.output != output.Stdout {
		if err := f.printTable(cmd, state); err != nil {
			return err
		}
	}
	if n := findings.Count(list, findings.Error); n > 0 {
		return &foundError{text.Count(n, "error") + " in the dump: what they are about is not adopted"}
	}
	return harmful(plan)
}

// harmful returns the first of what speaks against a plan, which may be nil. Its page has the rest.
func harmful(plan *adopt.Plan) error {
	if plan == nil {
		return nil
	}
	refused, misfits, restarts := len(plan.Refused), len(plan.Misfits()), len(plan.Restarts())
	switch lost := plan.Losses(); {
	case lost != "":
		return &foundError{"the plan takes rights away: the comparison has " + lost}
	case misfits > 0:
		return &foundError{"the plan applies " + text.Count(misfits, "CRD") + " that custom resources do not fit: " +
			"the comparison lists their fields"}
	case restarts > 0:
		return &foundError{"the plan restarts the pods of " + text.Count(restarts, "Deployment") +
			": the comparison lists why"}
	case refused > 0:
		return &foundError{"the plan applies " + text.Count(refused, "object") + " that the API server refuses"}
	}
	return nil
}

// checkShared refuses to have a choice of the operators rendered to the directory of another RenderConfig: that has
// the other operators, which the render would remove.
func (f *adoptFlags) checkShared(cmd *cobra.Command, file string) error {
	dir := inDirectory(filepath.Dir(file), f.directory)
	sources, err := output.RecordedSources(dir)
	if err != nil || given(cmd, "package", "namespace", "except") == "" {
		return err
	}
	for _, s := range sources {
		if s.Config != "" && s.Config != output.ConfigPath(dir, file) {
			return manifest.WithHint(fmt.Errorf("%s is rendered from %s: %s, which has some of the operators, would "+
				"remove the others", dir, filepath.Join(dir, filepath.FromSlash(s.Config)), file),
				"name another directory with --directory")
		}
	}
	return nil
}

// printTable prints what the migration to OLM v1 says about each operator.
func (f *adoptFlags) printTable(cmd *cobra.Command, state *adopt.State) error {
	all := state.Migrations()
	if err := print.Report(cmd.OutOrStdout(), adopt.Migrations(all), f.report.format); err != nil {
		return err
	}
	refused := lists.Count(all, func(m *adopt.Migration) bool { return !m.Possible() })
	tell(cmd, "OLM v1 would take %d of %s", len(all)-refused, text.Count(len(all), "operator"))
	return nil
}

type rendering struct {
	objects []map[string]any
	parts   []string          // the directories of its parts, sorted
	sources map[string]string // of its bundles, by CSV
}

// rendering renders a RenderConfig. It leaves out what is only of operators that the state does not adopt.
func (f *adoptFlags) rendering(cmd *cobra.Command, c *config.Config, state *adopt.State, o config.Options) (*rendering,
	error) {
	r, err := c.Render(cmd.Context(), o)
	if err != nil {
		return nil, err
	}
	out := &rendering{sources: map[string]string{}}
	for _, x := range r.Opened {
		out.sources[x.CSV.Name] = x.Ref
	}
	adopted := func(i int) bool { return state.Adopts(r.Operators[i].Namespace, r.Opened[i].CSV.Name) }
	for _, x := range r.Objects {
		if len(x.Operators) > 0 && !slices.ContainsFunc(x.Operators, adopted) {
			continue
		}
		value, err := x.Value()
		if err != nil {
			return nil, err
		}
		out.objects = append(out.objects, value)
		if x.Part != "" && !slices.Contains(out.parts, x.Part) {
			out.parts = append(out.parts, x.Part)
		}
	}
	slices.Sort(out.parts)
	return out, nil
}

// judge says what has changed since an earlier dump, of which the operators are chosen: some may be gone by now.
func (f *adoptFlags) judge(cmd *cobra.Command, state *adopt.State) error {
	d, err := dump.Read(cmd.Context(), f.since, cmd.InOrStdin())
	if err != nil {
		return err
	}
	earlier, err := adopt.Read(d)
	if err == nil {
		earlier, err = earlier.Select(f.choice)
	}
	if err != nil {
		return err
	}
	r := &rendering{}
	if len(f.files) > 0 {
		if r, _, err = f.declared(cmd, earlier); err != nil {
			return err
		}
	}
	return f.report.finish(cmd, found{list: state.Since(earlier, r.objects), rules: adopt.SinceRules,
		what: "what has changed of " + text.Count(len(earlier.All()), "operator")})
}

// declared renders the RenderConfig of -f, and returns its directory.
func (f *adoptFlags) declared(cmd *cobra.Command, state *adopt.State) (*rendering, string, error) {
	declared, err := declarations(cmd, f.files)
	if err != nil {
		return nil, "", err
	}
	o := f.source.Source
	o.Stdin = cmd.InOrStdin()
	r, err := f.rendering(cmd, declared[0].Config, state, config.Options{Dir: declared[0].dir, Source: o,
		Catalogs: f.source.Cache})
	return r, declared[0].dir, err
}

func (f *adoptFlags) compare(cmd *cobra.Command, state *adopt.State, paths []string) error {
	r, dir, err := f.declared(cmd, state)
	if err != nil {
		return err
	}
	var v *adopt.Verification
	if leaving := state.Left(r.objects); len(leaving) == 0 {
		v = state.Verify(r.objects)
	} else {
		for _, name := range lists.Keys(r.sources) {
			if err := state.CheckName(name); err != nil {
				return fmt.Errorf("%s: %w", f.files[0], err)
			}
		}
		asOLM, err := f.rendered(cmd, state.Only(leaving), f.files[0], adopt.Options{File: f.files[0],
			Dir: dir, Directory: f.directory, Sources: r.sources, To: generate.ProfileOLM})
		if err != nil {
			return err
		}
		if v, err = state.VerifyLeaving(r.objects, leaving, asOLM.objects); err != nil {
			return err
		}
	}
	if err := v.CheckCustomResources(cmd.Context()); err != nil {
		return err
	}
	var counts []string
	for _, verdict := range adopt.Verdicts {
		if n := v.Count(verdict); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	return f.report.finish(cmd, found{list: v.Findings(), what: text.Count(len(v.Objects), "object") + ": " +
		strings.Join(counts, ", "), print: func(list []findings.Finding) error {
		err := v.Print(cmd.OutOrStdout(), f.report.format, list, f.verbose)
		own, others := state.FindingsBeside()
		printFindings(cmd, own)
		if len(others) > 0 {
			say(cmd, findings.Note, "olmgen adopt "+strings.Join(lists.Map(paths, text.Shell), " ")+" -o - lists them",
				"%s in the dump about what is not compared, such as %s", text.Count(len(others), "finding"),
				others[0].Description())
		}
		return err
	}})
}
