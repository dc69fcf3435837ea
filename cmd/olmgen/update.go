package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/pin"
	"github.com/olmgen/olmgen/cmd/internal/review"
	updating "github.com/olmgen/olmgen/cmd/internal/update"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

type updateFlags struct {
	render   renderFlags
	file     string
	catalogs []string
	roots    treeFlags
	channels []string
	pin      string

	namespace string
	cluster   clusterFlags
	target    targetFlags
	toHead    bool
	dryRun    bool
	format    findings.Format
	held      map[string]*output.Held // the files that were read to be written
}

func newUpdate() *cobra.Command {
	f := updateFlags{format: findings.Text}
	cmd := command("update [PATH...|-f FILE]", "Take operators to their next versions, in files",
		args(0, many, ""), f.run)
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "config", "f", defaultConfig, "`FILE` to update, a RenderConfig")
	flags.StringArrayVar(&f.catalogs, "catalog", nil,
		"file-based catalog, a `DIR` or file, with the images of operators; for a PATH "+
			"[[NAMESPACE/]NAME=]DIR; may be repeated")
	flags.StringArrayVar(&f.channels, "channel", nil,
		"new channel of the Subscriptions of a package, `[PACKAGE=]CHANNEL`; may be repeated")
	flags.StringVar(&f.pin, "pin", "",
		"`DIR` of olmgen catalog pin: startingCSV of its Subscriptions is what Git approves")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "`NAMESPACE` of objects below a PATH that name none")
	f.cluster.register(flags)
	flags.BoolVar(&f.toHead, "to-head", false, "take all steps to the head of the channel, not one")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing, print the patch")
	formatFlag(cmd, &f.format, []findings.Format{findings.Text, findings.Markdown, findings.JSON})
	f.roots.register(cmd)
	f.target.register(cmd, false)
	f.target.registerDate(cmd, nil)
	f.render.register(cmd, func(config.Option) bool { return false })
	return cmd
}

func (f *updateFlags) run(cmd *cobra.Command, paths []string) error {
	var inCluster compare.Options
	if err := f.cluster.read(cmd, &f.roots, &inCluster); err != nil {
		return err
	}
	target, err := f.target.checked()
	if err != nil {
		return err
	}
	inCluster.Unfit = review.Unfit(target, "")
	var plan *updating.Plan
	var report *updating.Report
	f.held = map[string]*output.Held{}
	defer func() {
		for _, h := range f.held {
			if h != nil {
				h.Release()
			}
		}
	}()
	if len(paths) > 0 {
		plan, report, err = f.planTree(cmd, paths, inCluster)
	} else {
		plan, report, err = f.planConfig(cmd, inCluster)
	}
	if err != nil {
		return err
	}
	report.Updated, report.Notes = plan.Changed(), plan.Notes
	report.Operators = append(report.Operators, plan.Operators...)
	var changed []outFile
	for _, file := range plan.Files {
		if f.dryRun {
			name := strings.TrimPrefix(filepath.ToSlash(file.Name), "/")
			report.Patch += string(output.Patch(name, file.Before, file.After))
		} else {
			changed = append(changed, outFile{file.Name, file.After, f.held[file.Name]})
		}
	}
	if err := writeFiles(changed, true, ""); err != nil {
		return err
	}
	if err := print.Report(cmd.OutOrStdout(), report, f.format); err != nil {
		return err
	}
	for _, o := range plan.Operators {
		if o.Status == updating.Withdrawn {
			warn(cmd, "%s: %s", strings.TrimSuffix(o.Name+": "+o.From, ": "), o.Reason)
		}
	}
	if err := unreadError(inCluster.Unread); err != nil {
		return err
	}
	return f.conclude(cmd, plan, report)
}

// planConfig plans the update of a RenderConfig, and compares what it renders to.
func (f *updateFlags) planConfig(cmd *cobra.Command, in compare.Options) (*updating.Plan, *updating.Report, error) {
	if f.file == "-" {
		return nil, nil, &usageError{"-f: standard input cannot be rewritten", "name a file"}
	}
	if name := given(cmd, "channel", "namespace", "pin"); name != "" {
		return nil, nil, &usageError{name + " is for the objects of a PATH", "write it into " + f.file}
	}
	if err := f.hold(f.file); err != nil {
		return nil, nil, err
	}
	c, dir, err := readConfig(cmd.InOrStdin(), f.file)
	if err != nil {
		return nil, nil, err
	}
	data, err := whole.ReadFile(f.file, budget.RenderConfig)
	if err != nil {
		return nil, nil, err
	}
	o := updating.Options{Options: config.Options{Dir: dir, Source: f.render.source.Source,
		Catalogs: f.render.source.Cache}, File: f.file, ToHead: f.toHead}
	o.Source.Warn = warnOn(cmd)
	for _, path := range f.catalogs {
		read, err := fbc.Read(cmd.Context(), path, fbc.Options{})
		if err != nil {
			return nil, nil, err
		}
		o.Catalogs = append(o.Catalogs, read)
	}
	plan, err := updating.NewPlan(cmd.Context(), c, data, o)
	if err != nil {
		return nil, nil, err
	}
	report := &updating.Report{File: filepath.ToSlash(f.file), Operators: []updating.Operator{}}
	if plan.Changed() {
		if report.Changes, err = f.compare(cmd, c, plan, dir, in); err != nil {
			message, hint := config.ErrorText(err, flagsOf(cmd))
			say(cmd, findings.Warning, hint, "the changes are not compared: %s", message)
		}
	}
	return plan, report, nil
}

// planTree plans the update of what a tree hands over to OLM, and reviews it.
func (f *updateFlags) planTree(cmd *cobra.Command, paths []string, in compare.Options) (*updating.Plan,
	*updating.Report, error) {
	switch {
	case cmd.Flags().Changed("config"):
		return nil, nil, &usageError{fmt.Sprintf("%q cannot be given with -f", paths[0]), "update one after the other"}
	case slices.Contains(paths, tree.Stdin):
		return nil, nil, &usageError{"standard input cannot be rewritten", "name a file or directory"}
	}
	if err := checkNamespace(f.namespace); err != nil {
		return nil, nil, err
	}
	t, err := f.roots.read(cmd, paths, tree.Options{})
	if err != nil {
		return nil, nil, err
	}
	saySkipped(cmd, t)
	if len(t.Objects)+len(t.Faults) == 0 {
		return nil, nil, manifest.WithHint(fmt.Errorf("no Kubernetes objects in %s", strings.Join(paths, ", ")),
			"name files or directories; a RenderConfig is named with -f")
	}
	if len(t.Faults) > 0 {
		return nil, nil, t.Faults[0]
	}
	for _, c := range t.Configs {
		note(cmd, "%s is a RenderConfig, which this run does not update: olmgen update -f %s", c.Name, c.Name)
	}
	lock, err := f.lock()
	if err != nil {
		return nil, nil, err
	}
	selected := func(name string) bool { // by a ClusterExtension
		return slices.ContainsFunc(t.Objects, func(o *manifest.Object) bool {
			label, err := o.Get("spec", "source", "catalog", "selector", "matchLabels", predict.LabelCatalogName)
			return err == nil && label == name && o.Kind == olm.KindClusterExtension
		})
	}
	serving := treeCatalogs{values: lock.Serving(f.catalogs, selected), checked: true, complete: true}
	catalogs, err := serving.open(cmd, t, f.render.source)
	if err != nil {
		return nil, nil, err
	}
	o := updating.TreeOptions{ToHead: f.toHead, PinOptions: predict.PinOptions{Namespace: f.namespace,
		Catalogs: catalogs, Starting: lock.Subscribes}, Read: f.readHeld}
	o.Channels, err = keyed("--channel", f.channels, "write PACKAGE=CHANNEL once for each package",
		func(value string) (pkg, channel string, ok bool) { // that of "" is for all packages
			if pkg, channel, ok = strings.Cut(value, "="); !ok {
				pkg, channel = "", value
			}
			return pkg, channel, channel != ""
		})
	if err != nil {
		return nil, nil, err
	}
	plan, err := updating.NewTreePlan(cmd.Context(), t, o)
	if err != nil {
		return nil, nil, err
	}
	report := &updating.Report{File: strings.Join(paths, ", "), Operators: []updating.Operator{}}
	report.Reviews, err = review.OfMoves(cmd.Context(), plan.Moves, review.TreeOptions{Name: report.File,
		Namespace: f.namespace, Catalogs: catalogs, Source: withInput(cmd, f.render.source).Source},
		func(string) compare.Options { return in })
	return plan, report, err
}

// hold keeps other runs from writing a file that will be written, until this one ends.
func (f *updateFlags) hold(file string) (err error) {
	if !f.dryRun && f.held[file] == nil {
		f.held[file], err = output.HoldFile(filepath.FromSlash(file))
	}
	return err
}

func (f *updateFlags) readHeld(file string) ([]byte, error) {
	if err := f.hold(file); err != nil {
		return nil, err
	}
	return whole.ReadFile(filepath.FromSlash(file), budget.TreeFile)
}

// lock returns the lock of the pin; without --pin it is empty.
func (f *updateFlags) lock() (*pin.Lock, error) {
	if f.pin == "" {
		return &pin.Lock{}, nil
	}
	lock, err := pin.ReadLock(f.pin)
	if err == nil && lock == nil {
		err = manifest.WithHint(fmt.Errorf("%s has no %s", f.pin, pin.LockName),
			"name the directory that olmgen catalog pin has written")
	}
	return lock, err
}

const mostFiles = 5

func (f *updateFlags) conclude(cmd *cobra.Command, plan *updating.Plan, report *updating.Report) error {
	summary := plan.Summary()
	files := lists.Map(plan.Files, func(file updating.File) string { return file.Name })
	switch {
	case !plan.Changed():
		summary = "nothing to do: " + summary
	case f.dryRun && len(files) > 1:
		summary = text.Count(len(files), "file") + " are not written: " + summary
	case f.dryRun:
		summary = files[0] + " is not written: " + summary
	default:
		summary = "wrote " + text.FirstOf(mostFiles, files) + ": " + summary
	}
	if plan.Unknown > 0 {
		return manifest.WithHint(fmt.Errorf("%s; %d unknown", summary, plan.Unknown),
			"the lines with \"not known\" say why; --catalog has the content of a catalog")
	}
	reviews := append(lists.Map(report.Reviews, func(m review.OperatorMove) *compare.Report { return m.Diff }),
		report.Changes)
	if slices.ContainsFunc(reviews, func(r *compare.Report) bool { return r != nil && r.Meets(compare.OLMRefuses) }) {
		return &foundError{summary + "; do not merge it as it is: OLM or the API server would refuse it, or an " +
			"operator would fail"}
	}
	if plan.Held() {
		return &foundError{summary}
	}
	tell(cmd, "%s", summary)
	return nil
}

// compare compares what the old and the new file render to. An operator that cannot be rendered is unknown.
func (f *updateFlags) compare(cmd *cobra.Command, old *config.Config, plan *updating.Plan, dir string,
	in compare.Options,
) (*compare.Report, error) {
	now, err := config.Read(filepath.ToSlash(f.file), plan.Files[0].After)
	if err != nil {
		return nil, err
	}
	sides := [2]*config.Config{old, now}
	subjects, err := f.subjects(cmd, sides, dir, nil)
	out := map[[2]int]bool{}
	var unresolved []compare.Unresolved
	for i := 0; (err != nil || len(subjects[0].Unknown)+len(subjects[1].Unknown) > 0) && i < len(plan.Operators); i++ {
		o := &plan.Operators[i]
		group, index := o.Place()
		why := f.unreadable(cmd, sides, dir, group, index)
		if why == nil {
			continue
		}
		out[[2]int{group, index}] = true
		message, _ := config.ErrorText(why, flagsOf(cmd))
		unresolved = append(unresolved, compare.Unresolved{Object: "operator " + o.Name, Message: message,
			Changed: o.Status == updating.Updated})
	}
	if ctx := cmd.Context(); len(out) > 0 && len(out) < len(plan.Operators) && ctx.Err() == nil {
		for _, u := range unresolved {
			warn(cmd, "%s is not compared: %s", u.Object, u.Message)
		}
		in.Unresolved = append(in.Unresolved, unresolved...)
		subjects, err = f.subjects(cmd, sides, dir, func(group, index int) bool { return out[[2]int{group, index}] })
	}
	if err != nil {
		return nil, err
	}
	return review.Compare(cmd.Context(), subjects[0], subjects[1], [2]string{"before", "after"}, in)
}

// subjects renders the old and the new file without some bundles.
func (f *updateFlags) subjects(cmd *cobra.Command, sides [2]*config.Config, dir string,
	skip func(group, index int) bool) (subjects [2]*review.Subject, err error) {
	for i, c := range sides {
		d := declaration{Config: c, file: f.file, dir: dir, skip: skip}
		if subjects[i], err = f.render.reviewDeclared(cmd, d); err != nil {
			return subjects, err
		}
	}
	return subjects, nil
}

// unreadable returns why one of the bundles cannot be rendered in the old or in the new file; nil if it can.
func (f *updateFlags) unreadable(cmd *cobra.Command, sides [2]*config.Config, dir string, group, index int) error {
	subjects, err := f.subjects(cmd, sides, dir, func(g, i int) bool { return g != group || i != index })
	for _, s := range subjects {
		if err == nil && len(s.Unknown) > 0 {
			err = errors.New(s.Unknown[0].Why)
		}
	}
	return err
}
