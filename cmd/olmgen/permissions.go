package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/permissions"
	"github.com/olmgen/olmgen/source"
)

// permissionsFlags are the flags of olmgen permissions as they were given.
type permissionsFlags struct {
	render renderFlags
	format findings.Format
	report reportFlags // without its format
}

func newPermissions() *cobra.Command {
	f := permissionsFlags{format: findings.Text}
	f.report.failOn = findings.None
	cmd := &cobra.Command{
		Use:   "permissions SOURCE...|TREE... | -f FILE",
		Short: "Show what an operator may do, and who grants it",
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

The exit code is 3 if there are findings at or above --fail-on.

` + sourceHelp,
		Example: `  olmgen permissions bundle/
  olmgen permissions bundle/ --target-namespaces team-a,team-b -n operators
  olmgen permissions -f olmgen.yaml --fail-on error --baseline known.json
  olmgen permissions --format html oci://quay.io/example/bundle:v1 > p.html
  kustomize build . | olmgen permissions -`,
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
	formatFlag(cmd, &f.format, permissions.Formats)
	failOnFlag(cmd, &f.report.failOn)
	f.report.registerBaseline(flags)
	f.render.register(cmd, func(o config.Option) bool { return o.Access })
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
		report.Locate(func(file string) string { return pathIn(refs[0], file) })
	}
	what := strings.Join(append(slices.Clone(refs), f.render.files...), ", ")
	all := report.Findings
	if report.Findings, err = f.report.known(cmd.ErrOrStderr(), all, true); err != nil {
		return err
	}
	report.Findings = append([]findings.Finding{}, report.Findings...)
	if err := report.Print(cmd.OutOrStdout(), f.format); err != nil {
		return err
	}
	if f.report.write == "" && findings.Reaches(report.Findings, f.report.failOn) {
		return &foundError{fmt.Sprintf("%s, %s in %s", text.Count(findings.Count(report.Findings, findings.Error), "error"),
			text.Count(findings.Count(report.Findings, findings.Warning), "warning"), what)}
	}
	return nil
}

// read reads what the arguments or -f name.
func (f *permissionsFlags) read(cmd *cobra.Command, refs []string) (*reviewed, error) {
	var list []*reviewed
	for _, file := range f.render.files {
		r, err := f.render.reviewConfig(cmd, file)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	trees := slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return !isTree(ref) || isConfig(ref) })
	switch {
	case len(trees) > 0 && len(trees) < len(refs):
		other := refs[slices.IndexFunc(refs, func(ref string) bool { return !slices.Contains(trees, ref) })]
		return nil, &usageError{fmt.Sprintf("%s is a TREE, and %s is none", trees[0], other),
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
			r.under(func(_ int, file string) string { return pathIn(ref, file) })
		}
		list = append(list, r)
	}
	return together(list, append(slices.Clone(refs), f.render.files...)), nil
}

// together puts what is in one cluster into one report.
func together(list []*reviewed, names []string) *reviewed {
	if len(list) == 1 {
		return list[0]
	}
	all := &reviewed{}
	all.Rendered = true
	all.Operator = permissions.Operator{Name: strings.Join(names, ", ")}
	for _, r := range list {
		all.Objects, all.CSVs = append(all.Objects, r.Objects...), append(all.CSVs, r.CSVs...)
		all.Shipped = append(all.Shipped, r.Shipped...)
	}
	return all
}

// tree reads manifests.
func (f *permissionsFlags) tree(cmd *cobra.Command, refs []string) (*reviewed, error) {
	what := strings.Join(refs, ", ") + " is a TREE"
	if err := f.render.refuseRenderFlags(cmd, what, "namespace"); err != nil {
		return nil, err
	}
	namespace, _ := f.render.options.Text(generate.OptionNamespace)
	r, err := reviewTree(cmd, refs, namespace)
	if err != nil {
		return nil, err
	}
	return r, refuseWithoutBindings(strings.Join(refs, ", "), r.Input)
}

// refuseWithoutBindings refuses a tree without any RBAC, which would look like an operator that may do nothing.
func refuseWithoutBindings(ref string, in permissions.Input) error {
	for _, o := range in.Objects {
		if permissions.Relevant(o.Group(), o.Kind) && strings.HasSuffix(o.Kind, "Binding") {
			return nil
		}
	}
	e := &manifest.Error{File: ref, Msg: "no RoleBinding and no ClusterRoleBinding in these files"}
	if len(in.CSVs) > 0 {
		e.Tip = "OLM makes them of the ClusterServiceVersion: name the bundle's directory, the one that has manifests/"
	}
	return e
}

// isTree reports whether an argument is a tree of manifests. A bundle's directory has manifests/, or is in the one that
// is named.
func isTree(ref string) bool {
	if ref == tree.Stdin {
		return true
	}
	info, err := os.Stat(ref)
	if err != nil {
		return false // a prefix, or the source says that there is nothing
	}
	if !info.IsDir() {
		switch filepath.Ext(ref) {
		case ".yaml", ".yml", ".json":
			return true
		}
		return false
	}
	dir := os.DirFS(ref)
	for _, pattern := range []string{output.LockName, "*/" + output.LockName} {
		if found, _ := fs.Glob(dir, pattern); len(found) > 0 {
			return true
		}
	}
	for _, pattern := range []string{"manifests", "metadata/annotations.yaml", "*/metadata/annotations.yaml",
		"*.package.yaml", "*clusterserviceversion.yaml"} {
		found, err := fs.Glob(dir, pattern)
		if err == nil && len(found) > 0 {
			return false
		}
	}
	return true
}

// pathIn returns the path of a file in a source, for people: of a directory that is the path of the file.
func pathIn(ref, file string) string {
	kind, _, ok := strings.Cut(ref, ":")
	base := ref
	if ok && kind != source.KindOCI {
		base = strings.TrimPrefix(ref, kind+":")
	}
	if strings.Contains(base, "://") {
		return base + "/" + file
	}
	return path.Join(filepath.ToSlash(base), file)
}
