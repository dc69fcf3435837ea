package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/config/review"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
	"github.com/olmgen/olmgen/source"
)

// permissionsFlags are the flags of olmgen permissions as they were given.
type permissionsFlags struct {
	render   renderFlags
	catalogs treeCatalogs
	roots    treeFlags
	format   findings.Format
	report   reportFlags // without its format
}

func newPermissions() *cobra.Command {
	f := permissionsFlags{format: findings.Text}
	f.report.failOn = findings.None
	cmd := &cobra.Command{
		Use:   "permissions SOURCE...|TREE... | -f FILE",
		Short: "What may this operator do? Show it, and who grants it",
		Long: `Permissions shows what each ServiceAccount of an operator may do once it is
installed: which Secrets it reads, whether it writes RBAC, runs in pods,
impersonates, changes webhooks and CRDs, and the rest by API group. Each line
names the place (the cluster or namespaces), the line that grants it, and why it
is there: a permission of the CSV, one that a global OperatorGroup promotes to
the cluster, a copy for a target namespace, an object that the bundle ships, or
OLM's own. It also shows what follows from these permissions, and what users
gain by the roles admin, edit, view and cluster-reader.

RBAC is evaluated as Kubernetes does it: bindings, groups of accounts, Roles,
ClusterRoles and aggregation. docs/review.md describes the report.

TREE is a directory of manifests, a YAML file, or - for YAML on stdin. A
directory that has manifests/ is a SOURCE. What is evaluated for a SOURCE is
what olmgen render would write with the same flags, and for a RenderConfig all
that it declares. Several arguments, and the operators of a RenderConfig, are in
one cluster and make one report.

A Subscription, OperatorPolicy or ClusterExtension in a TREE stands for what OLM
installs for it from the catalogs of --catalog, or from the image of a
CatalogSource in the TREE.

The exit code is 3 if there are findings at or above --fail-on. It is 1 if
--fail-on is given and an operator is not known.

` + sourceHelp,
		Example: `  olmgen permissions bundle/
  olmgen permissions bundle/ --target-namespaces team-a,team-b -n operators
  olmgen permissions -f olmgen.yaml --fail-on error --baseline known.json
  olmgen permissions --format html oci://quay.io/example/bundle:v1 > p.html
  kustomize build . | olmgen permissions -
  olmgen permissions clusters/prod --catalog olm/community=configs/`,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(f.render.files) == 0 {
				return args(1, math.MaxInt, "the bundle or tree")(cmd, given)
			}
			return f.render.checkDeclared(cmd, given)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	fileFlag(flags, &f.render.files)
	formatFlag(cmd, &f.format, print.Formats)
	failOnFlag(cmd, &f.report.failOn)
	f.report.registerBaseline(flags)
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.render.register(cmd, reviewed)
	cmd.RunE = f.run
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
	if in.Rendered && len(refs) == 1 {
		report.Locate(func(file string) string { return review.PathIn(refs[0], file) })
	}
	what := strings.Join(append(slices.Clone(refs), f.render.files...), ", ")
	all := report.Findings
	if report.Findings, err = f.report.known(cmd.ErrOrStderr(), all, len(in.Unread) == 0); err != nil {
		return err
	}
	report.Findings = append([]findings.Finding{}, report.Findings...)
	if err := print.Report(cmd.OutOrStdout(), report, f.format); err != nil {
		return err
	}
	if len(in.Unread) > 0 {
		return unreadError(in.Unread)
	}
	if f.report.write == "" && findings.Reaches(report.Findings, f.report.failOn) {
		return &foundError{fmt.Sprintf("%s, %s in %s",
			text.Count(findings.Count(report.Findings, findings.Error), "error"),
			text.Count(findings.Count(report.Findings, findings.Warning), "warning"), what)}
	}
	if n := len(report.Unresolved); n > 0 && f.report.failOn != findings.None {
		return unknownError(n)
	}
	return nil
}

// read reads what the arguments or -f name.
func (f *permissionsFlags) read(cmd *cobra.Command, refs []string) (*review.Subject, error) {
	var list []*review.Subject
	for _, file := range f.render.files {
		r, err := f.render.reviewConfig(cmd, file)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	trees := slices.DeleteFunc(slices.Clone(refs),
		func(ref string) bool { return !review.IsTree(ref) || source.IsRenderConfig(ref) })
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

// tree reads manifests.
func (f *permissionsFlags) tree(cmd *cobra.Command, refs []string) (*review.Subject, error) {
	what := strings.Join(refs, ", ") + " is a TREE"
	if err := f.render.refuseRenderFlags(cmd, what, "namespace"); err != nil {
		return nil, err
	}
	t, err := f.roots.read(cmd, refs, tree.Options{})
	if err != nil {
		return nil, err
	}
	r, err := f.render.reviewTree(cmd, t, refs, &f.catalogs, review.TreeOptions{})
	if err != nil {
		return nil, err
	}
	if len(t.Unknown()) > 0 {
		return r, nil
	}
	return r, f.refuseWithoutBindings(strings.Join(refs, ", "), r.Input)
}

// refuseWithoutBindings refuses a tree without any RBAC, which would look like an operator that may do nothing.
func (f *permissionsFlags) refuseWithoutBindings(ref string, in permissions.Input) error {
	for _, o := range in.Objects {
		if permissions.Relevant(o.Group(), o.Kind) && strings.HasSuffix(o.Kind, "Binding") {
			return nil
		}
	}
	e := &manifest.Error{File: ref, Msg: "no RoleBinding and no ClusterRoleBinding in these files"}
	switch {
	case len(in.Unread) > 0:
		e.Tip = "mend what could not be read: " + in.Unread[0]
	case len(in.Unresolved) > 0:
		e.Tip = "OLM makes them of what it installs, and that is not known: " + in.Unresolved[0]
		if len(f.catalogs.values) == 0 {
			e.Tip += "; pass the content of its catalog with --catalog"
		}
	case len(in.Notes) > 0:
		e.Tip = in.Notes[0]
	case len(in.CSVs) > 0:
		e.Tip = "OLM makes them of the ClusterServiceVersion: name the bundle's directory, the one that has manifests/"
	}
	return e
}
