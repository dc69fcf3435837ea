package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

type permissionsFlags struct {
	render   renderFlags
	catalogs treeCatalogs
	roots    treeFlags
	report   reportFlags
	used     usedFlags
}

func newPermissions() *cobra.Command {
	f := permissionsFlags{roots: treeFlags{inNotes: true}}
	cmd := command("permissions SOURCE...|TREE... | -f FILE", "What may this operator do? Show it, and who grants it",
		func(cmd *cobra.Command, given []string) error {
			if len(f.render.files) == 0 {
				return args(1, many, "the bundle or tree")(cmd, given)
			}
			return f.render.checkDeclared(cmd, given)
		}, f.run)
	flags := cmd.Flags()
	fileFlag(flags, &f.render.files)
	f.report.registerAs(cmd, print.Formats, nil, findings.None)
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.render.register(cmd, func(o config.Option) bool { return reviewed(o) || o.ID == option.OpenShiftVersion })
	f.used.register(cmd)
	return cmd
}

func (f *permissionsFlags) run(cmd *cobra.Command, refs []string) error {
	in, err := f.read(cmd, refs)
	if err != nil {
		return err
	}
	report, err := permissions.Evaluate(in.Input)
	if err != nil {
		return err
	}
	if f.used.policy {
		if name := given(cmd, "used", "account", "format"); name != "" {
			return &usageError{name + " cannot be given with --audit-policy, which prints a policy alone",
				"leave it out"}
		}
		release, _ := f.render.options.Text(option.OpenShiftVersion)
		policy, err := report.AuditPolicy(release != "")
		if err == nil {
			_, err = cmd.OutOrStdout().Write(policy)
		}
		return err
	}
	if err := f.used.add(cmd, report); err != nil {
		return err
	}
	if in.Rendered && len(refs) == 1 {
		report.Locate(func(file string) string { return review.PathIn(refs[0], file) })
	}
	what := strings.Join(append(slices.Clone(refs), f.render.files...), ", ")
	if f.report.format == formatBaseline {
		return errors.Join(f.report.printBaseline(cmd, report.Findings, len(in.Unread) == 0), unreadError(in.Unread))
	}
	if report.Findings, err = f.report.known(cmd, report.Findings, len(in.Unread) == 0); err != nil {
		return err
	}
	report.Findings = append([]findings.Finding{}, report.Findings...)
	err = cmp.Or(print.Report(cmd.OutOrStdout(), report, f.report.format), unreadError(in.Unread))
	if err != nil {
		return err
	}
	if f.report.fails(report.Findings) {
		return &foundError{countsOf(report.Findings) + " in " + what}
	}
	if n := len(report.Unresolved); n > 0 && !f.report.failOn.never() {
		return unknownError(n, f.catalogs.values)
	}
	if unseen := report.Usage.Unseen(); len(unseen) > 0 && !f.report.failOn.never() {
		return fmt.Errorf("%s without an event in the log: what is used is not known",
			text.Count(len(unseen), "account"))
	}
	return nil
}

func (f *permissionsFlags) read(cmd *cobra.Command, refs []string) (*review.Subject, error) {
	if err := refuseTreeFlags(cmd, refs, aboutTrees...); err != nil {
		return nil, err
	}
	var list []*review.Subject
	for _, file := range f.render.files {
		r, err := f.render.reviewConfig(cmd, file, review.Revision{})
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	trees := lists.Filter(refs, isTree)
	switch {
	case len(trees) > 0 && len(trees) < len(refs):
		other := refs[slices.IndexFunc(refs, func(ref string) bool { return !slices.Contains(trees, ref) })]
		return nil, &usageError{fmt.Sprintf("%s is a TREE, and %s is not", trees[0], other),
			"olmgen render writes a TREE for a SOURCE"}
	case len(trees) > 0:
		return f.tree(cmd, trees)
	}
	for _, ref := range refs {
		r, err := f.render.reviewSource(cmd, ref, nil)
		if err != nil {
			return nil, err
		}
		if len(refs) > 1 {
			r.MovePaths(func(_ int, file string) string { return review.PathIn(ref, file) })
		}
		list = append(list, r)
	}
	return review.Merge(list, append(slices.Clone(refs), f.render.files...)), nil
}

func (f *permissionsFlags) tree(cmd *cobra.Command, refs []string) (*review.Subject, error) {
	what := strings.Join(refs, ", ") + " is a TREE"
	if err := f.render.refuseRenderFlags(cmd, what, "namespace"); err != nil {
		return nil, err
	}
	t, err := f.roots.read(cmd, refs, tree.Options{})
	if err != nil {
		return nil, err
	}
	if _, given := f.render.options.Text(option.Namespace); given && !slices.ContainsFunc(t.Objects, review.Homeless) {
		return nil, &usageError{"--namespace is for a SOURCE or objects that name none, and " + what, seeHelp(cmd)}
	}
	r, err := f.render.reviewTree(cmd, t, refs, &f.catalogs, review.TreeOptions{})
	if err != nil {
		return nil, err
	}
	if len(t.Unknown()) > 0 {
		return r, nil
	}
	return r, f.refuseWithoutBindings(strings.Join(refs, ", "), r.Input, t.Objects)
}

// refuseWithoutBindings refuses a tree without any RBAC, which would look like an operator that may do nothing.
func (f *permissionsFlags) refuseWithoutBindings(ref string, in permissions.Input, all []*manifest.Object) error {
	if slices.ContainsFunc(in.Objects, func(o *manifest.Object) bool {
		return permissions.Relevant(o.Group(), o.Kind) && strings.HasSuffix(o.Kind, "Binding")
	}) {
		return nil
	}
	e := &manifest.Error{File: ref, Msg: "no RoleBinding and no ClusterRoleBinding in these files"}
	switch {
	case len(in.Unread) > 0:
		e.Tip = "mend what could not be read: " + in.Unread[0]
	case slices.ContainsFunc(all, func(o *manifest.Object) bool { return o.Has("metadata", "uid") }):
		e.Tip = "dump them too: kubectl get roles,rolebindings,clusterroles,clusterrolebindings -A -o yaml"
	case len(in.Unresolved) > 0:
		e.Tip = "OLM makes them of what it installs, and that is not known: " + in.Unresolved[0]
		if len(f.catalogs.values) == 0 {
			e.Tip += "; pass the content of its catalog with --catalog"
		}
	case len(in.CSVs) > 0:
		e.Tip = "OLM makes them of the ClusterServiceVersion: name the bundle's directory, the one that has manifests/"
	case len(in.Notes) > 0:
		e.Tip = in.Notes[0]
	}
	return e
}
