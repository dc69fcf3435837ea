package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/permissions"
	"github.com/olmgen/olmgen/source"
)

// reviewed is what a review is about: the objects of a source, a tree or a RenderConfig, and the operators in it.
type reviewed struct {
	permissions.Input
	all       []*manifest.Object // those without a part in permissions, too
	operators []compare.Operator
	opened    []*config.Opened
	elsewhere string // a note, if it could not be rendered as it should be
	locate    func(*manifest.Object) (file string, line int)
}

// state evaluates what is reviewed, for a comparison.
func (r *reviewed) state(name string) (compare.State, error) {
	report, err := permissions.Evaluate(r.Input)
	if err != nil {
		return compare.State{}, err
	}
	roles, err := permissions.UnboundRoles(r.Input)
	if err != nil {
		return compare.State{}, err
	}
	return compare.State{Name: name, Roles: roles, Objects: r.all, Operators: r.operators, Permissions: report,
		Locate: r.locate}, nil
}

// reviewSource renders a source as the other reports do, and says where its rules are from. tune may change what the
// flags say about the group.
func (f *renderFlags) reviewSource(cmd *cobra.Command, ref string, tune func(*config.Group)) (*reviewed, error) {
	profile, _ := f.options.Text(generate.OptionProfile)
	if p := generate.Profile(profile); p.HandsOver() {
		return nil, &usageError{fmt.Sprintf("profile %s leaves RBAC to OLM", p),
			"leave out --profile: the default shows what OLM grants"}
	}
	// An operator that serves must have certificates. They have no part in a review.
	c, err := f.config(ref, map[manifest.Option]any{generate.OptionCerts: string(generate.CertsManager)})
	if err != nil {
		return nil, err
	}
	if tune != nil {
		tune(&c.Groups[0])
	}
	all, err := f.render(cmd, c)
	if err != nil {
		return nil, err
	}
	r, err := reviewRendered(all)
	if err != nil {
		return nil, err
	}
	if r.operators[0].Deprecated, err = f.deprecations(cmd, ref, all.Opened[0]); err != nil {
		return nil, err
	}
	result := all.Operators[0].Result
	r.Operator = permissions.Operator{Name: result.CSV, Package: result.Package, Version: result.Version,
		InstallMode: string(result.InstallMode), Profile: profile, Namespace: result.Namespace}
	if targets, given := f.options.Text(generate.OptionTargetNamespaces); given {
		r.Operator.Targets = strings.Split(targets, ",")
	}
	return r, nil
}

// deprecations returns what a catalog says against a bundle that was taken from it.
func (f *renderFlags) deprecations(cmd *cobra.Command, ref string, opened *config.Opened) ([]string, error) {
	dir := strings.TrimPrefix(ref, source.KindCatalog+":")
	if opened.Kind != source.KindCatalog {
		return nil, nil
	}
	c, err := fbc.Read(cmd.Context(), dir, f.source)
	if err != nil {
		return nil, err
	}
	p := c.Packages[opened.Package]
	if p == nil {
		return nil, nil
	}
	given, _ := f.options.Text(bundle.OptionChannel)
	var out []string
	for _, of := range [][2]string{{"olm.bundle", opened.CSV.Name}, {"olm.channel", given},
		{fbc.TypePackage, ""}} {
		if message := p.Deprecated(of[0], of[1]); message != "" {
			out = append(out, message)
		}
	}
	return out, nil
}

// reviewRendered takes what a RenderConfig renders to.
func reviewRendered(all *config.Rendered) (*reviewed, error) {
	r := &reviewed{opened: all.Opened}
	for _, o := range all.Objects {
		read, err := r.AddRendered(o.Object)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, read)
	}
	for i, opened := range all.Opened {
		result := all.Operators[i].Result
		csv := permissions.CSV{ClusterServiceVersion: opened.CSV, Object: opened.CSVObject, Namespace: result.Namespace}
		r.CSVs = append(r.CSVs, csv)
		r.Shipped = append(r.Shipped, opened.Others...)
		r.operators = append(r.operators, compare.Operator{CSV: csv, Package: opened.Package,
			Dependencies: opened.Dependencies, Properties: slices.Concat(opened.Bundle.Properties, opened.Properties),
			Replaces: opened.Replaces, InstallMode: result.InstallMode})
	}
	if len(all.Operators) == 1 {
		r.Namespace = all.Operators[0].Namespace
	}
	r.locate = func(o *manifest.Object) (string, int) { return permissions.Place(r.CSVs, o) }
	return r, nil
}

// under puts the paths of files below that of their source, so that a person finds them.
func (r *reviewed) under(at func(operator int, file string) string) {
	moved := map[*manifest.Object]*manifest.Object{}
	move := func(o *manifest.Object, operator int) *manifest.Object {
		if permissions.Authored(o) {
			return o
		}
		if moved[o] == nil {
			m := *o
			m.File = at(operator, o.File)
			moved[o] = &m
		}
		return moved[o]
	}
	shipped := map[*manifest.Object]*manifest.Object{}
	for i, opened := range r.opened {
		for _, o := range opened.Others {
			shipped[o] = move(o, i)
		}
		for _, crd := range opened.CRDs {
			move(crd.Object, i)
		}
		r.CSVs[i].Object = move(r.CSVs[i].Object, i)
		r.operators[i].Object = r.CSVs[i].Object
	}
	for i, o := range r.Shipped {
		r.Shipped[i] = shipped[o]
	}
	for _, list := range [][]*manifest.Object{r.Objects, r.all} {
		for i, o := range list {
			list[i] = move(o, 0)
		}
	}
}

// reviewTree reads manifests.
func reviewTree(cmd *cobra.Command, refs []string, namespace string) (*reviewed, error) {
	t, err := tree.Read(cmd.Context(), refs, tree.Options{Stdin: cmd.InOrStdin()})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd.ErrOrStderr(), t)
	for _, e := range t.Faults {
		fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: warning: not read: "+e.Error())
	}
	r := &reviewed{all: t.Objects}
	r.Operator = permissions.Operator{Name: strings.Join(refs, ", ")}
	r.Namespace, r.Objects = namespace, t.Objects
	if r.CSVs, err = permissions.InstalledCSVs(t.Objects); err != nil {
		return nil, err
	}
	r.operators, err = compare.TreeOperators(t.Objects, r.CSVs)
	return r, err
}

// reviewConfig renders a RenderConfig.
func (f *renderFlags) reviewConfig(cmd *cobra.Command, file string) (*reviewed, error) {
	c, dir, err := readConfig(cmd.InOrStdin(), file)
	if err != nil {
		return nil, err
	}
	return f.reviewDeclared(cmd, declaration{Config: c, file: file, dir: dir})
}

func (f *renderFlags) reviewDeclared(cmd *cobra.Command, d declaration) (*reviewed, error) {
	one := *f
	one.check, d.output = false, output.Stdout
	all, err := one.renderDeclared(cmd, d)
	if err != nil {
		return nil, err
	}
	r, err := reviewRendered(all)
	if err != nil {
		return nil, err
	}
	for _, o := range all.Operators {
		if o.InstallMode == "" {
			fmt.Fprintf(cmd.ErrOrStderr(),
				"olmgen: warning: %s: its profile leaves RBAC to OLM: its permissions are not "+
					"in the report\n", o.Name)
		}
	}
	r.Operator = permissions.Operator{Name: filepath.ToSlash(d.file)}
	r.under(func(i int, name string) string { return pathIn(all.Opened[i].Ref, name) })
	return r, nil
}

// refuseRenderFlags refuses flags that say how a source is rendered. Other flags are allowed.
func (f *renderFlags) refuseRenderFlags(cmd *cobra.Command, what string, allowed ...string) error {
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		_, option := f.options.Option(flag.Name)
		if wrong == nil && option && !slices.Contains(allowed, flag.Name) {
			wrong = &usageError{fmt.Sprintf("--%s is for a SOURCE, and %s", flag.Name, what),
				"see " + cmd.CommandPath() + " --help"}
		}
	})
	return wrong
}

// unsupported reports whether an error says that an operator does not support an install mode.
func unsupported(about []manifest.Option) bool {
	return slices.Contains(about, generate.OptionInstallMode)
}

// installModeOf returns the mode that a result was rendered in.
func (r *reviewed) installModeOf() v1alpha1.InstallModeType {
	if len(r.operators) != 1 {
		return ""
	}
	return r.operators[0].InstallMode
}

// isConfig reports whether an argument is a RenderConfig.
func isConfig(ref string) bool { return source.IsRenderConfig(ref) }

// cleaned returns a path with slashes.
func cleaned(ref string) string { return path.Clean(filepath.ToSlash(ref)) }
