package main

import (
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/generate/installs"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

func newDescope() *cobra.Command {
	var f renderFlags
	var dir string
	cmd := &cobra.Command{
		Use:   "descope SOURCE",
		Short: "Render an operator that is bound only where you say",
		Args:  args(1, 1, "the bundle"),
	}
	f.registerWriting(cmd)
	f.registerCheck(cmd)
	cmd.Flags().StringVar(&dir, "tree", "", "`DIR` with the manifests of today's installations, for the advice")
	f.register(cmd, func(o config.Option) bool {
		return o.Uses(generate.ProfileDescoped) && o.ID != generate.OptionProfile
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.descope(cmd, args[0], dir)
	}
	return cmd
}

// descope renders a source with the descoped profile and prints the advice for the installations in a directory.
func (f *renderFlags) descope(cmd *cobra.Command, ref, dir string) error {
	all, err := f.declared(cmd, []string{ref},
		map[manifest.Option]any{generate.OptionProfile: string(generate.ProfileDescoped)})
	if err != nil {
		return err
	}
	if all[0].output, err = f.outputOf(cmd, all[0]); err != nil {
		return err
	}
	r, err := f.render(cmd, all[0])
	if err != nil {
		return err
	}
	b := r.Opened[0].Bundle
	var known []installs.Install
	if dir != "" {
		if known, err = readInstalls(cmd, b, dir); err != nil {
			return fmt.Errorf("--tree: %w", err)
		}
	}
	if err := f.deliver(cmd, r); err != nil {
		return err
	}
	f.sayScope(cmd, b.CSV, known, r.Operators[0].Namespace, r.Operators[0].Bound)
	return nil
}

// sayScope prints what kind of operator it is and what to do. It does not propose what the flags did.
func (f *renderFlags) sayScope(cmd *cobra.Command, csv *v1alpha1.ClusterServiceVersion, known []installs.Install,
	namespace string, bound generate.Bound) {
	scope, reason := bundle.ScopeOf(csv)
	tell(cmd, "%s is %s: %s; %s", csv.Name, scope, reason, bound.Text)
	tell(cmd, "whoever may create pods in namespace %s has the rights of the operator", namespace)
	advice := installs.Advise(csv, known)
	if advice.State != "" {
		tell(cmd, "%s", advice.State)
	}
	if scope == bundle.Scoped && known == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "hint: --tree DIR reads its installations from manifests")
	}
	w := cmd.ErrOrStderr()
	given := func(o manifest.Option) bool {
		_, ok := f.options.Text(o)
		return ok
	}
	for _, step := range config.OpenSteps(advice.Steps, known, given, bound.Namespaces) {
		fmt.Fprintln(w, "hint: "+config.WithOptionNames(step.Msg, step.Options, config.FlagOf))
	}
}

// readInstalls looks for installations in a directory and warns of what it can't read there.
func readInstalls(cmd *cobra.Command, b *bundle.Bundle, dir string) ([]installs.Install, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil,
			manifest.WithHint(fmt.Errorf("%s is not a directory", dir), "give the directory that holds the manifests")
	}
	t, err := tree.Read(cmd.Context(), []string{dir}, tree.Options{Plain: true})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd, t)
	for _, err := range t.Faults {
		warn(cmd, "%v", err)
	}
	found, unreadable := installs.Find(t, b)
	for _, err := range unreadable {
		warn(cmd, "%v", err)
	}
	return found, nil
}
