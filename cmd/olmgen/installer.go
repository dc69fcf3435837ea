package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/installer"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

type installerFlags struct {
	render    renderFlags
	installer string
	name      string
	catalogs  treeCatalogs
	roots     treeFlags
	target    targetFlags
	options   installer.Options
}

func newInstallerRBAC() *cobra.Command {
	var f installerFlags
	cmd := command("installer-rbac SOURCE|TREE...|-f FILE --installer NS/NAME",
		"Which RBAC does applying this need? Write it",
		func(cmd *cobra.Command, given []string) error {
			switch {
			case len(f.render.files) > 0:
				return f.render.checkDeclared(cmd, given)
			case len(given) > 0 && isTree(given[0]):
				return args(1, many, "")(cmd, given)
			}
			return args(1, 1, "the bundle, the tree, or -f,")(cmd, given)
		}, f.run)
	flags := cmd.Flags()
	flags.StringVar(&f.installer, "installer", "", "`NAMESPACE/NAME` of the ServiceAccount that applies")
	fileFlag(flags, &f.render.files)
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.target.register(cmd, false)
	flags.StringVar(&f.name, "name", "", "`NAME` of the Roles and bindings (default: the package name with "+
		"-installer; with -f and of a TREE the account's)")
	flags.BoolVar(&f.options.Escalate, "escalate", false,
		"grant escalate and bind on the roles by name in place of the rules in them")
	flags.BoolVar(&f.options.Watch, "watch", false, "grant list and watch too, which can't be limited to names")
	f.render.registerWriting(cmd)
	f.render.register(cmd, func(o config.Option) bool {
		return o.Access || o.ID == option.AllowUnsupported || o.ID == option.Certs ||
			o.ID == option.Templates
	})
	return cmd
}

func (f *installerFlags) run(cmd *cobra.Command, refs []string) error {
	trees := len(f.render.files) == 0 && isTree(refs[0])
	if err := cmp.Or(f.render.checkOutput(cmd), refuseTreeFlags(cmd, refs, aboutTrees...)); err != nil {
		return err
	}
	if trees {
		if err := f.render.refuseRenderFlags(cmd, refs[0]+" is a TREE", "templates"); err != nil {
			return err
		}
		if f.installer == "" {
			return f.extensions(cmd, refs)
		}
	}
	if name := given(cmd, slices.Concat(targetNames, catalogFlags)...); name != "" {
		return &usageError{name + " is for the ClusterExtensions of a TREE, without --installer", "leave it out"}
	}
	namespace, account, ok := strings.Cut(f.installer, "/")
	switch {
	case f.installer == "":
		return &usageError{"--installer is missing", "name the ServiceAccount that applies, as NAMESPACE/NAME"}
	case !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(account)) > 0:
		return &usageError{fmt.Sprintf("--installer: %q is not NAMESPACE/NAME", f.installer),
			"name the ServiceAccount that applies"}
	}
	a, err := f.applied(cmd, refs, trees)
	if err != nil {
		return err
	}
	s := generate.Grants{Namespace: namespace, ServiceAccount: account,
		Name: cmp.Or(f.name, cmp.Or(a.operator.Name, account)+"-installer")}
	if problems := validation.IsDNS1123Subdomain(s.Namespace + "." + s.Name); len(problems) > 0 {
		return &usageError{fmt.Sprintf("--name: %q is not a valid name: %s", s.Name, text.Reason(problems)), ""}
	}
	if a.operator.Result == nil {
		a.operator.Result, a.source.Bundle = &generate.Result{Namespace: namespace}, s.Name
	}
	p, err := installer.Derive(a.objects, f.options)
	if err != nil {
		return err
	}
	if err := f.printGrants(cmd, p); err != nil {
		return err
	}
	s.Cluster, s.Namespaces = p.Cluster, p.Namespaces
	objects, err := s.Objects(a.templates)
	if err != nil {
		return err
	}
	return f.write(cmd, a, objects)
}

func (f *installerFlags) write(cmd *cobra.Command, a *applied, objects []generate.Object) error {
	result := *a.operator.Result
	result.Objects = objects
	a.operator.Result = &result
	files, err := output.SingleOperator(a.operator, a.templates).Files(output.LayoutFlat)
	if err != nil {
		return err
	}
	return f.render.write(cmd, files, []output.Source{a.source}, nil)
}

// applied is what an account applies, and where it comes from. Only a SOURCE has an operator.
type applied struct {
	objects   []*manifest.Object
	operator  output.Operator
	source    output.Source
	templates *templates.Set
}

// applied returns the objects of a source, of RenderConfigs or of trees.
func (f *installerFlags) applied(cmd *cobra.Command, refs []string, trees bool) (*applied, error) {
	if trees {
		a, t, err := f.tree(cmd, refs)
		if err == nil && len(t.Objects) == 0 {
			err = fmt.Errorf("%s: no objects", a.source.Source)
		}
		if err != nil {
			return nil, err
		}
		a.objects = t.Objects
		return a, nil
	}
	all, err := f.render.renderAll(cmd, refs, nil)
	if err != nil {
		return nil, err
	}
	a := &applied{source: output.Source{Source: strings.Join(f.render.files, ", ")}}
	if len(f.render.files) == 0 {
		a.operator, a.source = all[0].Operators[0], all[0].Sources[0]
	}
	for _, r := range all {
		if err := r.CheckOutput(f.render.output); err != nil && f.render.output != output.Stdout {
			return nil, err
		}
		a.templates = r.Templates
		if err := f.render.printWarnings(cmd, r.Warnings, r.Notes); err != nil {
			return nil, err
		}
		for _, x := range r.Objects {
			object, err := x.Manifest()
			if err != nil {
				return nil, err
			}
			a.objects = append(a.objects, object)
		}
	}
	return a, nil
}

// tree reads trees, and the templates. Permissions for a part of the objects are of no use.
func (f *installerFlags) tree(cmd *cobra.Command, refs []string) (*applied, *tree.Tree, error) {
	if f.render.output != output.Stdout {
		if err := checkNotRead(f.render.output, append(f.catalogs.contents(), refs...)); err != nil {
			return nil, nil, err
		}
	}
	dir, _ := f.render.options.Text(option.Templates)
	set, err := templates.LoadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("--templates: %w", err)
	}
	t, err := f.roots.read(cmd, refs, tree.Options{Strict: true})
	return &applied{templates: set, source: output.Source{Source: strings.Join(refs, ", ")}}, t, err
}

// printGrants prints roles on which escalate and bind are granted without an option, and warns of guesses.
func (f *installerFlags) printGrants(cmd *cobra.Command, p *installer.Permissions) error {
	if len(p.Escalate) > 0 {
		tell(cmd, "grants escalate on roles that aggregate others: ClusterRole %s", strings.Join(p.Escalate, ", "))
	}
	if len(p.Bind) > 0 {
		tell(cmd, "grants bind on roles whose rules are not among the objects: %s", strings.Join(p.Bind, ", "))
	}
	for _, e := range p.Warnings {
		warn(cmd, "%v", e)
	}
	return f.render.refuseWarnings(len(p.Warnings))
}

// extensions writes the RBAC for the ServiceAccounts that ClusterExtensions name.
func (f *installerFlags) extensions(cmd *cobra.Command, refs []string) error {
	if f.name != "" {
		return &usageError{"--name needs --installer", "the Roles have the names of the ClusterExtensions"}
	}
	a, t, err := f.tree(cmd, refs)
	if err != nil {
		return err
	}
	planned, err := f.planned(cmd, t)
	if err == nil && len(planned) == 0 {
		err = manifest.WithHint(fmt.Errorf("%s: no ClusterExtension with a ServiceAccount", a.source.Source),
			"name the ServiceAccount that applies with --installer")
	}
	if err != nil {
		return err
	}
	var objects []generate.Object
	for _, p := range planned {
		own, err := f.ofExtension(cmd, p, a.templates)
		if err != nil {
			return err
		}
		objects = append(objects, own...)
	}
	a.source.Bundle, a.operator.Result = "installers", &generate.Result{Namespace: planned[0].Namespace}
	return f.write(cmd, a, objects)
}

// planned returns what OLM v1 installs for ClusterExtensions with a ServiceAccount. An unknown operator is an error.
func (f *installerFlags) planned(cmd *cobra.Command, t *tree.Tree) (out []review.Planned, err error) {
	catalogs, err := f.catalogs.open(cmd, t, f.render.source)
	if err != nil {
		return nil, err
	}
	target, err := f.target.checked()
	if err != nil {
		return nil, err
	}
	list, unknown, err := review.Plan(cmd.Context(), t, review.TreeOptions{Catalogs: catalogs, Target: target})
	if err != nil {
		return nil, err
	}
	for _, u := range unknown {
		if u.Object.Kind == olm.KindClusterExtension {
			return nil, manifest.WithHint(u.Object.Errorf("", "%s", u.String()), catalogHint(u))
		}
	}
	for _, p := range list {
		switch {
		case p.Object.Kind != olm.KindClusterExtension:
		case p.Account == "":
			note(cmd, "%s:%d: %s names no ServiceAccount: OLM v1 needs one up to %s", p.Object.File, p.Object.Line,
				p.Object.Identity(), versions.LastRequiring(versions.OperatorController, versions.FieldAccount))
		default:
			out = append(out, p)
		}
	}
	return out, nil
}

func (f *installerFlags) ofExtension(cmd *cobra.Command, p review.Planned, set *templates.Set) ([]generate.Object,
	error) {
	installed, err := p.Render(cmd.Context(), withInput(cmd, f.render.source).Source)
	if err != nil {
		return nil, p.Object.Errorf("", "%s (%s): %v", p.Object.Identity(), p.Name, err)
	}
	objects, err := installed.Operator.Manifests()
	if err != nil {
		return nil, err
	}
	options := f.options
	options.Extension = p.Object.Name
	needs, err := installer.Derive(objects, options)
	if err != nil {
		return nil, err
	}
	tell(cmd, "ServiceAccount %s/%s installs %s", p.Namespace, p.Account, p)
	if err := f.printGrants(cmd, needs); err != nil {
		return nil, err
	}
	return generate.Grants{Namespace: p.Namespace, ServiceAccount: p.Account, Name: p.Object.Name + "-installer",
		Cluster: needs.Cluster, Namespaces: needs.Namespaces}.Objects(set)
}
