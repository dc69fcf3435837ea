package main

import (
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/config"
)

const renderHelp = `Render reads a bundle and writes every object that OLM v0 would create for it.
It writes to stdout, or with -o one file for each object, a kustomization.yaml
that lists the files in the order of application, and an olmgen.lock that lists
the files that olmgen owns. The directory of an operator or tenant has a lock
of its own. It never touches other files.

With -f it renders all operators of a RenderConfig, which "olmgen init" writes.
Several -f write a tree each, to the output.directory of each file.
--annotations adds what a GitOps engine needs: for argocd sync waves,
ServerSideApply=true on objects that client-side apply cannot store, and
Prune=false on CRDs and Namespaces; for flux that CRDs and Namespaces are not
pruned, and that the text of an object is not taken for variables.

With --check it writes nothing. It prints a unified diff of the directory and
what would be written, and exits with 3 if they differ.

The layouts:
  flat             all files in one directory
  by-kind          a directory for each kind
  gitops-catalog   <name>-operator/operator/{base,overlays/<channel>}, as in
                   redhat-cop/gitops-catalog
  cluster-scope    cluster-scoped objects in cluster-scope/{base,bundles,
                   overlays}, the rest in <name>/base, as in operate-first/apps
  helm             a chart

` + sourceHelp + `

` + profileHelp + `

Without --install-mode the mode follows from the target namespaces. Without
these it is AllNamespaces where the operator supports it, else OwnNamespace.`

const renderExamples = `  olmgen render bundle/ -o out/
  olmgen render bundle/ -o out/ -n operators --install-mode OwnNamespace
  olmgen render bundle/ -o out/ -n operators --target-namespaces team-a,team-b
  olmgen render bundle/ -o out/ --layout gitops-catalog
  olmgen render bundle/ --profile plain | kubectl apply --server-side -f -
  olmgen render bundle/ --profile subscription --approval Manual -o out/
  olmgen render bundle/ --profile clusterextension --create-namespace -o out/
  olmgen render -f olmgen.yaml
  olmgen render -f olmgen.yaml --check`

func newRender() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:     "render SOURCE | -f FILE",
		Short:   "Write every object that OLM would create for a bundle",
		Long:    renderHelp,
		Example: renderExamples,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(f.files) > 0 {
				return f.checkDeclared(cmd, given)
			}
			if len(given) == 0 && source.IsRenderConfig(defaultConfig) {
				return &usageError{"the bundle is missing",
					"to render " + defaultConfig + ", write olmgen render -f " + defaultConfig}
			}
			return args(1, 1, "the bundle")(cmd, given)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.files) > 0 {
				return f.runDeclared(cmd)
			}
			_, err := f.run(cmd, args[0], nil)
			return err
		},
	}
	fileFlag(cmd.Flags(), &f.files)
	f.registerWriting(cmd)
	f.registerCheck(cmd)
	f.register(cmd, func(config.Option) bool { return true })
	return cmd
}

// defaultConfig is the file that "olmgen init" writes.
const defaultConfig = "olmgen.yaml"
