package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/review/installs"
)

// registerDescoped adds the flags of the descoped profile.
func (f *renderFlags) registerDescoped(flags *pflag.FlagSet) {
	d := &f.options.Descoped
	flags.StringSliceVar(&d.BindNamespaces, "bind-namespaces", nil, "descoped: namespaces that the operator is bound in, as `A,B`: one RoleBinding each and ServiceAccount")
	flags.BoolVar(&d.BindAll, "bind-all", false, "descoped: bind the operator in all namespaces: one ClusterRoleBinding a ServiceAccount")
	flags.Var(enums(&d.AggregateTo, generate.DefaultRoles...), "aggregate-to", "descoped: default roles that get the user roles of the APIs: "+joined(generate.DefaultRoles))
	flags.Var(enum(&d.Split, generate.Splits...), "split", "descoped: optional ClusterRoles beside the required one: by feature, one for each API group that is neither Kubernetes' nor the operator's, or by resource")
}

// descopeFlags are the flags of render that mean something for a descoped operator.
var descopeFlags = []string{"package", "channel", "version", "offline", "insecure", "output", "layout", "check", "namespace", "bind-namespaces", "bind-all",
	"operator-group", "target-namespaces", "aggregate-to", "split", "certs", "issuer", "cert-secret", "ca-bundle", "config-subscription",
	"mirror-map", "convert-crds", "create-namespace", "templates", "allow-unsupported", "strict", "force"}

func newDescope() *cobra.Command {
	f := renderFlags{layout: output.LayoutFlat}
	var dir string
	cmd := &cobra.Command{
		Use:   "descope SOURCE",
		Short: "Render an operator that is bound only where you say",
		Long: `Descope is render --profile descoped: the operator serves its APIs in the whole
cluster and may do nothing there but say so in their status, until an
administrator binds it. Each ServiceAccount gets one ClusterRole with all that
the CSV asks for; what the CSV asks for in permissions it has in its own
namespace at once.

--bind-namespaces and --bind-all make the administrator's part, in directories
of its own: tenants/NAMESPACE/ and all-namespaces/, each with a
kustomization.yaml. A new tenant adds files and changes none. With
--operator-group the namespaces of that group (--target-namespaces, or all)
decide.

What kind of operator it is, and what OLM's descoping plan advises for it, is
said on stderr once it is rendered; with --tree, for the installations that are
there today.

` + sourceHelp,
		Example: `  olmgen descope bundle/ -o out/ -n operators
  olmgen descope bundle/ -o out/ -n operators --bind-namespaces team-a,team-b
  olmgen descope bundle/ -o out/ --bind-all --aggregate-to admin,edit,view
  olmgen descope bundle/ --tree clusters/prod/ > /dev/null`,
		Args: args(1, 1, "the bundle"),
	}
	all := pflag.NewFlagSet("render", pflag.ContinueOnError)
	f.register(all)
	f.registerTree(all)
	all.Lookup("operator-group").Usage = "`NAME` of an OperatorGroup, whose namespaces then decide where the operator is bound (default: none)"
	all.Lookup("target-namespaces").Usage = "with --operator-group: the namespaces of the group, as `A,B` (default: all)"
	cmd.Flags().SortFlags = false
	for _, name := range descopeFlags {
		cmd.Flags().AddFlag(all.Lookup(name))
	}
	cmd.Flags().StringVar(&dir, "tree", "", "`DIR` with the manifests of today's installations, for the advice")
	offer(cmd, map[string][]string{
		"certs":        words(generate.AllCerts),
		"aggregate-to": words(generate.DefaultRoles),
		"split":        words(generate.Splits),
		"layout":       words(output.Layouts),
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.options.Profile = generate.ProfileDescoped
		var operator *bundle.Bundle
		var known []installs.Install
		f.look = func(b *bundle.Bundle) (err error) {
			operator = b
			if dir != "" {
				if known, err = readInstalls(cmd.Context(), cmd.ErrOrStderr(), b, dir); err != nil {
					err = fmt.Errorf("--tree: %w", err)
				}
			}
			return err
		}
		if err := f.run(cmd, args[0]); err != nil {
			return err
		}
		sayScope(cmd.ErrOrStderr(), operator.CSV, known)
		return nil
	}
	return cmd
}

// sayScope tells what kind of operator it is and what to do.
func sayScope(w io.Writer, csv *v1alpha1.ClusterServiceVersion, known []installs.Install) {
	scope, reason := bundle.ScopeOf(csv)
	fmt.Fprintf(w, "olmgen: %s is %s: %s\n", csv.Name, scope, reason)
	advice := installs.Advise(csv, known)
	if advice.State != "" {
		fmt.Fprintln(w, "olmgen: "+advice.State)
	}
	for _, step := range advice.Steps {
		fmt.Fprintln(w, "hint: "+step)
	}
}

// readInstalls looks for installations in a directory, and says what it could not read there.
func readInstalls(ctx context.Context, w io.Writer, b *bundle.Bundle, dir string) ([]installs.Install, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, manifest.WithHint(fmt.Errorf("%s is not a directory", dir), "give the directory that holds the manifests")
	}
	t, err := tree.Read(ctx, []string{dir}, tree.Options{})
	if err != nil {
		return nil, err
	}
	saySkipped(w, t)
	for _, err := range t.Faults {
		fmt.Fprintf(w, "olmgen: warning: %v\n", err)
	}
	found, unreadable := installs.Find(t, b)
	for _, err := range unreadable {
		fmt.Fprintf(w, "olmgen: warning: %v\n", err)
	}
	return found, nil
}
