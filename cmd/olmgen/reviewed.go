package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/permissions"
)

// reviewed reports whether a report on the objects of a source takes an option: what a source cannot be rendered
// without, it cannot be reviewed without. The others are in a RenderConfig, which a report takes too.
func reviewed(o config.Option) bool { return o.Access }

// forReview are the options of a report. An operator that serves must have certificates; they have no part in it. What
// OLM refuses is looked at nevertheless.
var forReview = map[manifest.Option]any{generate.OptionCerts: string(generate.CertsManager),
	bundle.OptionAllowUnsupported: true}

// reviewSource renders a source as the other reports do, and says where its rules are from. change may change what
// the flags say about the group.
func (f *renderFlags) reviewSource(cmd *cobra.Command, ref string, change func(*config.Group)) (*review.Subject,
	error) {
	profile, _ := f.options.Text(generate.OptionProfile)
	if p := generate.Profile(profile); p.HandsOver() {
		return nil, &usageError{fmt.Sprintf("profile %s leaves RBAC to OLM", p),
			"leave out --profile: the default shows what OLM grants"}
	}
	declared, err := f.declared(cmd, []string{ref}, forReview)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&declared[0].Groups[0])
	}
	all, err := f.render(cmd, declared[0])
	if err != nil {
		return nil, err
	}
	r, err := review.FromRendered(cmd.Context(), all)
	if err != nil {
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

// reviewTree reads manifests, and what OLM installs for them from catalogs. o says on what they are played.
func (f *renderFlags) reviewTree(cmd *cobra.Command, t *tree.Tree, refs []string, catalogs *treeCatalogs,
	o review.TreeOptions) (*review.Subject, error) {
	var err error
	saySkipped(cmd, t)
	network := withInput(cmd, f.source)
	o.Name, o.Source = strings.Join(refs, ", "), network.Source
	o.Namespace, _ = f.options.Text(generate.OptionNamespace)
	if catalogs.reader == nil {
		catalogs.reader = &review.ContentReader{}
	}
	around := *catalogs
	if around.around = o.Cluster; o.Over != nil {
		around.around = slices.Concat(o.Cluster, o.Over.All)
	}
	if o.Catalogs, err = around.open(cmd, t, f.source); err != nil {
		return nil, err
	}
	return review.FromTree(cmd.Context(), t, o)
}

// otherTree reads manifests of what else is in the cluster.
func otherTree(cmd *cobra.Command, roots *treeFlags, refs []string) (*review.Subject, error) {
	t, err := roots.read(cmd, refs, tree.Options{})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd, t)
	return review.FromObjectsOf(cmd.Context(), t, review.TreeOptions{Name: strings.Join(refs, ", ")})
}

// unreadError fails a command whose report, which is printed, lacks files.
func unreadError(list []string) error {
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("%s could not be read: the report is without what is in there", text.Count(len(list), "file"))
}

// unknownError fails a gate whose report, which is printed, lacks operators.
func unknownError(operators int) error {
	return manifest.WithHint(fmt.Errorf("%s unknown: the report is without what OLM installs",
		text.Count(operators, "operator")), "pass the content of the catalogs with --catalog")
}

func (f *renderFlags) reviewConfig(cmd *cobra.Command, file string) (*review.Subject, error) {
	c, dir, err := readConfig(cmd.InOrStdin(), file)
	if err != nil {
		return nil, err
	}
	return f.reviewDeclared(cmd, declaration{Config: c, file: file, dir: dir})
}

func (f *renderFlags) reviewDeclared(cmd *cobra.Command, d declaration) (*review.Subject, error) {
	d.output = output.Stdout
	all, err := f.render(cmd, d)
	if err != nil {
		return nil, err
	}
	shown, why := all, error(nil)
	if d.HandsOver() {
		d.Config = d.Shown()
		shown, why = f.render(cmd, d)
	}
	r, err := review.FromShown(cmd.Context(), all, shown, why)
	if err != nil {
		return nil, err
	}
	r.Operator = permissions.Operator{Name: filepath.ToSlash(d.file)}
	r.MovePaths(func(i int, name string) string { return review.PathIn(all.Opened[i].Ref, name) })
	return r, nil
}

// refuseRenderFlags refuses flags that say how a source is rendered. Other flags are allowed.
func (f *renderFlags) refuseRenderFlags(cmd *cobra.Command, what string, allowed ...string) (wrong error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		_, option := f.options.Option(flag.Name)
		if wrong == nil && option && !slices.Contains(allowed, flag.Name) {
			wrong = &usageError{fmt.Sprintf("--%s is for a SOURCE, and %s", flag.Name, what),
				"see " + cmd.CommandPath() + " --help"}
		}
	})
	return wrong
}
