package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/config/review"
	"github.com/olmgen/olmgen/internal/generate/installer"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// extensions writes the RBAC for the ServiceAccounts that ClusterExtensions name.
func (f *installerFlags) extensions(cmd *cobra.Command) error {
	what := strings.Join(f.trees, ", ") + " is a TREE"
	if err := f.render.refuseRenderFlags(cmd, what, "templates"); err != nil {
		return err
	}
	if given(cmd, "name") != "" {
		return &usageError{"--name cannot be given with --tree", "the Roles have the names of the ClusterExtensions"}
	}
	if err := f.render.checkOutput(); err != nil {
		return err
	}
	dir, _ := f.render.options.Text(config.OptionTemplates)
	set, err := templates.LoadDir(dir)
	if err != nil {
		return fmt.Errorf("--templates: %w", err)
	}
	planned, err := f.planned(cmd)
	if err != nil {
		return err
	}
	a := &applied{templates: set, source: output.Source{Bundle: "installers", Source: strings.Join(f.trees, ", ")},
		operator: output.Operator{Result: &generate.Result{Namespace: planned[0].Namespace}}}
	var objects []generate.Object
	for _, p := range planned {
		own, err := f.ofExtension(cmd, p, set)
		if err != nil {
			return err
		}
		objects = append(objects, own...)
	}
	return f.write(cmd, a, objects)
}

// planned returns what OLM v1 installs for ClusterExtensions that name a ServiceAccount. An operator that is not known
// is an error: permissions for a part are of no use.
func (f *installerFlags) planned(cmd *cobra.Command) ([]review.Planned, error) {
	t, err := f.roots.read(cmd, f.trees, tree.Options{Strict: true})
	if err != nil {
		return nil, err
	}
	var out []review.Planned
	catalogs, err := f.catalogs.open(cmd, t, f.render.source)
	if err != nil {
		return nil, err
	}
	list, unknown, err := review.Plan(cmd.Context(), t, review.TreeOptions{Catalogs: catalogs})
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
				p.Object.Identity(),
				versions.LastRequiring(versions.OperatorController, versions.FieldAccount))
		default:
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no ClusterExtension with a ServiceAccount", strings.Join(f.trees, ", "))
	}
	return out, nil
}

// ofExtension returns the Roles and bindings for one ClusterExtension.
func (f *installerFlags) ofExtension(cmd *cobra.Command, p review.Planned, set *templates.Set) ([]generate.Object,
	error) {
	installed, err := p.Render(cmd.Context(), withInput(cmd, f.render.source).Source)
	if err != nil {
		return nil, p.Object.Errorf("", "%s (%s): %v", p.Object.Identity(), p.Name, err)
	}
	objects, err := installed.Rendered.Operators[0].Manifests()
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
	return installer.Objects(needs, installer.Subject{Namespace: p.Namespace, ServiceAccount: p.Account,
		Name: p.Object.Name + "-installer"}, set, generate.Written)
}
