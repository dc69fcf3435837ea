package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// tenantsDir is where every layout has the bindings of tenants, a directory for each.
const tenantsDir = "tenants/"

// keepTenants refuses to remove the bindings of tenants that the flags do not name. A RenderConfig lists all tenants,
// and so does a file of tenants: one that is not in it is to be removed. A command line may name the new tenant only.
func (f *renderFlags) keepTenants(r *config.Rendered) error {
	_, listed := f.options.Text(generate.OptionTenants)
	if len(f.files) > 0 || listed || f.pruneTenants || f.output == output.Stdout || !f.descoped() {
		return nil
	}
	differences, err := output.Check(f.output, r.Files, r.Sources)
	if err != nil {
		return nil //nolint:nilerr // what is wrong with the directory is for Write to say
	}
	var gone []string
	for _, d := range differences {
		rest, ok := strings.CutPrefix(d.Path, tenantsDir)
		tenant, _, inside := strings.Cut(rest, "/")
		if ok && inside && d.State == output.StateLeftOver && !slices.Contains(gone, tenant) {
			gone = append(gone, tenant)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return manifest.WithHint(fmt.Errorf("%s: this would remove the bindings of %s", f.output, strings.Join(gone, ", ")),
		"name all tenants with --bind-namespaces or --tenants, or give --prune-tenants to remove these")
}

// descoped reports whether the flags ask for profile descoped.
func (f *renderFlags) descoped() bool {
	profile, _ := f.options.Text(generate.OptionProfile)
	_, takes := f.options.Option(strings.TrimPrefix(config.FlagOf(generate.OptionProfile), "--"))
	return profile == string(generate.ProfileDescoped) || !takes // olmgen descope has no such flag
}
