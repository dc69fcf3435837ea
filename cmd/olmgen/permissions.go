package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/review/findings"
	"github.com/olmgen/olmgen/review/permissions"
)

// permissionsFlags are the flags of olmgen permissions as they were given.
type permissionsFlags struct {
	render renderFlags
	format permissions.Format
	failOn findings.Level
}

func newPermissions() *cobra.Command {
	f := permissionsFlags{format: permissions.Text, failOn: findings.None}
	cmd := &cobra.Command{
		Use:   "permissions SOURCE|TREE",
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
what olmgen render would write with the same flags.

The exit code is 3 if there are findings at or above --fail-on.

` + sourceHelp,
		Example: `  olmgen permissions bundle/
  olmgen permissions bundle/ --target-namespaces team-a,team-b -n operators
  olmgen permissions --format html oci://quay.io/example/bundle:v1 > p.html
  kustomize build . | olmgen permissions -`,
		Args: args(1, 1, "the bundle or tree"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(enum(&f.format, permissions.Formats...), "format", joined(permissions.Formats))
	flags.Var(enum(&f.failOn, findings.Levels...), "fail-on",
		"the least that makes the exit code 3: "+joined(findings.Levels))
	offer(cmd, "format", words(permissions.Formats))
	offer(cmd, "fail-on", words(findings.Levels))
	f.render.register(cmd, func(o config.Option) bool { return o.Access })
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) }
	return cmd
}

func (f *permissionsFlags) run(cmd *cobra.Command, ref string) error {
	var in permissions.Input
	var err error
	if isTree(ref) {
		in, err = f.tree(cmd, ref)
	} else {
		in, err = f.rendered(cmd, ref)
	}
	if err != nil {
		return err
	}
	report, err := permissions.Evaluate(in)
	if err != nil {
		return err
	}
	if in.Rendered {
		report.Locate(func(file string) string { return pathIn(ref, file) })
	}
	if err := report.Print(cmd.OutOrStdout(), f.format); err != nil {
		return err
	}
	if findings.Reaches(report.Findings, f.failOn) {
		return &foundError{fmt.Sprintf("%s, %s in %s", plural(findings.Count(report.Findings, findings.Error), "error"),
			plural(findings.Count(report.Findings, findings.Warning), "warning"), ref)}
	}
	return nil
}

// rendered renders a source as the other reports do, and says where its rules are from.
func (f *permissionsFlags) rendered(cmd *cobra.Command, ref string) (permissions.Input, error) {
	profile, _ := f.render.options.Text(generate.OptionProfile)
	if p := generate.Profile(profile); p.HandsOver() {
		return permissions.Input{}, &usageError{fmt.Sprintf("profile %s leaves RBAC to OLM", p),
			"leave out --profile: the default shows what OLM grants"}
	}
	// An operator that serves must have certificates. They have no part in permissions.
	c, err := f.render.config(ref, map[manifest.Option]any{generate.OptionCerts: string(generate.CertsManager)})
	if err != nil {
		return permissions.Input{}, err
	}
	all, err := f.render.render(cmd, c)
	if err != nil {
		return permissions.Input{}, err
	}
	b, r := all.Opened[0].Bundle, all.Operators[0].Result
	objects, err := renderedObjects(r)
	if err != nil {
		return permissions.Input{}, err
	}
	in := permissions.Input{
		Operator: permissions.Operator{Name: r.CSV, Package: r.Package, Version: r.Version,
			InstallMode: string(r.InstallMode), Profile: profile, Namespace: r.Namespace},
		Objects: objects, Namespace: r.Namespace, Rendered: true, Shipped: b.Others,
		CSVs: []permissions.CSV{{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: r.Namespace}},
	}
	if targets, given := f.render.options.Text(generate.OptionTargetNamespaces); given {
		in.Operator.Targets = strings.Split(targets, ",")
	}
	return in, nil
}

// renderedObjects returns the rendered objects that have a part in permissions.
func renderedObjects(r *generate.Result) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, o := range r.Objects {
		if !permissions.Relevant(o.Group(), o.Kind) {
			continue
		}
		read, err := o.Manifest()
		if err != nil {
			return nil, err
		}
		out = append(out, read)
	}
	return out, nil
}

// tree reads manifests.
func (f *permissionsFlags) tree(cmd *cobra.Command, ref string) (permissions.Input, error) {
	in := permissions.Input{Operator: permissions.Operator{Name: ref}}
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if n := flag.Name; wrong == nil && n != "format" && n != "fail-on" && n != "namespace" {
			wrong = &usageError{fmt.Sprintf("--%s is for a SOURCE, and %s is a TREE", n, ref),
				"see " + cmd.CommandPath() + " --help"}
		}
	})
	if wrong != nil {
		return in, wrong
	}
	in.Namespace, _ = f.render.options.Text(generate.OptionNamespace)
	t, err := tree.Read(cmd.Context(), []string{ref}, tree.Options{Stdin: cmd.InOrStdin()})
	if err != nil {
		return in, err
	}
	saySkipped(cmd.ErrOrStderr(), t)
	for _, e := range t.Faults {
		fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: warning: not read: "+e.Error())
	}
	in.Objects = t.Objects
	if in.CSVs, err = permissions.InstalledCSVs(t.Objects); err != nil {
		return in, err
	}
	return in, refuseWithoutBindings(ref, in)
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
	for _, pattern := range []string{"", "*"} {
		if found, _ := filepath.Glob(filepath.Join(ref, pattern, output.LockName)); len(found) > 0 {
			return true
		}
	}
	for _, pattern := range []string{"manifests", "metadata/annotations.yaml", "*/metadata/annotations.yaml",
		"*.package.yaml", "*clusterserviceversion.yaml"} {
		found, err := filepath.Glob(filepath.Join(ref, filepath.FromSlash(pattern)))
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
