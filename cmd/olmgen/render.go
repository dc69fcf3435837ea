package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// renderFlags are the flags of olmgen render as they were given.
type renderFlags struct {
	output    string
	force     bool
	strict    bool
	templates string
	selector  string
	static    []string
	issuer    string
	caBundle  string
	config    string
	read      bundle.ReadOptions
	source    source.Options
	options   generate.Options
	look      func(*bundle.Bundle) error // at the bundle, before it is rendered; may be nil
}

func newRender() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render SOURCE",
		Short: "Write every object that OLM would create for a bundle",
		Long: `Render reads a bundle and writes every object that OLM v0 would create for it:
to stdout, or with -o as one file an object, with a kustomization.yaml that
lists them in the order of application and an olmgen.lock that says which files
are olmgen's. Files that olmgen did not write are never touched.

` + sourceHelp + `

Without --install-mode the mode follows from the targets, else it is
AllNamespaces where the operator supports it, else OwnNamespace.`,
		Example: `  olmgen render bundle/ -o out/
  olmgen render bundle/ -o out/ -n operators --install-mode OwnNamespace
  olmgen render bundle/ -o out/ -n operators --target-namespaces team-a,team-b
  olmgen render bundle/ --profile plain | kubectl apply --server-side -f -`,
		Args: args(1, 1, "the bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0])
		},
	}
	f.register(cmd.Flags())
	for name, values := range map[string][]string{
		"install-mode": {"AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace"},
		"names":        {"stable", "olm"},
		"profile":      {"olm", "plain", "descoped", "olmv1"},
		"copied-csvs":  {"stub", "full", "none"},
		"certs":        {"cert-manager", "service-ca", "user", "olm", "none"},
		"aggregate-to": {"admin", "edit", "view", "cluster-reader"},
		"split":        {"feature", "resource"},
	} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	return cmd
}

// bundleAPIs is what --static-provided-apis alone means: the bundle's own APIs.
const bundleAPIs = "bundle"

func (f *renderFlags) register(flags *pflag.FlagSet) {
	o := &f.options
	flags.SortFlags = false
	registerSource(flags, &f.source)
	flags.StringVarP(&f.output, "output", "o", "-", "`DIR` to write to; - is stdout")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "`NAME` of the operator's namespace (default: what the CSV suggests, else the package name)")
	flags.Var(enum(&o.InstallMode, bundle.InstallModes...), "install-mode", "AllNamespaces, OwnNamespace, SingleNamespace or MultiNamespace")
	flags.StringSliceVar(&o.TargetNamespaces, "target-namespaces", nil, "namespaces the operator watches, as `A,B`")
	flags.StringSliceVar(&o.CopiedCSVNamespaces, "copied-csv-namespaces", nil, "in AllNamespaces: namespaces that get a copied CSV, as `A,B`")
	flags.StringVar(&o.OperatorGroup, "operator-group", "", "`NAME` of the OperatorGroup (default: the package name; descoped: none)")
	flags.StringVar(&f.selector, "selector", "", "label `SELECTOR` of the OperatorGroup in place of its target namespaces; --target-namespaces says what it resolves to")
	flags.StringSliceVar(&f.static, "static-provided-apis", nil, "make the OperatorGroup static; optionally with further `APIS`, as Kind.version.group")
	flags.Lookup("static-provided-apis").NoOptDefVal = bundleAPIs
	flags.StringVar(&o.ServiceAccount, "service-account", "", "`NAME` of the ServiceAccount that bounds the OperatorGroup")
	o.Names, o.Profile, o.CopiedCSVs = generate.NamesStable, generate.ProfileOLM, generate.CopiedStub
	flags.Var(enum(&o.Names, generate.NamesStable, generate.NamesOLM), "names", "stable names, which outlive an upgrade, or those of olm")
	flags.Var(enum(&o.Profile, generate.ProfileOLM, generate.ProfilePlain, generate.ProfileDescoped, generate.ProfileOLMv1), "profile", "olm: all that OLM creates; plain: for a cluster without OLM; descoped: like plain, but bound only where an administrator says; olmv1: what the renderer of OLM v1 creates")
	flags.Var(enum(&o.CopiedCSVs, generate.CopiedStub, generate.CopiedFull, generate.CopiedNone), "copied-csvs", "what target namespaces get of the CSV: stub, full or none")
	f.registerDescoped(flags)
	flags.Var(enum(&o.Certs, generate.AllCerts...), "certs", "who makes the certificates of webhooks and APIs: cert-manager, service-ca, user, olm or none (default with --names olm: olm; otherwise needed where the operator serves)")
	flags.StringVar(&f.issuer, "issuer", "", "with cert-manager: an existing issuer, as `KIND/NAME`")
	flags.StringVar(&o.CertSecret, "cert-secret", "", "with user: `NAME` of the Secret; {deployment} is replaced")
	flags.StringVar(&f.caBundle, "ca-bundle", "", "with user: `FILE` with the CA's certificates, PEM")
	flags.StringVar(&f.config, "config-subscription", "", "`FILE` with a Subscription, or its spec.config, to apply to the Deployments")
	flags.BoolVar(&o.ConvertCRDs, "convert-crds", false, "turn v1beta1 CRDs into v1")
	flags.BoolVar(&o.CreateNamespace, "create-namespace", false, "add the Namespace objects")
	flags.StringVar(&f.templates, "templates", "", "`DIR` with templates that replace olmgen's own")
	flags.BoolVar(&f.read.AllowUnsupported, "allow-unsupported", false, "render objects of kinds that OLM would refuse")
	flags.BoolVar(&f.strict, "strict", false, "take warnings for errors")
	flags.BoolVar(&f.force, "force", false, "overwrite and remove files of an earlier run although they were edited by hand")
}

func (f *renderFlags) run(cmd *cobra.Command, ref string) error {
	if f.output == "" {
		return &usageError{"-o needs a directory, or - for stdout", ""}
	}
	if err := f.complete(cmd.Flags()); err != nil {
		return err
	}
	b, src, err := f.readBundle(cmd, ref)
	if err != nil {
		return err
	}
	if f.look != nil {
		if err := f.look(b); err != nil {
			return err
		}
	}
	result, err := generate.Render(b, f.options)
	if err != nil {
		return err
	}
	warnings := append(b.Warnings, result.Warnings...)
	if f.options.ConvertCRDs {
		warnings = slices.DeleteFunc(warnings, func(w bundle.Warning) bool { return w.Class == bundle.WarnOldCRD })
	}
	for _, w := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: warning: "+w.Error.Error())
	}
	if n := len(warnings); f.strict && n > 0 {
		return fmt.Errorf("%s, and --strict takes it for an error", plural(n, "warning"))
	}
	files, err := output.Flat(result, f.options.Templates)
	if err != nil {
		return err
	}
	return f.write(cmd, src, b, files)
}

func (f *renderFlags) write(cmd *cobra.Command, src *source.Source, b *bundle.Bundle, files output.Files) error {
	if f.output == "-" {
		return output.Stream(cmd.OutOrStdout(), files)
	}
	result, err := output.Write(f.output, files, output.WriteOptions{
		Sources: []output.Source{{Bundle: b.CSV.Name, Source: sourceName(src), Digest: src.Digest}},
		Force:   f.force,
	})
	if err != nil {
		return err
	}
	report(cmd.ErrOrStderr(), f.output, result)
	return nil
}

func report(w io.Writer, dir string, r output.Result) {
	for _, name := range r.Kept {
		fmt.Fprintf(w, "olmgen: warning: %s: not rendered any more, but edited by hand: kept\n", filepath.Join(dir, name))
	}
	fmt.Fprintf(w, "olmgen: %s: %d added, %d changed, %d removed, %d unchanged\n", dir, len(r.Added), len(r.Changed), len(r.Removed), len(r.Unchanged))
}

// complete turns flags that need parsing into options.
func (f *renderFlags) complete(flags *pflag.FlagSet) error {
	for _, name := range []string{"namespace", "target-namespaces", "copied-csv-namespaces", "operator-group", "bind-namespaces", "aggregate-to"} {
		if flag := flags.Lookup(name); flag != nil && flag.Changed && strings.Trim(flag.Value.String(), "[]") == "" {
			return &usageError{"--" + name + " is empty", "leave it out for the default"} // an unset variable of a shell, most likely
		}
	}
	if f.selector != "" {
		s, err := metav1.ParseToLabelSelector(f.selector)
		if err != nil {
			return &usageError{fmt.Sprintf("--selector: %v", err), "write it as in key=value,other in (a, b)"}
		}
		f.options.Selector = s
	}
	if flags.Changed("static-provided-apis") {
		f.options.Static = true
		for _, api := range f.static {
			if api != "" && api != bundleAPIs {
				f.options.StaticProvidedAPIs = append(f.options.StaticProvidedAPIs, api)
			}
		}
	}
	if err := f.files(); err != nil {
		return err
	}
	var err error
	if f.templates == "" {
		f.options.Templates, err = templates.Load(nil)
		return err
	}
	info, err := os.Stat(f.templates)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("--templates: %s is not a directory", f.templates)
	}
	f.options.Templates, err = templates.Load(os.DirFS(f.templates))
	return err
}

// files reads what flags name: an issuer is only a name.
func (f *renderFlags) files() error {
	if f.issuer != "" {
		kind, name, ok := strings.Cut(f.issuer, "/")
		if !ok || name == "" || kind != "Issuer" && kind != "ClusterIssuer" {
			return &usageError{fmt.Sprintf("--issuer: %q is not KIND/NAME", f.issuer), "write it as Issuer/NAME or ClusterIssuer/NAME"}
		}
		f.options.Issuer = generate.Issuer{Kind: kind, Name: name}
	}
	if f.caBundle != "" {
		data, err := os.ReadFile(f.caBundle)
		if err != nil {
			return err
		}
		f.options.CABundle = data
	}
	if f.config == "" {
		return nil
	}
	data, err := os.ReadFile(f.config)
	if err != nil {
		return err
	}
	f.options.Config, err = generate.ReadConfig(f.config, data)
	return err
}

// readBundle opens the source and reads the bundle in it.
func (f *renderFlags) readBundle(cmd *cobra.Command, ref string) (*bundle.Bundle, *source.Source, error) {
	if f.options.Profile == generate.ProfileOLMv1 {
		f.read.AllowUnsupported = true // OLM v1 has its own list, and its own words
	}
	b, src, err := openBundle(cmd, ref, f.source, f.read)
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
