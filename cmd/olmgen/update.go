package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/config/review"
	updating "github.com/olmgen/olmgen/internal/config/update"
	"github.com/olmgen/olmgen/output"
)

// updateFlags are the flags of olmgen update as they were given.
type updateFlags struct {
	render   renderFlags
	file     string
	catalogs []string
	cluster  clusterFlags
	toHead   bool
	dryRun   bool
	format   findings.Format
}

func newUpdate() *cobra.Command {
	f := updateFlags{format: findings.Text}
	cmd := &cobra.Command{
		Use:   "update -f FILE",
		Short: "Take the operators of an olmgen.yaml to their next versions",
		Long: `Update takes each operator of a RenderConfig one step along its path of upgrade:
to the version that OLM would update it to next, in its channel and together
with the other operators of its group. It rewrites version, and the image of a
bundle with its digest, in the file. Comments, order and formatting stay. Then
it prints what olmgen diff says about the old and the new file: the text of a
pull request.
--tree and --crs say what is in the cluster, so that it also says whether OLM
would refuse the upgrade because of that.

The catalog of an operator is its source (catalog:DIR). For an operator whose
source is an image, --catalog has the next one. An operator that is in no
catalog is left alone.

If OLM would not update an operator, because a dependency is missing or another
operator needs the old version, update says why, leaves its version and exits
with 3. The exit code is 0 if there is nothing to do.`,
		Example: `  olmgen update -f olmgen.yaml
  olmgen update -f clusters/prod/olmgen.yaml --to-head --dry-run
  olmgen update -f olmgen.yaml --tree clusters/prod --crs dump/
  olmgen update -f olmgen.yaml --catalog catalog/ --format markdown > pr.md`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.file, "config", "f", defaultConfig, "`FILE` to update, a RenderConfig")
	flags.StringArrayVar(&f.catalogs, "catalog", nil,
		"file-based catalog, a `DIR` or file, with the images of operators; may be repeated")
	f.cluster.register(flags)
	flags.BoolVar(&f.toHead, "to-head", false, "take all steps to the head of the channel, not one")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing")
	formatFlag(cmd, &f.format, updating.Formats)
	f.render.register(cmd, func(config.Option) bool { return false })
	return cmd
}

func (f *updateFlags) run(cmd *cobra.Command) error {
	if f.file == "-" {
		return &usageError{"-f: standard input cannot be rewritten", "name a file"}
	}
	c, dir, err := readConfig(cmd.InOrStdin(), f.file)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	o := updating.Options{Options: config.Options{Dir: dir, Source: f.render.source.Source,
		Catalogs: f.render.source.Cache}, ToHead: f.toHead}
	o.Source.Warn = warnOn(cmd.ErrOrStderr())
	for _, path := range f.catalogs {
		read, err := fbc.Read(cmd.Context(), path, fbc.Options{})
		if err != nil {
			return err
		}
		o.Catalogs = append(o.Catalogs, read)
	}
	var inCluster compare.Options
	if err := f.cluster.read(cmd, &inCluster); err != nil {
		return err
	}
	plan, err := updating.NewPlan(cmd.Context(), c, data, o)
	if err != nil {
		return err
	}
	report := &updating.Report{File: filepath.ToSlash(f.file), Updated: plan.Changed(), Operators: plan.Operators,
		Notes: plan.Notes}
	if plan.Changed() {
		if report.Changes, err = f.compare(cmd, c, plan, dir, inCluster); err != nil {
			f.sayNotCompared(cmd, err)
		}
		if !f.dryRun {
			if err := output.ReplaceFile(f.file, plan.Text); err != nil {
				return err
			}
		}
	}
	if err := report.Print(cmd.OutOrStdout(), f.format); err != nil {
		return err
	}
	for _, o := range plan.Operators {
		if o.Status == updating.Withdrawn {
			fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: warning: %s: %s: %s\n", o.Name, o.From, o.Reason)
		}
	}
	if len(inCluster.Unread) > 0 {
		return unreadError(inCluster.Unread)
	}
	return f.conclude(cmd, plan)
}

func (f *updateFlags) sayNotCompared(cmd *cobra.Command, err error) {
	text, hint := config.ErrorText(err, flagsOf(cmd))
	fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: warning: the changes are not compared: %s\n", text)
	if hint != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "hint: %s\n", hint)
	}
}

func (f *updateFlags) conclude(cmd *cobra.Command, plan *updating.Plan) error {
	summary := plan.Summary()
	switch {
	case !plan.Changed():
		summary = "nothing to do: " + summary
	case f.dryRun:
		summary = f.file + " is not written: " + summary
	default:
		summary = "wrote " + f.file + ": " + summary
	}
	if plan.Held() {
		return &foundError{summary}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: "+summary)
	return nil
}

// compare renders the old and the new file, and compares what they render to. An operator that cannot be rendered is
// left out of both, and is unknown in the report.
func (f *updateFlags) compare(cmd *cobra.Command, old *config.Config, plan *updating.Plan, dir string,
	in compare.Options,
) (*compare.Report, error) {
	now, err := config.Read(filepath.ToSlash(f.file), plan.Text)
	if err != nil {
		return nil, err
	}
	sides := [2]*config.Config{old, now}
	subjects, err := f.subjects(cmd, sides, dir, nil)
	if err == nil && len(subjects[0].Unknown)+len(subjects[1].Unknown) == 0 {
		return review.Compare(cmd.Context(), subjects[0], subjects[1], sideNames, in)
	}
	out := map[[2]int]bool{}
	for i := range plan.Operators {
		o := &plan.Operators[i]
		group, index := o.Place()
		why := f.unreadable(cmd, sides, dir, group, index)
		if why == nil {
			continue
		}
		if err == nil {
			err = why
		}
		out[[2]int{group, index}] = true
		text, _ := config.ErrorText(why, flagsOf(cmd))
		in.Unresolved = append(in.Unresolved, compare.Unresolved{Object: "operator " + o.Name, Message: text,
			Changed: o.Status == updating.Updated})
	}
	if len(out) == len(plan.Operators) || cmd.Context().Err() != nil {
		return nil, err
	}
	for _, u := range in.Unresolved {
		fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: warning: %s is not compared: %s\n", u.Object, u.Message)
	}
	subjects, err = f.subjects(cmd, sides, dir, func(group, index int) bool { return out[[2]int{group, index}] })
	if err != nil {
		return nil, err
	}
	return review.Compare(cmd.Context(), subjects[0], subjects[1], sideNames, in)
}

var sideNames = [2]string{"before", "after"}

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
