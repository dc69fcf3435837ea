package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/transform"
)

func newRender() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render SOURCE | -f FILE",
		Short: "Write every object that OLM would create for a bundle",
		Long: `Render reads a bundle and writes every object that OLM v0 would create for it:
to stdout, or with -o as one file an object, with a kustomization.yaml that
lists them in the order of application and an olmgen.lock that says which files
are olmgen's. Files that olmgen did not write are never touched.

With -f it renders all operators of a RenderConfig, which "olmgen init" writes.
--annotations adds what a GitOps engine has to know, and nothing else: for
argocd sync waves, ServerSideApply=true on CRDs that are too large for
client-side apply, Prune=false on CRDs and Namespaces; for flux that CRDs and
Namespaces are not pruned.

With --check it writes nothing: it prints how the directory differs from what
would be written, as a unified diff, and exits with 3 if it does.

--layout says how the files are laid out:
  flat             all in one directory
  by-kind          a directory for each kind
  gitops-catalog   <name>-operator/operator/{base,overlays/<channel>}, as in
                   redhat-cop/gitops-catalog
  cluster-scope    what concerns the cluster in cluster-scope/{base,bundles,
                   overlays}, the rest in <name>/base, as in operate-first/apps
  helm             a chart

` + sourceHelp + `

` + profileHelp + `

Without --install-mode the mode follows from the targets, else it is
AllNamespaces where the operator supports it, else OwnNamespace.`,
		Example: `  olmgen render bundle/ -o out/
  olmgen render bundle/ -o out/ -n operators --install-mode OwnNamespace
  olmgen render bundle/ -o out/ -n operators --target-namespaces team-a,team-b
  olmgen render bundle/ -o out/ --layout gitops-catalog
  olmgen render bundle/ --profile plain | kubectl apply --server-side -f -
  olmgen render bundle/ --profile subscription --approval Manual -o out/
  olmgen render bundle/ --profile clusterextension --create-namespace -o out/
  olmgen render -f olmgen.yaml
  olmgen render -f olmgen.yaml --check`,
		Args: func(cmd *cobra.Command, given []string) error {
			if f.file == "" {
				return args(1, 1, "the bundle")(cmd, given)
			}
			return f.checkDeclared(cmd, given)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.file != "" {
				return f.runDeclared(cmd)
			}
			return f.run(cmd, args[0])
		},
	}
	f.layout = output.LayoutFlat
	f.registerTree(cmd.Flags())
	f.register(cmd.Flags())
	offer(cmd, map[string][]string{
		"install-mode":              words(bundle.InstallModes),
		"names":                     words(generate.AllNames),
		"profile":                   words(generate.Profiles),
		"approval":                  {"Automatic", "Manual"},
		"upgrade-constraint-policy": {"CatalogProvided", "SelfCertified"},
		"copied-csvs":               words(generate.AllCopiedCSVs),
		"certs":                     words(generate.AllCerts),
		"layout":                    words(output.Layouts),
		"helm-crds":                 {"templates", "crds"},
		"annotations":               words(transform.Engines),
		"aggregate-to":              words(generate.DefaultRoles),
		"split":                     words(generate.Splits),
	})
	return cmd
}

func (f *renderFlags) run(cmd *cobra.Command, ref string) error {
	switch {
	case f.output == "-" && f.layout != output.LayoutFlat:
		return errLayoutStdout
	case f.output == "-" && f.check:
		return errCheckStdout
	}
	if err := checkHelmCRDs(cmd, f.layout); err != nil {
		return err
	}
	r, err := f.render(cmd, ref)
	if err != nil {
		return err
	}
	tree := output.One(r.Operator, f.options.Templates)
	tree.HelmCRDs = f.helmCRDs
	tree.Change = func(objects []generate.Shared) error { return transform.Annotate(objects, f.engine) }
	if err := tree.Change(tree.Objects); err != nil {
		return err
	}
	out := rendered{sources: []output.Source{r.source}, warnings: append(r.warnings(), tree.Warnings(f.layout)...), notes: r.Notes}
	if out.files, err = tree.Files(f.layout); err != nil {
		return err
	}
	return f.deliver(cmd, out)
}

// rendering is what a source renders to.
type rendering struct {
	output.Operator
	source output.Source
}

func (r *rendering) warnings() []string {
	var out []string
	for _, w := range r.Warnings {
		out = append(out, w.Error.Error())
	}
	return out
}

// render reads the bundle and renders it.
func (f *renderFlags) render(cmd *cobra.Command, ref string) (*rendering, error) {
	if err := f.complete(cmd.Flags()); err != nil {
		return nil, err
	}
	b, src, err := f.readBundle(cmd, ref)
	if err != nil {
		return nil, err
	}
	if f.look != nil {
		if err := f.look(b); err != nil {
			return nil, err
		}
	}
	result, err := generate.Render(b, f.options)
	if err != nil {
		return nil, err
	}
	r := &rendering{output.Operator{Name: b.Package, Channel: b.Channel(f.source.Channel), Result: result},
		output.Source{Bundle: b.CSV.Name, Source: sourceName(src), Digest: src.Digest}}
	if src.Digest == "" && f.output != "-" {
		r.source.Digest = b.Digest()
	}
	return r, nil
}

// readBundle opens the source and reads the bundle in it.
func (f *renderFlags) readBundle(cmd *cobra.Command, ref string) (*bundle.Bundle, *source.Source, error) {
	if p := f.options.Profile; p == generate.ProfileOLMv1 || p == generate.ProfileClusterExtension {
		f.read.AllowUnsupported = true // OLM v1 has its own list, and its own words
	}
	o := f.source
	if !source.Chooses(ref) && (f.options.Profile.HandsOver() || f.layout == output.LayoutGitOpsCatalog) {
		o.Channel = "" // it is that of a Subscription or of an overlay
	}
	b, src, err := openBundle(cmd, ref, o, f.read)
	if err != nil {
		return nil, nil, err
	}
	if src.Properties != nil {
		if err := json.Unmarshal(src.Properties, &f.options.Properties); err != nil {
			return nil, nil, fmt.Errorf("%s: properties: %w", ref, err)
		}
		f.options.Replaces = &src.Replaces
	}
	return b, src, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
